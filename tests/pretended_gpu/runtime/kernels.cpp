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

std::string name_of(const void* function) {
    auto found = names().find(function);
    if (found == names().end()) return "unknown";
    int status;
    char* readable = abi::__cxa_demangle(found->second.c_str(), nullptr, nullptr, &status);
    std::string name = status == 0 ? readable : found->second;
    std::free(readable);
    return name;
}

bool has(const std::string& name, const char* part) { return name.find(part) != std::string::npos; }

// Torch's at::PhiloxCudaState: in a graph, seed and offset are read where they lie on the device.
struct Philox {
    uint64_t seed, offset, within_graph;
    bool captured;
};

template <class Real>
std::function<void()> uniform(int64_t count, Philox state, Real* out) {
    return [=] {
        uint64_t seed = state.captured ? *(uint64_t*)state.seed : state.seed;
        uint64_t offset = state.captured ? *(uint64_t*)state.offset + state.within_graph : state.offset;
        std::mt19937_64 random(seed * 0x9E3779B97F4A7C15ull + offset);
        for (int64_t place = 0; place < count; place++) out[place] = (Real)((random() >> 40) * 0x1p-24);
    };
}

std::function<void()> draws(const std::string& name, void** arguments) {
    int64_t count = *(int64_t*)arguments[0];
    Philox state = *(Philox*)arguments[1];
    if (has(name, "uniform_kernel<double>") || has(name, "<double")) return uniform(count, state, *(double**)arguments[3]);
    return uniform(count, state, *(float**)arguments[3]);
}

cudaError_t launch(const void* function, void** arguments, cudaStream_t stream) {
    LOCKED;
    std::string name = name_of(function);
    std::function<void()> work = [] {};
    if (has(name, "distribution_elementwise")) {
        if (has(name, "uniform")) work = draws(name, arguments);
        else problem("draws other than uniform ones are not pretended: " + name);
    }
    note("kernel", name, stream);
    queue(stream, name, work);
    return well();
}

thread_local struct {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} pushed;

}  // namespace

EXPORTED void** __cudaRegisterFatBinary(void*) {
    static void* handle[4];
    return handle;
}
EXPORTED void __cudaRegisterFatBinaryEnd(void**) {}
EXPORTED void __cudaUnregisterFatBinary(void**) {}
EXPORTED void __cudaRegisterFunction(void**, const char* function, char*, const char* name, int, void*, void*, void*,
                                     void*, int*) {
    names()[function] = name;
}
EXPORTED void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
EXPORTED unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st* stream) {
    pushed = {grid, block, shared, stream};
    return 0;
}
EXPORTED cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
    *grid = pushed.grid;
    *block = pushed.block;
    *shared = pushed.shared;
    *(cudaStream_t*)stream = pushed.stream;
    return cudaSuccess;
}
EXPORTED cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
    *kernel = (cudaKernel_t)function;
    return cudaSuccess;
}

EXPORTED cudaError_t cudaLaunchKernel(const void* function, dim3, dim3, void** arguments, size_t, cudaStream_t stream) {
    return launch(function, arguments, stream);
}
EXPORTED cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3, dim3, void** arguments, size_t, cudaStream_t stream) {
    return launch((const void*)kernel, arguments, stream);
}
EXPORTED cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* how, const void* function, void** arguments) {
    return launch(function, arguments, how->stream);
}

EXPORTED cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* told, const void*) {
    std::memset(told, 0, sizeof *told);
    told->maxThreadsPerBlock = 1024;
    told->numRegs = 32;
    told->binaryVersion = told->ptxVersion = 90;
    return cudaSuccess;
}
EXPORTED cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
EXPORTED cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, size_t) {
    *blocks = 2;
    return cudaSuccess;
}
EXPORTED cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int, size_t,
                                                                            unsigned) {
    *blocks = 2;
    return cudaSuccess;
}
