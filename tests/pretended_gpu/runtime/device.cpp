// The device: what it says of itself. Its name tells that it is none.
#include "pretended.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

using namespace pretended;

static const int processors = 132;

EXPORTED cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}
EXPORTED cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
EXPORTED cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : failed(cudaErrorInvalidDevice); }
EXPORTED cudaError_t cudaDriverGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
EXPORTED cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

EXPORTED cudaError_t cudaGetDeviceProperties(cudaDeviceProp* told, int) {
    size_t free_bytes;
    std::memset(told, 0, sizeof *told);
    std::snprintf(told->name, sizeof told->name, "Pretended GPU (no device)");
    cudaMemGetInfo(&free_bytes, &told->totalGlobalMem);
    told->major = 9;
    // Whatever torch divides by, or sizes its launches with.
    told->warpSize = 32;
    told->multiProcessorCount = processors;
    told->maxBlocksPerMultiProcessor = 32;
    told->maxThreadsPerBlock = 1024;
    told->maxThreadsPerMultiProcessor = 2048;
    told->maxThreadsDim[0] = told->maxThreadsDim[1] = 1024;
    told->maxThreadsDim[2] = 64;
    told->maxGridSize[0] = 2147483647;
    told->maxGridSize[1] = told->maxGridSize[2] = 65535;
    told->sharedMemPerBlock = 48 << 10;
    told->sharedMemPerBlockOptin = 227 << 10;
    told->sharedMemPerMultiprocessor = 228 << 10;
    told->regsPerBlock = told->regsPerMultiprocessor = 1 << 16;
    told->l2CacheSize = 50 << 20;
    told->textureAlignment = 512;
    told->memoryBusWidth = 5120;
    told->asyncEngineCount = 3;
    told->concurrentKernels = told->unifiedAddressing = told->canMapHostMemory = told->cooperativeLaunch = 1;
    return cudaSuccess;
}

EXPORTED cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
    switch (attribute) {
        case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
        case cudaDevAttrMultiProcessorCount: *value = processors; break;
        case cudaDevAttrWarpSize: *value = 32; break;
        case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
        default: *value = 0;
    }
    return cudaSuccess;
}

EXPORTED cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return cudaSuccess;
}
EXPORTED cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int) {
    std::snprintf(text, length, "0000:00:00.0");
    return cudaSuccess;
}
EXPORTED cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
    *can = 0;
    return cudaSuccess;
}

// How torch finds calls of the driver: those of the pretended libcuda.so.1, and for others one that says it cannot.
static int not_supported(...) { return 801; }  // CUDA_ERROR_NOT_SUPPORTED

EXPORTED cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** call, unsigned, unsigned long long,
                                                      cudaDriverEntryPointQueryResult* status) {
    static void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    void* found = driver ? dlsym(driver, symbol) : nullptr;
    *call = found ? found : (void*)not_supported;
    if (status) *status = cudaDriverEntryPointSuccess;
    return cudaSuccess;
}
