// A CUDA runtime, preloaded over NVIDIA's, of a pretended device: its memory is the host's, its streams are queues that
// are worked off late, in an order that is chosen, and its graphs are lists of what was queued. Kernels and products
// compute nothing: whoever preloads it queues the numbers behind them (../numbers.py).
#pragma once

#include <cuda_runtime_api.h>

#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

// A function by the library's name that declares no more arguments than it needs.
#define INSTEAD_OF(call, arguments) extern "C" int of_##call arguments __asm__(#call); int of_##call arguments
// One that has nothing to do, and one that writes a number.
#define SUCCEEDS(call) INSTEAD_OF(call, ()) { return cudaSuccess; }
#define TELLS(call, value) INSTEAD_OF(call, (int* told)) { *told = value; return cudaSuccess; }
// One lock for all: nothing here is fast, and everything is ordered.
#define LOCKED std::lock_guard<std::recursive_mutex> locked(pretended::state().mutex)

namespace pretended {

struct Stream;

// A place in a stream: all that was asked of it up to then is done once it has done so many requests.
struct Event {
    Stream* stream;
    long number;
};

struct Request {
    std::string what;
    std::function<void()> work;
    Event needed{};  // what must be done before, if it has a stream
};

using Graph = std::vector<Request>;

struct Stream {
    std::deque<Request> queue;
    long asked = 0, done = 0;
    Graph* graph = nullptr;  // what is being captured
    bool broken = false;     // and cannot become a graph any more
    unsigned long long capture = 0;
};

struct State {
    std::recursive_mutex mutex;
    std::vector<Stream*> streams{new Stream};  // the first is the default stream
    // What would be wrong on a device; and what was asked of it, by kind and name, such as "copy pinned to device".
    std::vector<std::string> problems, notes;
    std::string sums;  // how the last product sums: f32, tf32, f64
    int last_error = cudaSuccess;
    int fault = cudaSuccess;  // after one, every call fails with it
};
State& state();

void note(const std::string& what);
void problem(const std::string& what);
int failed(int error);  // remembered as the runtime's last error
int well();             // unless there was a fault

Stream* stream_of(cudaStream_t handle);
void queue(cudaStream_t stream, const std::string& what, std::function<void()> work);
// Work off what was asked of a stream, or of all.
void finish(Stream* wanted = nullptr);
// Note that a call was made that no capture allows; true if one is under way, which is then lost.
bool forbidden(const char* call);

}  // namespace pretended
