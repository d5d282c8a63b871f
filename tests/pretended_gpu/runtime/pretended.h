// What the parts of the pretended CUDA runtime share. It is preloaded over NVIDIA's: one device, whose memory is the
// host's, whose streams are queues worked off late and in an order that is chosen, and whose graphs are lists of what
// was queued. Its kernels compute nothing: whoever preloads it queues the numbers behind them (../numbers.py).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#define EXPORTED extern "C" __attribute__((visibility("default")))
// One lock for all: nothing here is fast, and everything is ordered.
#define LOCKED std::lock_guard<std::recursive_mutex> locked(pretended::mutex())

namespace pretended {

std::recursive_mutex& mutex();

// ---- what tests are told (notes.cpp)
struct Queued {
    std::string kind, name;  // kernel, product, copy or fill; or wait, of the host for the device
    int stream;
};
void note(const char* kind, const std::string& name, cudaStream_t stream = nullptr);
// Something that would be wrong, or undefined, on a device.
void problem(const std::string& what);
cudaError_t failed(cudaError_t error);  // remembered as the runtime's last error
cudaError_t well();                      // unless there was a fault: after one, every call fails with it
size_t setting(const char* name, size_t otherwise);

// ---- memory (memory.cpp)
enum class Place { pageable, device, pinned };
Place place_of(const void* address);
bool is_alive(const void* address, size_t bytes);

// ---- streams and events (streams.cpp)
struct Graph;

// How many requests of each stream are known to be done once this point is reached.
using Clock = std::map<int, long>;

struct Event {
    long asked = 0, done = 0;
    double seconds = 0;
    Clock before;
    bool captured = false;
};

struct Request {
    enum Kind { run, record, wait } kind = run;
    std::string what;
    std::function<void()> work;
    Event* event = nullptr;
    long version = 0;  // of the event
    long number = 0;   // in its stream
};

struct Stream {
    int id = 0;
    std::deque<Request> queue;
    long issued = 0;
    Clock before;
    Graph* graph = nullptr;  // what is being captured
    unsigned long long capture_id = 0;
    bool invalidated = false;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
};

struct Graph {
    std::vector<Request> requests;
};

Stream* stream_of(cudaStream_t handle);
std::vector<Stream*> streams();
void queue(cudaStream_t stream, const std::string& what, std::function<void()> work);
void finish(Stream* stream);
void finish_all();

// ---- capture (graphs.cpp)
Stream* capturing();  // the stream that is, if any
// Notes that a call was made that no capture allows; true if one is under way, which is then lost.
bool forbidden(const char* call);

}  // namespace pretended
