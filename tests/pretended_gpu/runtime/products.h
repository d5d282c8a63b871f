// How cuBLAS and cuBLASLt note a product.
#pragma once

#include "pretended.h"

#include <cublas_v2.h>

namespace pretended {

// Types by name, the product's size and how it sums: "f32 x f32 -> f32, sums in tf32, 3 of 4 x 5 x 6".
void product(cudaStream_t stream, const char* call, cudaDataType a, cudaDataType b, cudaDataType out, const char* sums,
             long m, long n, long k, long count);
const char* sums_of(cublasComputeType_t compute, cudaDataType a, cublasMath_t math);
size_t bytes_of(cudaDataType type);

}  // namespace pretended
