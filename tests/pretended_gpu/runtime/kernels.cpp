// Kernels: their names are noted, and they do nothing, but for uniform draws: these need the generator's state at the
// time they run, which only the kernel is told.
#include "pretended.h"

#include <cxxabi.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <unordered_map>

using namespace pretended;

namespace {

std::unordered_map<const void*, std::string>& names() {
    static auto* all = new std::unordered_map<const void*, std::string>;
    return *all;
}

bool has(const std::string& name, const char* part) { return name.find(part) != std::string::npos; }

// Torch's at::PhiloxCudaState: in a graph, seed and offset are read where they lie on the device.
struct Philox {
    uint64_t seed, offset, within_graph;
    bool captured;
};

template <class Real>
void draw(int64_t count, Philox state, Real* out) {
    uint64_t seed = state.captured ? *(uint64_t*)state.seed : state.seed;
    uint64_t offset = state.captured ? *(uint64_t*)state.offset + state.within_graph : state.offset;
    std::mt19937_64 random(seed * 0x9E3779B97F4A7C15ull + offset);
    for (int64_t place = 0; place < count; place++) out[place] = (Real)((random() >> 40) * 0x1p-24);
}

int launch(const void* function, void** arguments, cudaStream_t stream) {
    LOCKED;
    std::string& name = names()[function];
    std::function<void()> work = [] {};
    if (has(name, "distribution_elementwise")) {
        auto count = *(int64_t*)arguments[0];
        auto state = *(Philox*)arguments[1];
        auto out = *(void**)arguments[3];
        if (!has(name, "uniform")) problem("draws other than uniform ones are not pretended: " + name);
        else if (has(name, "<double")) work = [=] { draw(count, state, (double*)out); };
        else work = [=] { draw(count, state, (float*)out); };
    }
    note("kernel " + name);
    queue(stream, name, work);
    return well();
}

thread_local struct {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} pushed;

}  // namespace

SUCCEEDS(__cudaRegisterFatBinary)
SUCCEEDS(__cudaRegisterFatBinaryEnd)
SUCCEEDS(__cudaUnregisterFatBinary)
SUCCEEDS(__cudaRegisterVar)
INSTEAD_OF(__cudaRegisterFunction, (void*, const void* function, char*, const char* name)) {
    int status;
    char* readable = abi::__cxa_demangle(name, nullptr, nullptr, &status);
    names()[function] = readable ? readable : name;
    std::free(readable);
    return cudaSuccess;
}
INSTEAD_OF(__cudaPushCallConfiguration, (dim3 grid, dim3 block, size_t shared, cudaStream_t stream)) {
    pushed = {grid, block, shared, stream};
    return cudaSuccess;
}
INSTEAD_OF(__cudaPopCallConfiguration, (dim3* grid, dim3* block, size_t* shared, cudaStream_t* stream)) {
    *grid = pushed.grid, *block = pushed.block, *shared = pushed.shared, *stream = pushed.stream;
    return cudaSuccess;
}
INSTEAD_OF(__cudaGetKernel, (const void** kernel, const void* function)) { *kernel = function; return cudaSuccess; }
INSTEAD_OF(__cudaLaunchKernel, (const void* function, dim3, dim3, void** arguments, size_t, cudaStream_t stream)) {
    return launch(function, arguments, stream);
}
