// Memory of the device and pinned memory. The device's is one stretch of addresses that stays mapped: what is touched
// after it was freed is a problem to tell of, not a crash, and pages that were once touched serve again.
#include "pretended.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

using namespace pretended;

namespace {

const size_t page = 512;
// Addresses are virtual, as on a device: what is free is never in pieces that are too small.
const size_t addresses = 8;

struct Blocks {
    char* begin;
    size_t size, span, used = 0;
    std::map<char*, size_t> taken;

    explicit Blocks(size_t bytes) : size(bytes), span(bytes * addresses) {
        void* got = mmap(nullptr, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (got == MAP_FAILED) std::abort();
        begin = (char*)got;
    }

    // The first gap that is large enough; null if there is none.
    char* take(size_t bytes) {
        if (used + bytes > size) return nullptr;
        char* here = begin;
        for (auto& [start, length] : taken) {
            if ((size_t)(start - here) >= bytes) break;
            here = start + length;
        }
        if (here + bytes > begin + span) return nullptr;
        taken[here] = bytes;
        used += bytes;
        return here;
    }

    bool give_back(void* address) {
        auto found = taken.find((char*)address);
        if (found == taken.end()) return false;
        used -= found->second;
        taken.erase(found);
        return true;
    }

    bool holds(const void* address, size_t bytes) {
        auto after = taken.upper_bound((char*)address);
        if (after == taken.begin()) return false;
        auto [start, length] = *std::prev(after);
        return (char*)address + bytes <= start + length;
    }

    bool spans(const void* address) { return (char*)address >= begin && (char*)address < begin + span; }
};

Blocks& device() {
    static auto* blocks = new Blocks(setting("PRETENDED_GPU_BYTES", size_t(8) << 30));
    return *blocks;
}

Blocks& pinned() {
    static auto* blocks = new Blocks(size_t(16) << 30);
    return *blocks;
}

size_t rounded(size_t bytes) { return bytes ? (bytes + page - 1) / page * page : page; }

cudaError_t allocate(Blocks& blocks, const char* call, void** address, size_t bytes) {
    *address = nullptr;
    if (forbidden(call)) return failed(cudaErrorStreamCaptureUnsupported);
    *address = blocks.take(rounded(bytes));
    return *address ? well() : failed(cudaErrorMemoryAllocation);
}

cudaError_t release(Blocks& blocks, const char* call, void* address) {
    if (!address) return cudaSuccess;
    if (forbidden(call)) return failed(cudaErrorStreamCaptureUnsupported);
    finish_all();
    return blocks.give_back(address) ? cudaSuccess : failed(cudaErrorInvalidValue);
}

const char* name_of(Place place) {
    return place == Place::device ? "device" : place == Place::pinned ? "pinned" : "pageable";
}

void check(const void* address, size_t bytes, const std::string& what) {
    if (!is_alive(address, bytes)) problem(what + ": memory that was freed");
}

}  // namespace

Place pretended::place_of(const void* address) {
    return device().spans(address) ? Place::device : pinned().spans(address) ? Place::pinned : Place::pageable;
}

bool pretended::is_alive(const void* address, size_t bytes) {
    Place place = place_of(address);
    if (place == Place::pageable) return true;
    return (place == Place::device ? device() : pinned()).holds(address, bytes);
}

EXPORTED void* pretended_memory() { return device().begin; }
EXPORTED size_t pretended_memory_bytes() { return device().span; }

EXPORTED cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
    LOCKED;
    *total = device().size;
    *free_bytes = device().size - device().used;
    return cudaSuccess;
}
EXPORTED cudaError_t cudaMalloc(void** address, size_t bytes) {
    LOCKED;
    return allocate(device(), "cudaMalloc", address, bytes);
}
EXPORTED cudaError_t cudaFree(void* address) {
    LOCKED;
    return release(device(), "cudaFree", address);
}
EXPORTED cudaError_t cudaHostAlloc(void** address, size_t bytes, unsigned) {
    LOCKED;
    return allocate(pinned(), "cudaHostAlloc", address, bytes);
}
EXPORTED cudaError_t cudaMallocHost(void** address, size_t bytes) { return cudaHostAlloc(address, bytes, 0); }
EXPORTED cudaError_t cudaFreeHost(void* address) {
    LOCKED;
    return release(pinned(), "cudaFreeHost", address);
}

EXPORTED cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* told, const void* address) {
    LOCKED;
    std::memset(told, 0, sizeof *told);
    void* same = const_cast<void*>(address);
    switch (place_of(address)) {
        case Place::device: told->type = cudaMemoryTypeDevice, told->devicePointer = same; break;
        case Place::pinned: told->type = cudaMemoryTypeHost, told->devicePointer = told->hostPointer = same; break;
        case Place::pageable: told->type = cudaMemoryTypeUnregistered, told->hostPointer = same, told->device = -2;
    }
    return cudaSuccess;
}

// From pageable memory the driver takes the bytes before the call returns; to it, the host waits.
EXPORTED cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
    LOCKED;
    if (!bytes) return cudaSuccess;
    Place source = place_of(from), target = place_of(to);
    std::string what = std::string("copy ") + name_of(source) + " to " + name_of(target);
    note("copy", what, stream);
    bool captured = stream_of(stream)->graph, pageable = source == Place::pageable || target == Place::pageable;
    if (captured && pageable) problem(what + " in a capture: the graph would remember an address of the host's");
    if (source == Place::pageable && !captured) {
        std::vector<char> taken((const char*)from, (const char*)from + bytes);
        queue(stream, what, [=] {
            check(to, bytes, what);
            std::memcpy(to, taken.data(), bytes);
        });
        return well();
    }
    queue(stream, what, [=] {
        check(to, bytes, what);
        check(from, bytes, what);
        std::memmove(to, from, bytes);
    });
    return pageable && !captured ? cudaStreamSynchronize(stream) : well();
}

EXPORTED cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    LOCKED;
    if (forbidden("cudaMemcpy")) return failed(cudaErrorStreamCaptureUnsupported);
    cudaMemcpyAsync(to, from, bytes, kind, nullptr);
    return cudaStreamSynchronize(nullptr);
}

EXPORTED cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
    LOCKED;
    note("fill", "memset", stream);
    queue(stream, "memset", [=] {
        check(to, bytes, "memset");
        std::memset(to, value, bytes);
    });
    return cudaSuccess;
}
EXPORTED cudaError_t cudaMemset(void* to, int value, size_t bytes) { return cudaMemsetAsync(to, value, bytes, nullptr); }
