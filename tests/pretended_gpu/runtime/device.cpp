// What the device says of itself: by the runtime, the driver (libcuda.so.1) and NVML (libnvidia-ml.so.1), which are
// found by name: the same library three times. Its name tells that it is none.
#include "pretended.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <ctime>

using namespace pretended;

static const char* const name = "Pretended GPU (no device)";
static const int cuda_not_supported = 801, nvml_not_supported = 3, nvml_not_found = 6;

// ---- the runtime

TELLS(cudaGetDeviceCount, 1)
TELLS(cudaGetDevice, 0)
SUCCEEDS(cudaSetDevice)

INSTEAD_OF(cudaGetDeviceProperties, (cudaDeviceProp* told)) {
    size_t free_bytes;
    std::memset(told, 0, sizeof *told);
    std::snprintf(told->name, sizeof told->name, "%s", name);
    cudaMemGetInfo(&free_bytes, &told->totalGlobalMem);
    told->major = 9;
    told->pciBusID = 0x1A;
    told->pciDeviceID = 0x1C;
    // Whatever torch divides by, or sizes its launches with.
    told->warpSize = 32;
    told->multiProcessorCount = 132;
    told->maxThreadsPerBlock = 1024;
    told->maxThreadsPerMultiProcessor = 2048;
    told->maxThreadsDim[0] = told->maxThreadsDim[1] = told->maxThreadsDim[2] = 64;
    told->maxGridSize[0] = told->maxGridSize[1] = told->maxGridSize[2] = 65535;
    told->sharedMemPerBlock = told->sharedMemPerBlockOptin = told->sharedMemPerMultiprocessor = 48 << 10;
    told->regsPerBlock = told->regsPerMultiprocessor = 1 << 16;
    told->l2CacheSize = 50 << 20;
    told->unifiedAddressing = told->canMapHostMemory = 1;
    return cudaSuccess;
}
INSTEAD_OF(cudaDeviceGetStreamPriorityRange, (int* least, int* greatest)) {
    *least = *greatest = 0;
    return cudaSuccess;
}

// ---- the driver: how torch finds its calls, and for those that are not here one that says that it cannot

static int cannot(...) { return cuda_not_supported; }

INSTEAD_OF(cudaGetDriverEntryPointByVersion, (const char* symbol, void** call, int, int, int* status)) {
    void* found = dlsym(RTLD_DEFAULT, symbol);
    *call = found ? found : (void*)cannot;
    if (status) *status = cudaDriverEntryPointSuccess;
    return cudaSuccess;
}

SUCCEEDS(cuInit)
TELLS(cuDriverGetVersion, 13000)
INSTEAD_OF(cuCtxGetCurrent, (void** context)) { *context = (void*)1; return cudaSuccess; }
INSTEAD_OF(cuDevicePrimaryCtxGetState, (int, unsigned* flags, int* is_active)) {
    *flags = 0;
    *is_active = 1;
    return cudaSuccess;
}

// ---- NVML: what respeed asks, and nothing else

static int write(char* text, unsigned length, const char* what) {
    std::snprintf(text, length, "%s", what);
    return cudaSuccess;
}

SUCCEEDS(nvmlInit_v2)
SUCCEEDS(nvmlInitWithFlags)
TELLS(nvmlDeviceGetCount_v2, 1)
INSTEAD_OF(nvmlSystemGetDriverVersion, (char* text, unsigned length)) { return write(text, length, "0 (pretended)"); }
INSTEAD_OF(nvmlDeviceGetName, (void*, char* text, unsigned length)) { return write(text, length, name); }
INSTEAD_OF(nvmlDeviceGetHandleByIndex_v2, (unsigned, const void** device)) { *device = name; return cudaSuccess; }
// By the address that torch tells of its device.
INSTEAD_OF(nvmlDeviceGetHandleByPciBusId_v2, (const char* address, const void** device)) {
    *device = name;
    return std::strcmp(address, "00000000:1a:1c.0") ? nvml_not_found : 0;
}
// It moves every 20 ms, by 2 J.
INSTEAD_OF(nvmlDeviceGetTotalEnergyConsumption, (void*, unsigned long long* millijoules)) {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *millijoules = (now.tv_sec * 50ull + now.tv_nsec / 20000000) * 2000;
    return cudaSuccess;
}
INSTEAD_OF(nvmlDeviceGetClockInfo, (void*, int, unsigned* megahertz)) { *megahertz = 1500; return cudaSuccess; }
INSTEAD_OF(nvmlDeviceGetCurrentClocksEventReasons, (void*, unsigned long long* reasons)) {
    *reasons = 0;
    return cudaSuccess;
}

// Torch's allocator looks for all of these when memory is short.
#define CANNOT(call) INSTEAD_OF(call, ()) { return nvml_not_supported; }
CANNOT(nvmlSystemGetCudaDriverVersion_v2)
CANNOT(nvmlDeviceGetComputeRunningProcesses)
CANNOT(nvmlDeviceGetNvLinkRemoteDeviceType)
CANNOT(nvmlDeviceGetNvLinkRemotePciInfo_v2)
CANNOT(nvmlDeviceGetHandleByUUID)
CANNOT(nvmlDeviceGetGpuFabricInfoV)
CANNOT(nvmlDeviceGetP2PStatus)
