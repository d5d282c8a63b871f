// Captures and graphs. What CUDA's documentation forbids while a stream captures is a problem, and ends the capture as
// it would on a device: torch raises, and the graph is lost.
#include "pretended.h"

using namespace pretended;

static thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

Stream* pretended::capturing() {
    for (auto* stream : streams())
        if (stream->graph) return stream;
    return nullptr;
}

bool pretended::forbidden(const char* call) {
    Stream* stream = capturing();
    if (!stream || stream->mode != cudaStreamCaptureModeGlobal || thread_mode == cudaStreamCaptureModeRelaxed) return false;
    stream->invalidated = true;
    problem(std::string("in a capture: ") + call);
    return true;
}

EXPORTED cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
    LOCKED;
    static unsigned long long captures = 0;
    auto* stream = stream_of(handle);
    if (stream->id == 0) return failed(cudaErrorStreamCaptureUnsupported);
    if (stream->graph) return failed(cudaErrorIllegalState);
    stream->graph = new Graph;
    stream->capture_id = ++captures;
    stream->mode = mode;
    stream->invalidated = false;
    return cudaSuccess;
}

EXPORTED cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
    LOCKED;
    auto* stream = stream_of(handle);
    if (!stream->graph) return failed(cudaErrorIllegalState);
    *graph = stream->invalidated ? nullptr : (cudaGraph_t)stream->graph;
    if (stream->invalidated) delete stream->graph;
    stream->graph = nullptr;
    return *graph ? cudaSuccess : failed(cudaErrorStreamCaptureInvalidated);
}

EXPORTED cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
    LOCKED;
    auto* stream = stream_of(handle);
    *status = !stream->graph        ? cudaStreamCaptureStatusNone
              : stream->invalidated ? cudaStreamCaptureStatusInvalidated
                                    : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

EXPORTED cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                              unsigned long long* id, cudaGraph_t* graph,
                                              const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                                              size_t* count) {
    LOCKED;
    auto* stream = stream_of(handle);
    cudaStreamIsCapturing(handle, status);
    if (id) *id = stream->graph ? stream->capture_id : 0;
    if (graph) *graph = (cudaGraph_t)stream->graph;
    if (dependencies) *dependencies = nullptr;
    if (edges) *edges = nullptr;
    if (count) *count = 0;
    return cudaSuccess;
}

EXPORTED cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    std::swap(*mode, thread_mode);
    return cudaSuccess;
}

EXPORTED cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, size_t* count) {
    *count = ((Graph*)graph)->requests.size();
    return cudaSuccess;
}
EXPORTED cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* runnable, cudaGraph_t graph, unsigned long long) {
    *runnable = (cudaGraphExec_t) new Graph(*(Graph*)graph);
    return cudaSuccess;
}
EXPORTED cudaError_t cudaGraphInstantiate(cudaGraphExec_t* runnable, cudaGraph_t graph, unsigned long long flags) {
    return cudaGraphInstantiateWithFlags(runnable, graph, flags);
}
EXPORTED cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete (Graph*)graph;
    return cudaSuccess;
}
EXPORTED cudaError_t cudaGraphExecDestroy(cudaGraphExec_t runnable) {
    delete (Graph*)runnable;
    return cudaSuccess;
}
EXPORTED cudaError_t cudaGraphLaunch(cudaGraphExec_t runnable, cudaStream_t stream) {
    LOCKED;
    for (auto& request : ((Graph*)runnable)->requests) queue(stream, request.what, request.work);
    return well();
}
