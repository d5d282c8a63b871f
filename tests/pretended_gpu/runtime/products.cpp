// cuBLAS and cuBLASLt: handles, their settings, and every call that torch multiplies by. A product is noted by how it
// sums, and computes nothing.
#include "pretended.h"

#include <cublasLt.h>

#include <cstring>

using namespace pretended;

namespace {

struct Handle {
    cudaStream_t stream = nullptr;
    int math = CUBLAS_DEFAULT_MATH;
};

// How a product of operands of the type `a` sums; by an older setting, of the handle, those of f32 may be of TF32.
const char* sums_of(int compute, int a, int math = CUBLAS_DEFAULT_MATH) {
    switch (compute) {
        case CUBLAS_COMPUTE_64F: return "f64";
        case CUBLAS_COMPUTE_32F_FAST_TF32: return "tf32";
        case CUBLAS_COMPUTE_32F:
        case CUBLAS_COMPUTE_32F_PEDANTIC: return a == CUDA_R_32F && math & CUBLAS_TF32_TENSOR_OP_MATH ? "tf32" : "f32";
        default: return "less than f32";
    }
}

int product(cudaStream_t stream, const char* sums) {
    LOCKED;
    note(std::string("product ") + sums);
    state().sums = sums;
    queue(stream, sums, [] {});
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

#define SHAPE int, int, int, int, int, const void*

// Making a handle allocates, and the library's own workspace with it.
INSTEAD_OF(cublasCreate_v2, (Handle** made)) {
    LOCKED;
    *made = forbidden("cublasCreate") ? nullptr : new Handle;
    return *made ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}
INSTEAD_OF(cublasSetStream_v2, (Handle* handle, cudaStream_t stream)) {
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}
INSTEAD_OF(cublasSetMathMode, (Handle* handle, int math)) { handle->math = math; return CUBLAS_STATUS_SUCCESS; }
INSTEAD_OF(cublasGetMathMode, (Handle* handle, int* math)) { *math = handle->math; return CUBLAS_STATUS_SUCCESS; }
SUCCEEDS(cublasSetWorkspace_v2)  // of torch's allocator: in a capture, torch gives the graph one of its own

INSTEAD_OF(cublasDgemm_v2, (Handle* handle)) { return product(handle->stream, "f64"); }
INSTEAD_OF(cublasDgemmStridedBatched, (Handle* handle)) { return product(handle->stream, "f64"); }
INSTEAD_OF(cublasGemmEx, (Handle* handle, SHAPE, const void*, int a, int, const void*, int, int, const void*, void*,
                          int, int, int compute)) {
    return product(handle->stream, sums_of(compute, a, handle->math));
}
INSTEAD_OF(cublasGemmStridedBatchedEx, (Handle* handle, SHAPE, const void*, int a, int, long long, const void*, int,
                                        int, long long, const void*, void*, int, int, long long, int, int compute)) {
    return product(handle->stream, sums_of(compute, a, handle->math));
}

INSTEAD_OF(cublasLtMatmulDescCreate, (int** made, int compute)) {
    *made = new int(compute);
    return CUBLAS_STATUS_SUCCESS;
}
INSTEAD_OF(cublasLtMatrixLayoutCreate, (int** made, int type)) { *made = new int(type); return CUBLAS_STATUS_SUCCESS; }
SUCCEEDS(cublasLtMatmulDescSetAttribute)
SUCCEEDS(cublasLtMatmulDescDestroy)
SUCCEEDS(cublasLtMatrixLayoutDestroy)
SUCCEEDS(cublasLtMatmulPreferenceCreate)
SUCCEEDS(cublasLtMatmulPreferenceSetAttribute)
SUCCEEDS(cublasLtMatmulPreferenceDestroy)
INSTEAD_OF(cublasLtMatmulAlgoGetHeuristic, (void*, void*, void*, void*, void*, void*, void*, int,
                                            cublasLtMatmulHeuristicResult_t* found, int* count)) {
    std::memset(found, 0, sizeof *found);
    *count = 1;
    return CUBLAS_STATUS_SUCCESS;
}
INSTEAD_OF(cublasLtMatmul, (void*, int* compute, const void*, const void*, int* a, const void*, void*, const void*,
                            const void*, void*, void*, void*, const void*, void*, size_t, cudaStream_t stream)) {
    return product(stream, sums_of(*compute, *a));
}
