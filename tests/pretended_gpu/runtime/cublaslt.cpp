// cuBLASLt: descriptions of products and matrices, which torch fills in by attributes, and the product itself.
#include "products.h"

#include <cublasLt.h>

#include <cstdlib>
#include <cstring>

using namespace pretended;

namespace {

struct Description {
    cublasComputeType_t compute;
    int transposes_a = 0, epilogue = CUBLASLT_EPILOGUE_DEFAULT;
};

struct Layout {
    cudaDataType type;
    uint64_t rows, columns;
    int32_t count = 1;
};

const Layout& of(cublasLtMatrixLayout_t layout) { return *(Layout*)layout; }

}  // namespace

EXPORTED cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
    LOCKED;
    *handle = nullptr;
    if (forbidden("cublasLtCreate")) return CUBLAS_STATUS_NOT_INITIALIZED;
    *handle = (cublasLtHandle_t) new int;
    return CUBLAS_STATUS_SUCCESS;
}
EXPORTED size_t cublasLtGetVersion() { return CUBLAS_VERSION; }

EXPORTED cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t compute, cudaDataType_t) {
    *made = (cublasLtMatmulDesc_t) new Description{compute};
    return CUBLAS_STATUS_SUCCESS;
}
EXPORTED cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t one) {
    delete (Description*)one;
    return CUBLAS_STATUS_SUCCESS;
}
EXPORTED cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t one, cublasLtMatmulDescAttributes_t which,
                                                       const void* value, size_t) {
    auto* description = (Description*)one;
    if (which == CUBLASLT_MATMUL_DESC_TRANSA) description->transposes_a = *(const int*)value != CUBLAS_OP_N;
    if (which == CUBLASLT_MATMUL_DESC_EPILOGUE) description->epilogue = *(const int*)value;
    return CUBLAS_STATUS_SUCCESS;
}

EXPORTED cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType type, uint64_t rows,
                                                   uint64_t columns, int64_t) {
    *made = (cublasLtMatrixLayout_t) new Layout{type, rows, columns};
    return CUBLAS_STATUS_SUCCESS;
}
EXPORTED cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t one) {
    delete (Layout*)one;
    return CUBLAS_STATUS_SUCCESS;
}
EXPORTED cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t one,
                                                         cublasLtMatrixLayoutAttribute_t which, const void* value,
                                                         size_t) {
    if (which == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) ((Layout*)one)->count = *(const int32_t*)value;
    return CUBLAS_STATUS_SUCCESS;
}

EXPORTED cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
    *made = (cublasLtMatmulPreference_t)std::malloc(1);
    return CUBLAS_STATUS_SUCCESS;
}
EXPORTED cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t one) {
    std::free(one);
    return CUBLAS_STATUS_SUCCESS;
}
EXPORTED cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                             cublasLtMatmulPreferenceAttributes_t, const void*, size_t) {
    return CUBLAS_STATUS_SUCCESS;
}
EXPORTED cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                       cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                                                       cublasLtMatmulHeuristicResult_t results[], int* count) {
    std::memset(&results[0], 0, sizeof results[0]);
    results[0].state = CUBLAS_STATUS_SUCCESS;
    *count = 1;
    return CUBLAS_STATUS_SUCCESS;
}

EXPORTED cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t how, const void*, const void*,
                                       cublasLtMatrixLayout_t a, const void*, cublasLtMatrixLayout_t b, const void*,
                                       const void*, cublasLtMatrixLayout_t, void*, cublasLtMatrixLayout_t out,
                                       const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t stream) {
    LOCKED;
    auto& description = *(Description*)how;
    std::string call = "LtMatmul";
    if (description.epilogue != CUBLASLT_EPILOGUE_DEFAULT) call += " with epilogue " + std::to_string(description.epilogue);
    product(stream, call.c_str(), of(a).type, of(b).type, of(out).type,
            sums_of(description.compute, of(a).type, CUBLAS_DEFAULT_MATH), of(out).rows, of(out).columns,
            description.transposes_a ? of(a).rows : of(a).columns, of(out).count);
    return CUBLAS_STATUS_SUCCESS;
}
