// libnvidia-ml.so.1: one device, which uses 100 W, and whose counter of energy moves every 20 ms. What PRETENDED_NVML
// names, it tells or refuses otherwise (../driver.py): "nvmlDeviceGetPowerUsage=70000 nvmlDeviceGetTemperature=!3".
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { success = 0, invalid_argument = 2, not_supported = 3, not_found = 6, too_small = 7 };
typedef unsigned long long wide;
static int the_device;

// What the setting has behind the query's name; null where it has nothing.
static const char* asked(const char* query) {
    const char *all = getenv("PRETENDED_NVML"), *here = all;
    size_t length = strlen(query);
    while (here && (here = strstr(here, query))) {
        if ((here == all || here[-1] == ' ') && here[length] == '=') return here + length + 1;
        here += length;
    }
    return NULL;
}
static int refused(const char* query) {
    const char* text = asked(query);
    return text && *text == '!' ? atoi(text + 1) : success;
}
static wide number(const char* query, wide otherwise) {
    const char* text = asked(query);
    return text ? strtoull(text, NULL, 10) : otherwise;
}
static int words(const char* query, const char* setting, const char* otherwise, char* text, unsigned length) {
    const char* what = getenv(setting);
    if (refused(query)) return refused(query);
    snprintf(text, length, "%s", what ? what : otherwise);
    return success;
}

#define UNLESS_REFUSED if (refused(__func__)) return refused(__func__)
#define TOLD(otherwise) UNLESS_REFUSED; *told = number(__func__, otherwise); return success
#define NUMBER(query, otherwise) int query(void* device, unsigned* told) { TOLD(otherwise); }
#define OF_KIND(query, otherwise) int query(void* device, unsigned kind, unsigned* told) { TOLD(otherwise); }
#define WIDE(query, otherwise) int query(void* device, wide* told) { TOLD(otherwise); }
// A mode now, and the one from the next start on.
#define MODE(query, otherwise) \
    int query(void* device, unsigned* told, unsigned* pending) { *pending = number(#query, otherwise); TOLD(otherwise); }

int nvmlInit_v2(void) { UNLESS_REFUSED; return success; }
int nvmlInit(void) { return nvmlInit_v2(); }
int nvmlInitWithFlags(unsigned flags) { return nvmlInit_v2(); }
int nvmlShutdown(void) { return success; }
const char* nvmlErrorString(int error) {
    return error == success ? "success" : error == not_supported ? "Not Supported" : "no such pretended device";
}

int nvmlSystemGetDriverVersion(char* text, unsigned length) {
    return words(__func__, "PRETENDED_GPU_DRIVER", "000.00 (pretended)", text, length);
}
int nvmlSystemGetNVMLVersion(char* text, unsigned length) {
    return words(__func__, "PRETENDED_GPU_DRIVER", "000.00 (pretended)", text, length);
}
int nvmlSystemGetCudaDriverVersion_v2(int* told) {
    UNLESS_REFUSED;
    const char* text = getenv("PRETENDED_GPU_CUDA");
    *told = text ? atoi(text) : 13000;
    return success;
}
int nvmlSystemGetCudaDriverVersion(int* told) { return nvmlSystemGetCudaDriverVersion_v2(told); }
int nvmlDeviceGetName(void* device, char* text, unsigned length) {
    return words(__func__, "PRETENDED_GPU_NAME", "Pretended GPU (no device)", text, length);
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned length) {
    return words(__func__, "PRETENDED_GPU_UUID", "GPU-00000000-0000-0000-0000-000000000000", text, length);
}

int nvmlDeviceGetCount_v2(unsigned* told) { TOLD(1); }
int nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    UNLESS_REFUSED;
    *device = &the_device;
    return index == 0 ? success : invalid_argument;
}
// By the address that torch tells of its device.
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
    UNLESS_REFUSED;
    *device = &the_device;
    return strcmp(address, "00000000:00:00.0") ? not_found : success;
}
struct pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char address[32]; };
int nvmlDeviceGetPciInfo_v3(void* device, struct pci* told) {
    UNLESS_REFUSED;
    memset(told, 0, sizeof *told);
    strcpy(told->legacy, "0000:00:00.0");
    strcpy(told->address, "00000000:00:00.0");
    return success;
}

int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
    UNLESS_REFUSED;
    const char* text = getenv("PRETENDED_GPU_CAPABILITY");
    int capability = text ? atoi(text) : 90;
    *major = capability / 10;
    *minor = capability % 10;
    return success;
}
struct memory { wide total, free, used; };
int nvmlDeviceGetMemoryInfo(void* device, struct memory* told) {
    UNLESS_REFUSED;
    const char* text = getenv("PRETENDED_GPU_BYTES");
    told->total = told->free = text ? strtoull(text, NULL, 10) : (wide)8 << 30;
    told->used = 0;
    return success;
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, wide* told) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    TOLD((now.tv_sec * 50ull + now.tv_nsec / 20000000) * 2000);
}

NUMBER(nvmlDeviceGetPowerUsage, 100000)
NUMBER(nvmlDeviceGetPowerManagementLimit, 300000)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, 300000)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, 300000)
NUMBER(nvmlDeviceGetNumGpuCores, 132 * 128)
NUMBER(nvmlDeviceGetComputeMode, 0)
NUMBER(nvmlDeviceGetPersistenceMode, 1)
NUMBER(nvmlDeviceGetPerformanceState, 0)
OF_KIND(nvmlDeviceGetTemperature, 40)
OF_KIND(nvmlDeviceGetTemperatureThreshold, 90)
OF_KIND(nvmlDeviceGetClockInfo, 1500)
OF_KIND(nvmlDeviceGetMaxClockInfo, 1590)
OF_KIND(nvmlDeviceGetApplicationsClock, 1500)
WIDE(nvmlDeviceGetCurrentClocksEventReasons, 0)
WIDE(nvmlDeviceGetCurrentClocksThrottleReasons, 0)
WIDE(nvmlDeviceGetSupportedClocksEventReasons, 0x1ff)
WIDE(nvmlDeviceGetSupportedClocksThrottleReasons, 0x1ff)
MODE(nvmlDeviceGetEccMode, 1)
MODE(nvmlDeviceGetMigMode, 0)
struct temperature { unsigned version, sensor; int told; };
int nvmlDeviceGetTemperatureV(void* device, struct temperature* one) {
    UNLESS_REFUSED;
    one->told = (int)number(__func__, 40);
    return success;
}
int nvmlDeviceGetMaxMigDeviceCount(void* device, unsigned* told) { TOLD(0); }
int nvmlDeviceGetMigDeviceHandleByIndex(void* device, unsigned index, void** found) {
    *found = device;
    return index < number("nvmlDeviceGetMaxMigDeviceCount", 0) ? success : not_found;
}
int nvmlDeviceIsMigDeviceHandle(void* device, unsigned* told) { TOLD(0); }

// As many other processes as the setting says: 1000, 1001, ..., with a GiB each.
struct process { unsigned id; wide bytes; unsigned instance, part; };
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, struct process* found) {
    UNLESS_REFUSED;
    unsigned room = *count;
    *count = (unsigned)number(__func__, 0);
    if (room < *count) return too_small;
    for (unsigned place = 0; place < *count; place++)
        found[place] = (struct process){1000 + place, (wide)1 << 30, ~0u, ~0u};
    return success;
}
int nvmlDeviceGetComputeRunningProcesses_v2(void* device, unsigned* count, struct process* found) {
    return nvmlDeviceGetComputeRunningProcesses_v3(device, count, found);
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(void* device, unsigned* count, struct process* found) {
    UNLESS_REFUSED;
    *count = 0;
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
