// How torch finds calls of the driver: those of the pretended libcuda.so.1, and for others one that says it cannot.
#include "pretended.h"

#include <dlfcn.h>

static int not_supported(...) { return 801; }  // CUDA_ERROR_NOT_SUPPORTED

EXPORTED cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** call, unsigned, unsigned long long,
                                                      cudaDriverEntryPointQueryResult* status) {
    static void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    void* found = driver ? dlsym(driver, symbol) : nullptr;
    *call = found ? found : (void*)not_supported;
    if (status) *status = cudaDriverEntryPointSuccess;
    return cudaSuccess;
}
EXPORTED cudaError_t cudaGetSymbolAddress(void** address, const void*) {
    *address = nullptr;
    return pretended::failed(cudaErrorNotSupported);
}
