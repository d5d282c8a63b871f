// cuBLAS: handles, their settings, and every call of it that torch multiplies by.
#include "products.h"

using namespace pretended;

namespace {

struct Handle {
    cudaStream_t stream = nullptr;
    cublasMath_t math = CUBLAS_DEFAULT_MATH;
    cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
};

Handle* of(cublasHandle_t handle) { return (Handle*)handle; }

cublasStatus_t gemm(cublasHandle_t handle, const char* call, cudaDataType a, cudaDataType b, cudaDataType out,
                    cublasComputeType_t compute, long m, long n, long k, long count = 1) {
    LOCKED;
    product(of(handle)->stream, call, a, b, out, sums_of(compute, a, of(handle)->math), m, n, k, count);
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

// Making a handle allocates, and the library's own workspace with it.
EXPORTED cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
    LOCKED;
    *handle = nullptr;
    if (forbidden("cublasCreate")) return CUBLAS_STATUS_NOT_INITIALIZED;
    *handle = (cublasHandle_t) new Handle;
    return CUBLAS_STATUS_SUCCESS;
}
EXPORTED cublasStatus_t cublasDestroy_v2(cublasHandle_t) { return CUBLAS_STATUS_SUCCESS; }
EXPORTED cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
    of(handle)->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}
// Of torch's allocator: in a capture, torch gives the graph one of its own.
EXPORTED cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void*, size_t) { return CUBLAS_STATUS_SUCCESS; }
EXPORTED cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t math) {
    of(handle)->math = math;
    return CUBLAS_STATUS_SUCCESS;
}
EXPORTED cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* math) {
    *math = of(handle)->math;
    return CUBLAS_STATUS_SUCCESS;
}
EXPORTED cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
    of(handle)->pointers = mode;
    return CUBLAS_STATUS_SUCCESS;
}
EXPORTED cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
    *mode = of(handle)->pointers;
    return CUBLAS_STATUS_SUCCESS;
}
EXPORTED cublasStatus_t cublasSetSmCountTarget(cublasHandle_t, int) { return CUBLAS_STATUS_SUCCESS; }

#define OPERATIONS cublasOperation_t, cublasOperation_t
EXPORTED cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, OPERATIONS, int m, int n, int k, const float*,
                                       const float*, int, const float*, int, const float*, float*, int) {
    return gemm(handle, "Sgemm", CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, m, n, k);
}
EXPORTED cublasStatus_t cublasDgemm_v2(cublasHandle_t handle, OPERATIONS, int m, int n, int k, const double*,
                                       const double*, int, const double*, int, const double*, double*, int) {
    return gemm(handle, "Dgemm", CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, m, n, k);
}
EXPORTED cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, OPERATIONS, int m, int n, int k, const float*,
                                                  const float*, int, long long, const float*, int, long long,
                                                  const float*, float*, int, long long, int count) {
    return gemm(handle, "SgemmStridedBatched", CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, m, n, k, count);
}
EXPORTED cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, OPERATIONS, int m, int n, int k, const double*,
                                                  const double*, int, long long, const double*, int, long long,
                                                  const double*, double*, int, long long, int count) {
    return gemm(handle, "DgemmStridedBatched", CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, m, n, k, count);
}
EXPORTED cublasStatus_t cublasGemmEx(cublasHandle_t handle, OPERATIONS, int m, int n, int k, const void*, const void*,
                                     cudaDataType a, int, const void*, cudaDataType b, int, const void*, void*,
                                     cudaDataType out, int, cublasComputeType_t compute, cublasGemmAlgo_t) {
    return gemm(handle, "GemmEx", a, b, out, compute, m, n, k);
}
EXPORTED cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, OPERATIONS, int m, int n, int k, const void*,
                                                   const void*, cudaDataType a, int, long long, const void*,
                                                   cudaDataType b, int, long long, const void*, void*, cudaDataType out,
                                                   int, long long, int count, cublasComputeType_t compute,
                                                   cublasGemmAlgo_t) {
    return gemm(handle, "GemmStridedBatchedEx", a, b, out, compute, m, n, k, count);
}
EXPORTED cublasStatus_t cublasSgemv_v2(cublasHandle_t handle, cublasOperation_t, int m, int n, const float*,
                                       const float*, int, const float*, int, const float*, float*, int) {
    return gemm(handle, "Sgemv", CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, m, 1, n);
}
EXPORTED cublasStatus_t cublasDgemv_v2(cublasHandle_t handle, cublasOperation_t, int m, int n, const double*,
                                       const double*, int, const double*, int, const double*, double*, int) {
    return gemm(handle, "Dgemv", CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, m, 1, n);
}
EXPORTED cublasStatus_t cublasSdot_v2(cublasHandle_t handle, int n, const float*, int, const float*, int, float*) {
    return gemm(handle, "Sdot", CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1, 1, n);
}
EXPORTED cublasStatus_t cublasDdot_v2(cublasHandle_t handle, int n, const double*, int, const double*, int, double*) {
    return gemm(handle, "Ddot", CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, 1, 1, n);
}
