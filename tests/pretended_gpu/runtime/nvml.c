// libnvidia-ml.so.1, as far as the project and torch ask it anything: one device, which uses 100 W, and whose counter of
// energy moves every 20 ms.
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { success = 0, invalid_argument = 2, not_supported = 3, not_found = 6 };
static int the_device;

int nvmlInit(void) { return success; }
int nvmlInit_v2(void) { return success; }
int nvmlInitWithFlags(unsigned flags) { return success; }
int nvmlShutdown(void) { return success; }
const char* nvmlErrorString(int error) { return error == success ? "success" : "no such pretended device"; }

static int told(char* text, unsigned length, const char* what) {
    snprintf(text, length, "%s", what);
    return success;
}
int nvmlSystemGetDriverVersion(char* text, unsigned length) { return told(text, length, "000.00 (pretended)"); }
int nvmlDeviceGetName(void* device, char* text, unsigned length) {
    return told(text, length, "Pretended GPU (no device)");
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned length) {
    return told(text, length, "GPU-00000000-0000-0000-0000-000000000000");
}

int nvmlDeviceGetCount(unsigned* count) { *count = 1; return success; }
int nvmlDeviceGetCount_v2(unsigned* count) { return nvmlDeviceGetCount(count); }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    *device = &the_device;
    return index == 0 ? success : invalid_argument;
}
// By the address that torch tells of its device.
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
    *device = &the_device;
    return strcmp(address, "00000000:00:00.0") ? not_found : success;
}

int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    unsigned long long ticks = now.tv_sec * 50ull + now.tv_nsec / 20000000;
    *millijoules = ticks * 2000;
    return success;
}

// Asked by torch's allocator when memory is short, and where devices lie beside one another.
#define CANNOT(call) int call(void) { return not_supported; }
CANNOT(nvmlDeviceGetComputeRunningProcesses)
CANNOT(nvmlDeviceGetNvLinkRemoteDeviceType)
CANNOT(nvmlDeviceGetNvLinkRemotePciInfo_v2)
CANNOT(nvmlDeviceGetHandleByUUID)
CANNOT(nvmlDeviceGetGpuFabricInfoV)
CANNOT(nvmlDeviceGetP2PStatus)
CANNOT(nvmlSystemGetCudaDriverVersion_v2)
