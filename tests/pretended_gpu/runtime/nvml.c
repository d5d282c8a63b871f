// libnvidia-ml.so.1: one device, whose counter of energy moves every 20 ms, by 2 J. Other queries are not there.
#include <string.h>
#include <time.h>

enum { success = 0, invalid_argument = 2, not_supported = 3, not_found = 6 };
static int the_device;

static int told(char* text, unsigned length, const char* what) { strncpy(text, what, length); return success; }

int nvmlInit_v2(void) { return success; }
int nvmlInit(void) { return success; }
int nvmlInitWithFlags(unsigned flags) { return success; }
int nvmlShutdown(void) { return success; }
const char* nvmlErrorString(int error) { return error ? "no such pretended device" : "success"; }
int nvmlSystemGetCudaDriverVersion_v2(int* version) { *version = 13000; return success; }
int nvmlSystemGetDriverVersion(char* text, unsigned length) { return told(text, length, "000.00 (pretended)"); }
int nvmlDeviceGetName(void* device, char* text, unsigned length) { return told(text, length, "Pretended GPU (no device)"); }
int nvmlDeviceGetCount_v2(unsigned* count) { *count = 1; return success; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    *device = &the_device;
    return index ? invalid_argument : success;
}
// By the address that torch tells of its device.
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
    *device = &the_device;
    return strcmp(address, "00000000:00:00.0") ? not_found : success;
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *millijoules = (now.tv_sec * 50ull + now.tv_nsec / 20000000) * 2000;
    return success;
}
int nvmlDeviceGetClockInfo(void* device, unsigned kind, unsigned* megahertz) { *megahertz = 1500; return success; }
int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* reasons) { *reasons = 0; return success; }

// Torch's allocator looks for all of these when memory is short.
#define CANNOT(call) int call(void) { return not_supported; }
CANNOT(nvmlDeviceGetComputeRunningProcesses)
CANNOT(nvmlDeviceGetNvLinkRemoteDeviceType)
CANNOT(nvmlDeviceGetNvLinkRemotePciInfo_v2)
CANNOT(nvmlDeviceGetHandleByUUID)
CANNOT(nvmlDeviceGetGpuFabricInfoV)
CANNOT(nvmlDeviceGetP2PStatus)
