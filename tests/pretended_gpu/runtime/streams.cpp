// Streams and events. Nothing runs when it is asked for: only once somebody waits, and then, of all that may run, what
// the chosen order takes first. A program without the waits that it needs gives wrong numbers in one order or another:
// "lazy"     the stream that is waited for, others only for what that waits for: shows a missing wait for another's work;
// "reverse"  the stream made last first, however little that is needed: shows work that may overtake;
#include "pretended.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

using namespace pretended;

namespace {

Stream& default_stream() {
    static auto* one = new Stream;
    return *one;
}

std::vector<Stream*>& made() {
    static auto* all = new std::vector<Stream*>;
    return *all;
}

const std::string& order() {
    static auto* name = new std::string(std::getenv("PRETENDED_GPU_ORDER") ? std::getenv("PRETENDED_GPU_ORDER") : "lazy");
    return *name;
}

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void merge(Clock& into, const Clock& from) {
    for (auto& [stream, number] : from) into[stream] = std::max(into[stream], number);
}

// What is running: of which stream, and the how-manieth of it.
Stream* running_stream = nullptr;
long running_number = 0;

bool run_first(Stream* stream) {
    if (stream->queue.empty()) return false;
    Request& first = stream->queue.front();
    if (first.kind == Request::wait && first.event->done < first.version) return false;
    Request request = std::move(first);
    stream->queue.pop_front();
    if (request.kind == Request::run) {
        running_stream = stream;
        running_number = request.number;
        request.work();
    } else if (request.kind == Request::record) {
        request.event->done = request.version;
        request.event->seconds = now();
    }
    return true;
}

void run_until(const std::function<bool()>& done, Stream* wanted) {
    while (!done()) {
        auto all = streams();
        if (order() == "reverse") std::reverse(all.begin(), all.end());
        else if (wanted) all.insert(all.begin(), wanted);
        if (std::none_of(all.begin(), all.end(), run_first)) {
            problem("streams wait for one another, or for an event that nobody records");
            for (auto* stream : all) stream->queue.clear();
            return;
        }
    }
}

void push(Stream* stream, Request request) {
    request.number = ++stream->issued;
    stream->before[stream->id] = request.number;
    stream->queue.push_back(std::move(request));
}

}  // namespace

Stream* pretended::stream_of(cudaStream_t handle) {
    if (!handle || handle == cudaStreamLegacy || handle == cudaStreamPerThread) return &default_stream();
    return (Stream*)handle;
}

std::vector<Stream*> pretended::streams() {
    std::vector<Stream*> all{&default_stream()};
    all.insert(all.end(), made().begin(), made().end());
    return all;
}

void pretended::queue(cudaStream_t handle, const std::string& what, std::function<void()> work) {
    Stream* stream = stream_of(handle);
    Request request;
    request.what = what;
    request.work = std::move(work);
    if (stream->graph) {
        stream->graph->requests.push_back(std::move(request));
        return;
    }
    if (capturing()) problem("during a capture, outside of it, so once and never again: " + what);
    push(stream, std::move(request));
}

void pretended::finish(Stream* stream) {
    run_until([=] { return stream->queue.empty(); }, stream);
}

void pretended::finish_all() {
    run_until([] {
        auto all = streams();
        return std::all_of(all.begin(), all.end(), [](Stream* stream) { return stream->queue.empty(); });
    }, nullptr);
}

EXPORTED void* pretended_running_stream() { return running_stream == &default_stream() ? nullptr : running_stream; }
// Whether all that is asked of `later` from now on comes after what runs at this moment.
EXPORTED int pretended_comes_before(void* later) {
    LOCKED;
    Clock& before = stream_of((cudaStream_t)later)->before;
    return running_stream && before.count(running_stream->id) && before[running_stream->id] >= running_number;
}
EXPORTED long pretended_waiting() {
    LOCKED;
    long count = 0;
    for (auto* stream : streams()) count += (long)stream->queue.size();
    return count;
}

EXPORTED cudaError_t cudaStreamCreateWithPriority(cudaStream_t* handle, unsigned, int) {
    LOCKED;
    auto* stream = new Stream;
    made().push_back(stream);
    stream->id = (int)made().size();
    *handle = (cudaStream_t)stream;
    return cudaSuccess;
}
EXPORTED cudaError_t cudaStreamCreateWithFlags(cudaStream_t* handle, unsigned flags) {
    return cudaStreamCreateWithPriority(handle, flags, 0);
}
EXPORTED cudaError_t cudaStreamCreate(cudaStream_t* handle) { return cudaStreamCreateWithPriority(handle, 0, 0); }
// Kept: work that was asked of it still runs.
EXPORTED cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
EXPORTED cudaError_t cudaStreamGetPriority(cudaStream_t, int* priority) {
    *priority = 0;
    return cudaSuccess;
}
EXPORTED cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
    LOCKED;
    if (forbidden("cudaStreamSynchronize")) return failed(cudaErrorStreamCaptureUnsupported);
    note("wait", "cudaStreamSynchronize", handle);
    finish(stream_of(handle));
    return well();
}
EXPORTED cudaError_t cudaDeviceSynchronize() {
    LOCKED;
    if (forbidden("cudaDeviceSynchronize")) return failed(cudaErrorStreamCaptureUnsupported);
    note("wait", "cudaDeviceSynchronize");
    finish_all();
    return well();
}
EXPORTED cudaError_t cudaStreamQuery(cudaStream_t handle) {
    LOCKED;
    if (stream_of(handle)->graph && forbidden("cudaStreamQuery")) return failed(cudaErrorStreamCaptureUnsupported);
    return stream_of(handle)->queue.empty() ? cudaSuccess : cudaErrorNotReady;
}

EXPORTED cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned) {
    *handle = (cudaEvent_t) new Event;
    return cudaSuccess;
}
EXPORTED cudaError_t cudaEventCreate(cudaEvent_t* handle) { return cudaEventCreateWithFlags(handle, 0); }
// Kept: a stream may still have to record it.
EXPORTED cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
EXPORTED cudaError_t cudaEventRecordWithFlags(cudaEvent_t handle, cudaStream_t on, unsigned) {
    LOCKED;
    auto* event = (Event*)handle;
    auto* stream = stream_of(on);
    event->captured = stream->graph;
    if (event->captured) return cudaSuccess;
    Request request;
    request.kind = Request::record;
    request.event = event;
    request.version = ++event->asked;
    push(stream, std::move(request));
    event->before = stream->before;
    return cudaSuccess;
}
EXPORTED cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t on) { return cudaEventRecordWithFlags(event, on, 0); }
EXPORTED cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t what, unsigned) {
    LOCKED;
    auto* event = (Event*)what;
    auto* stream = stream_of(handle);
    if (stream->graph) {
        if (event->captured) return cudaSuccess;
        if (event->asked) {
            problem("in a capture: a wait for what was asked for before it");
            stream->invalidated = true;
            return failed(cudaErrorStreamCaptureIsolation);
        }
        return cudaSuccess;
    }
    if (event->captured) {
        problem("a wait, outside of a capture, for an event that was recorded in it");
        return failed(cudaErrorCapturedEvent);
    }
    Request request;
    request.kind = Request::wait;
    request.event = event;
    request.version = event->asked;
    push(stream, std::move(request));
    merge(stream->before, event->before);
    return cudaSuccess;
}
EXPORTED cudaError_t cudaEventQuery(cudaEvent_t handle) {
    LOCKED;
    if (forbidden("cudaEventQuery")) return failed(cudaErrorStreamCaptureUnsupported);
    auto* event = (Event*)handle;
    return event->done >= event->asked ? cudaSuccess : cudaErrorNotReady;
}
EXPORTED cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
    LOCKED;
    if (forbidden("cudaEventSynchronize")) return failed(cudaErrorStreamCaptureUnsupported);
    auto* event = (Event*)handle;
    long version = event->asked;
    note("wait", "cudaEventSynchronize");
    run_until([=] { return event->done >= version; }, nullptr);
    return well();
}
EXPORTED cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t last) {
    *milliseconds = (float)(1e3 * (((Event*)last)->seconds - ((Event*)first)->seconds));
    return cudaSuccess;
}
