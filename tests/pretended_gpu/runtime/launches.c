// What loads and launches code by the driver, as Triton does: its compiler runs whole, its kernels are noted by their
// names and do nothing.
#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static int setting(const char* name, int otherwise) {
    const char* text = getenv(name);
    return text ? atoi(text) : otherwise;
}

CUresult cuDeviceGetCount(int* count) { *count = 1; return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) { *version = setting("PRETENDED_GPU_CUDA", CUDA_VERSION); return CUDA_SUCCESS; }
CUresult cuCtxGetDevice(CUdevice* device) { *device = 0; return CUDA_SUCCESS; }

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = setting("PRETENDED_GPU_CAPABILITY", 90) / 10; break;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = setting("PRETENDED_GPU_CAPABILITY", 90) % 10; break;
        case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = 48 << 10; break;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = 227 << 10; break;
        default: *value = 0;
    }
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
    if (attribute != CU_POINTER_ATTRIBUTE_DEVICE_POINTER) return CUDA_ERROR_NOT_SUPPORTED;
    *(CUdeviceptr*)value = address;
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) { *module = (CUmodule)image; return CUDA_SUCCESS; }
CUresult cuModuleUnload(CUmodule module) { return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    *function = (CUfunction)strdup(name);  // a kernel is its name
    return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
    *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
    return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) { return CUDA_SUCCESS; }
CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) { return CUDA_SUCCESS; }

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
    // Of the library that is preloaded; this one may be loaded without it.
    void (*launched)(const char*, void*) = (void (*)(const char*, void*))dlsym(RTLD_DEFAULT, "pretended_launched");
    if (!launched) return CUDA_ERROR_NOT_SUPPORTED;
    launched((const char*)function, config->hStream);
    return CUDA_SUCCESS;
}

// Triton's helpers name these, and call them for what the project does not do.
CUresult cuCtxGetLimit(size_t* value, CUlimit limit) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuCtxSetLimit(CUlimit limit, size_t value) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuOccupancyMaxActiveClusters(int* count, CUfunction function, const CUlaunchConfig* config) {
    return CUDA_ERROR_NOT_SUPPORTED;
}
