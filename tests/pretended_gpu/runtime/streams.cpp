// Streams, events, captures and graphs; problems and notes. Nothing runs when it is asked for: only once somebody
// waits, and then, of all that may run, what the chosen order takes first. A program without the waits that it needs
// gives wrong numbers in one order or another:
// "lazy"     the stream that is waited for, others only for what that needs: shows a missing wait for another's work;
// "reverse"  the stream made last first, however little that is needed: shows work that may overtake.
#include "pretended.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

using namespace pretended;

namespace pretended {

State& state() {
    static auto* one = new State;  // never destroyed: libraries call until the very end
    return *one;
}

void note(const std::string& what) { state().notes.push_back(what); }
void problem(const std::string& what) { state().problems.push_back(what); }

int failed(int error) {
    if (error != cudaSuccess) state().last_error = error;
    return error;
}
int well() { return failed(state().fault); }

Stream* stream_of(cudaStream_t handle) {
    bool is_default = !handle || handle == cudaStreamLegacy || handle == cudaStreamPerThread;
    return is_default ? state().streams[0] : (Stream*)handle;
}

static bool is_done(const Event& event) { return !event.stream || event.stream->done >= event.number; }

static bool run_first(Stream* stream) {
    if (stream->queue.empty() || !is_done(stream->queue.front().needed)) return false;
    Request first = std::move(stream->queue.front());
    stream->queue.pop_front();
    first.work();
    stream->done++;
    return true;
}

static bool is_idle(Stream* stream) { return stream->queue.empty(); }

void finish(Stream* wanted) {
    const char* order = std::getenv("PRETENDED_GPU_ORDER");
    auto all = state().streams;
    if (order && std::string(order) == "reverse") std::reverse(all.begin(), all.end());
    else if (wanted) all.insert(all.begin(), wanted);
    auto is_finished = [&] { return wanted ? is_idle(wanted) : std::all_of(all.begin(), all.end(), is_idle); };
    // A stream waits only for what was asked for before: one of them can always go on.
    while (!is_finished()) std::any_of(all.begin(), all.end(), run_first);
}

static void push(Stream* stream, Request request) {
    stream->asked++;
    stream->queue.push_back(std::move(request));
}

static Stream* capturing() {
    for (auto* stream : state().streams)
        if (stream->graph) return stream;
    return nullptr;
}

void queue(cudaStream_t handle, const std::string& what, std::function<void()> work) {
    Stream* stream = stream_of(handle);
    if (stream->graph) return stream->graph->push_back({what, std::move(work)});
    if (capturing()) problem("during a capture, outside of it, so once and never again: " + what);
    push(stream, {what, std::move(work)});
}

static thread_local int thread_mode = cudaStreamCaptureModeGlobal;

bool forbidden(const char* call) {
    Stream* stream = capturing();
    if (!stream || thread_mode == cudaStreamCaptureModeRelaxed) return false;
    stream->broken = true;
    problem(std::string("in a capture: ") + call);
    return true;
}

}  // namespace pretended

// ---- what ../device.py asks

static const char* take(std::vector<std::string>& lines) {
    static auto* text = new std::string;
    text->clear();
    for (auto& line : lines) *text += line + "\n";
    lines.clear();
    return text->c_str();
}

extern "C" {
const char* pretended_take_problems() { return take(state().problems); }
const char* pretended_take_notes() { return take(state().notes); }
const char* pretended_sums() { return state().sums.c_str(); }
void pretended_problem(const char* what) { LOCKED; problem(what); }
void pretended_queue(cudaStream_t stream, const char* what, void (*work)(long), long argument) {
    LOCKED;
    queue(stream, what, [work, argument] { work(argument); });
}
long pretended_waiting() {
    LOCKED;
    long count = 0;
    for (auto* stream : state().streams) count += (long)stream->queue.size();
    return count;
}
// What is queued now ends in that error of CUDA's, such as 700, an illegal access, once it runs.
void pretended_fault(int error) {
    LOCKED;
    queue(nullptr, "fault", [=] { state().fault = error; });
}
}

INSTEAD_OF(cudaGetLastError, ()) { return std::exchange(state().last_error, (int)cudaSuccess); }

// ---- streams and events

INSTEAD_OF(cudaStreamCreateWithPriority, (Stream** made)) {
    LOCKED;
    state().streams.push_back(*made = new Stream);
    return cudaSuccess;
}
INSTEAD_OF(cudaStreamQuery, (cudaStream_t handle)) {
    LOCKED;
    return stream_of(handle)->queue.empty() ? cudaSuccess : cudaErrorNotReady;
}
INSTEAD_OF(cudaStreamSynchronize, (cudaStream_t handle)) {
    LOCKED;
    if (forbidden("cudaStreamSynchronize")) return failed(cudaErrorStreamCaptureUnsupported);
    note("wait cudaStreamSynchronize");
    finish(stream_of(handle));
    return well();
}
INSTEAD_OF(cudaDeviceSynchronize, ()) {
    LOCKED;
    if (forbidden("cudaDeviceSynchronize")) return failed(cudaErrorStreamCaptureUnsupported);
    note("wait cudaDeviceSynchronize");
    finish();
    return well();
}

INSTEAD_OF(cudaEventCreateWithFlags, (Event** made)) { *made = new Event{}; return cudaSuccess; }
INSTEAD_OF(cudaEventDestroy, (Event* event)) { delete event; return cudaSuccess; }
INSTEAD_OF(cudaEventRecordWithFlags, (Event* event, cudaStream_t on)) {
    LOCKED;
    auto* stream = stream_of(on);
    if (stream->graph) problem("in a capture: events, which are not pretended there");
    *event = {stream, stream->asked};
    return cudaSuccess;
}
INSTEAD_OF(cudaEventQuery, (Event* event)) {
    LOCKED;
    if (forbidden("cudaEventQuery")) return failed(cudaErrorStreamCaptureUnsupported);
    return is_done(*event) ? cudaSuccess : cudaErrorNotReady;
}
INSTEAD_OF(cudaStreamWaitEvent, (cudaStream_t handle, Event* event)) {
    LOCKED;
    auto* stream = stream_of(handle);
    if (stream->graph) problem("in a capture: events, which are not pretended there");
    else push(stream, {"wait", [] {}, *event});
    return cudaSuccess;
}

// ---- captures: what CUDA's documentation forbids ends one as on a device: torch raises, and the graph is lost

INSTEAD_OF(cudaStreamBeginCapture, (cudaStream_t handle)) {
    LOCKED;
    static unsigned long long captures = 0;
    auto* stream = stream_of(handle);
    if (stream == state().streams[0]) return failed(cudaErrorStreamCaptureUnsupported);
    if (stream->graph) return failed(cudaErrorIllegalState);
    stream->graph = new Graph;
    stream->capture = ++captures;
    stream->broken = false;
    return cudaSuccess;
}
INSTEAD_OF(cudaStreamEndCapture, (cudaStream_t handle, Graph** graph)) {
    LOCKED;
    auto* stream = stream_of(handle);
    *graph = std::exchange(stream->graph, nullptr);
    if (!stream->broken) return cudaSuccess;
    delete std::exchange(*graph, nullptr);
    return failed(cudaErrorStreamCaptureInvalidated);
}
INSTEAD_OF(cudaStreamGetCaptureInfo, (cudaStream_t handle, int* status, unsigned long long* id, Graph** graph)) {
    LOCKED;
    auto* stream = stream_of(handle);
    *status = !stream->graph   ? cudaStreamCaptureStatusNone
              : stream->broken ? cudaStreamCaptureStatusInvalidated
                               : cudaStreamCaptureStatusActive;
    if (id) *id = stream->graph ? stream->capture : 0;
    if (graph) *graph = stream->graph;
    return cudaSuccess;
}
INSTEAD_OF(cudaStreamIsCapturing, (cudaStream_t handle, int* status)) {
    return of_cudaStreamGetCaptureInfo(handle, status, nullptr, nullptr);
}
INSTEAD_OF(cudaThreadExchangeStreamCaptureMode, (int* mode)) { std::swap(*mode, thread_mode); return cudaSuccess; }

INSTEAD_OF(cudaGraphGetNodes, (Graph* graph, void*, size_t* count)) { *count = graph->size(); return cudaSuccess; }
INSTEAD_OF(cudaGraphInstantiateWithFlags, (Graph** runnable, Graph* graph)) {
    *runnable = new Graph(*graph);
    return cudaSuccess;
}
INSTEAD_OF(cudaGraphDestroy, (Graph* graph)) { delete graph; return cudaSuccess; }
INSTEAD_OF(cudaGraphExecDestroy, (Graph* runnable)) { return of_cudaGraphDestroy(runnable); }
INSTEAD_OF(cudaGraphLaunch, (Graph* runnable, cudaStream_t stream)) {
    LOCKED;
    for (auto& request : *runnable) queue(stream, request.what, request.work);
    return well();
}
