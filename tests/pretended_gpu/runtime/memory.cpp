// Memory of the device and pinned memory. Each is one stretch of addresses that stays mapped: pages that were once
// touched serve again, and touching what was freed is no crash.
#include "pretended.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <map>

using namespace pretended;

namespace {

struct Memory {
    size_t size, span, used = 0;
    char* begin;
    std::map<char*, size_t> taken{};

    // Addresses are virtual, as on a device: what is free is never in pieces that are too small.
    explicit Memory(size_t bytes) : size(bytes), span(bytes * 8) {
        begin = (char*)mmap(nullptr, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (begin == MAP_FAILED) std::abort();
    }

    // In the first gap that is large enough.
    int take(const char* call, char** address, size_t bytes) {
        *address = nullptr;
        if (forbidden(call)) return failed(cudaErrorStreamCaptureUnsupported);
        bytes = (bytes + 511) / 512 * 512;
        char* here = begin;
        for (auto& [start, length] : taken) {
            if (start >= here + bytes) break;
            here = start + length;
        }
        if (used + bytes > size || here + bytes > begin + span) return failed(cudaErrorMemoryAllocation);
        taken[*address = here] = bytes;
        used += bytes;
        return well();
    }

    int give_back(const char* call, char* address) {
        if (!address) return cudaSuccess;
        if (forbidden(call)) return failed(cudaErrorStreamCaptureUnsupported);
        finish();
        used -= taken.at(address);
        taken.erase(address);
        return cudaSuccess;
    }

    bool has(const void* address) { return address >= begin && address < begin + span; }
};

Memory& device() {
    const char* bytes = std::getenv("PRETENDED_GPU_BYTES");
    static auto* one = new Memory(bytes ? std::strtoull(bytes, nullptr, 10) : size_t(8) << 30);
    return *one;
}
Memory& pinned() {
    static auto* one = new Memory(size_t(16) << 30);
    return *one;
}

std::string name_of(const void* address) {
    return device().has(address) ? "device" : pinned().has(address) ? "pinned" : "pageable";
}

}  // namespace

extern "C" void* pretended_memory(size_t* bytes) {
    *bytes = device().span;
    return device().begin;
}

INSTEAD_OF(cudaMemGetInfo, (size_t* free_bytes, size_t* total)) {
    LOCKED;
    *total = device().size;
    *free_bytes = device().size - device().used;
    return cudaSuccess;
}
INSTEAD_OF(cudaMalloc, (char** address, size_t bytes)) {
    LOCKED;
    return device().take("cudaMalloc", address, bytes);
}
INSTEAD_OF(cudaFree, (char* address)) {
    LOCKED;
    return device().give_back("cudaFree", address);
}
INSTEAD_OF(cudaHostAlloc, (char** address, size_t bytes)) {
    LOCKED;
    return pinned().take("cudaHostAlloc", address, bytes);
}
INSTEAD_OF(cudaFreeHost, (char* address)) {
    LOCKED;
    return pinned().give_back("cudaFreeHost", address);
}

INSTEAD_OF(cudaPointerGetAttributes, (cudaPointerAttributes* told, void* address)) {
    LOCKED;
    bool is_pinned = pinned().has(address);
    std::memset(told, 0, sizeof *told);
    told->type = is_pinned ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
    told->device = is_pinned ? 0 : -2;
    told->devicePointer = told->hostPointer = address;
    return cudaSuccess;
}

// From pageable memory the driver takes the bytes before the call returns; to it, the host waits.
INSTEAD_OF(cudaMemcpyAsync, (char* to, const char* from, size_t bytes, int, cudaStream_t stream)) {
    LOCKED;
    std::string source = name_of(from), target = name_of(to), what = "copy " + source + " to " + target, taken;
    bool is_captured = stream_of(stream)->graph;
    note(what);
    if (is_captured && (source == "pageable" || target == "pageable"))
        problem(what + " in a capture: the graph would remember an address of the host's");
    else if (source == "pageable") taken.assign(from, bytes);
    queue(stream, what, [=] { std::memmove(to, taken.empty() ? from : taken.data(), bytes); });
    return target == "pageable" && !is_captured ? cudaStreamSynchronize(stream) : well();
}
INSTEAD_OF(cudaMemsetAsync, (void* to, int value, size_t bytes, cudaStream_t stream)) {
    LOCKED;
    note("fill memset");
    queue(stream, "memset", [=] { std::memset(to, value, bytes); });
    return cudaSuccess;
}
