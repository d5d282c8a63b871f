// libcuda.so.1, as far as torch asks it anything: there is one device.
enum { success = 0, not_supported = 801 };

int cuInit(unsigned flags) { return success; }
int cuCtxGetCurrent(void** context) { *context = (void*)1; return success; }
int cuCtxSetCurrent(void* context) { return success; }
int cuDeviceGet(int* device, int number) { *device = number; return success; }
int cuDeviceGetCount(int* count) { *count = 1; return success; }
int cuDriverGetVersion(int* version) { *version = 13000; return success; }
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) { *flags = 0; *active = 1; return success; }
int cuDevicePrimaryCtxRetain(void** context, int device) { *context = (void*)1; return success; }
int cuGetErrorString(int error, const char** text) { *text = "not pretended"; return success; }
