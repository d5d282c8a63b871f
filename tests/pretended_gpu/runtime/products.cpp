// cuBLAS and cuBLASLt: handles, their settings, and every call of theirs that torch multiplies by. A product is noted by
// how it sums, and computes nothing.
#include "pretended.h"

#include <cublasLt.h>

#include <cstring>

using namespace pretended;

namespace {

struct Handle {
    cudaStream_t stream = nullptr;
    int math = CUBLAS_DEFAULT_MATH;
};

struct Layout {
    cudaDataType type;
};

const char* sums_of(int compute, cudaDataType a, int math = CUBLAS_DEFAULT_MATH) {
    switch (compute) {
        case CUBLAS_COMPUTE_64F:
        case CUBLAS_COMPUTE_64F_PEDANTIC: return "f64";
        case CUBLAS_COMPUTE_32F_FAST_TF32: return "tf32";
        case CUBLAS_COMPUTE_32F:
        case CUBLAS_COMPUTE_32F_PEDANTIC: break;
        default: return "less than f32";
    }
    // The older setting of a whole handle does the same to products of f32.
    return a == CUDA_R_32F && math & CUBLAS_TF32_TENSOR_OP_MATH ? "tf32" : "f32";
}

int product(cudaStream_t stream, const char* sums) {
    LOCKED;
    note("product", sums, stream);
    queue(stream, sums, [] {});
    return CUBLAS_STATUS_SUCCESS;
}

int single(Handle* handle) { return product(handle->stream, sums_of(CUBLAS_COMPUTE_32F, CUDA_R_32F, handle->math)); }
int wide(Handle* handle) { return product(handle->stream, "f64"); }

template <class Made>
int make(Made** made, const char* call) {
    LOCKED;
    *made = nullptr;
    if (forbidden(call)) return CUBLAS_STATUS_NOT_INITIALIZED;
    *made = new Made;
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

// A function by the library's name that declares no more arguments than it needs.
#define INSTEAD_OF(call, arguments) EXPORTED int of_##call arguments __asm__(#call); int of_##call arguments
#define NOTHING(call) INSTEAD_OF(call, ()) { return CUBLAS_STATUS_SUCCESS; }
#define SHAPE int, int, int, int, int, const void*

// Making a handle allocates, and the library's own workspace with it.
INSTEAD_OF(cublasCreate_v2, (Handle** handle)) { return make(handle, "cublasCreate"); }
NOTHING(cublasDestroy_v2)
INSTEAD_OF(cublasSetStream_v2, (Handle* handle, cudaStream_t stream)) {
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}
// Of torch's allocator: in a capture, torch gives the graph one of its own.
NOTHING(cublasSetWorkspace_v2)
INSTEAD_OF(cublasSetMathMode, (Handle* handle, int math)) {
    handle->math = math;
    return CUBLAS_STATUS_SUCCESS;
}
INSTEAD_OF(cublasGetMathMode, (Handle* handle, int* math)) {
    *math = handle->math;
    return CUBLAS_STATUS_SUCCESS;
}
NOTHING(cublasSetPointerMode_v2)
INSTEAD_OF(cublasGetPointerMode_v2, (Handle*, int* mode)) {
    *mode = CUBLAS_POINTER_MODE_HOST;
    return CUBLAS_STATUS_SUCCESS;
}
NOTHING(cublasSetSmCountTarget)

INSTEAD_OF(cublasSgemm_v2, (Handle* handle)) { return single(handle); }
INSTEAD_OF(cublasDgemm_v2, (Handle* handle)) { return wide(handle); }
INSTEAD_OF(cublasSgemmStridedBatched, (Handle* handle)) { return single(handle); }
INSTEAD_OF(cublasDgemmStridedBatched, (Handle* handle)) { return wide(handle); }
INSTEAD_OF(cublasSgemv_v2, (Handle* handle)) { return single(handle); }
INSTEAD_OF(cublasDgemv_v2, (Handle* handle)) { return wide(handle); }
INSTEAD_OF(cublasGemmEx, (Handle* handle, SHAPE, const void*, cudaDataType a, int, const void*, int, int, const void*,
                          void*, int, int, int compute)) {
    return product(handle->stream, sums_of(compute, a, handle->math));
}
INSTEAD_OF(cublasGemmStridedBatchedEx, (Handle* handle, SHAPE, const void*, cudaDataType a, int, long long, const void*,
                                        int, int, long long, const void*, void*, int, int, long long, int, int compute)) {
    return product(handle->stream, sums_of(compute, a, handle->math));
}

INSTEAD_OF(cublasLtCreate, (Handle** handle)) { return make(handle, "cublasLtCreate"); }
EXPORTED size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
INSTEAD_OF(cublasLtMatmulDescCreate, (int** made, int compute)) {
    *made = new int(compute);
    return CUBLAS_STATUS_SUCCESS;
}
NOTHING(cublasLtMatmulDescSetAttribute)
NOTHING(cublasLtMatmulDescDestroy)
INSTEAD_OF(cublasLtMatrixLayoutCreate, (Layout** made, cudaDataType type)) {
    *made = new Layout{type};
    return CUBLAS_STATUS_SUCCESS;
}
NOTHING(cublasLtMatrixLayoutSetAttribute)
NOTHING(cublasLtMatrixLayoutDestroy)
INSTEAD_OF(cublasLtMatmulPreferenceCreate, (int** made)) {
    *made = new int;
    return CUBLAS_STATUS_SUCCESS;
}
NOTHING(cublasLtMatmulPreferenceSetAttribute)
NOTHING(cublasLtMatmulPreferenceDestroy)
INSTEAD_OF(cublasLtMatmulAlgoGetHeuristic, (void*, void*, void*, void*, void*, void*, void*, int,
                                            cublasLtMatmulHeuristicResult_t* found, int* count)) {
    std::memset(found, 0, sizeof *found);
    *count = 1;
    return CUBLAS_STATUS_SUCCESS;
}
INSTEAD_OF(cublasLtMatmul, (void*, int* compute, const void*, const void*, Layout* a, const void*, void*, const void*,
                            const void*, void*, void*, void*, const void*, void*, size_t, cudaStream_t stream)) {
    return product(stream, sums_of(*compute, a->type));
}
