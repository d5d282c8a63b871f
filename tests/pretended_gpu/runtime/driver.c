// libcuda.so.1, as far as torch asks it anything: there is one device. launches.c has what Triton asks.
enum { success = 0, not_supported = 801 };

int cuInit(unsigned flags) { return success; }
int cuCtxGetCurrent(void** context) { *context = (void*)1; return success; }
int cuCtxSetCurrent(void* context) { return success; }
int cuDeviceGet(int* device, int number) { *device = number; return success; }
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) { *flags = 0; *active = 1; return success; }
int cuDevicePrimaryCtxRetain(void** context, int device) { *context = (void*)1; return success; }
int cuGetErrorString(int error, const char** text) { *text = "not pretended"; return success; }

#define CANNOT(call) int call() { return not_supported; }
CANNOT(cuLaunchCooperativeKernel)
CANNOT(cuLaunchKernel)
CANNOT(cuLinkAddData_v2)
CANNOT(cuLinkComplete)
CANNOT(cuLinkCreate_v2)
CANNOT(cuModuleLoad)
CANNOT(cuModuleLoadDataEx)
CANNOT(cuOccupancyMaxActiveBlocksPerMultiprocessor)
CANNOT(cuTensorMapEncodeTiled)
