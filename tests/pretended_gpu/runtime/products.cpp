// Products are noted with their types and how they sum, and compute nothing.
#include "products.h"

using namespace pretended;

static const char* name_of(cudaDataType type) {
    switch (type) {
        case CUDA_R_64F: return "f64";
        case CUDA_R_32F: return "f32";
        case CUDA_R_16F: return "f16";
        case CUDA_R_16BF: return "bf16";
        default: return "other";
    }
}

size_t pretended::bytes_of(cudaDataType type) { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }

const char* pretended::sums_of(cublasComputeType_t compute, cudaDataType a, cublasMath_t math) {
    switch (compute) {
        case CUBLAS_COMPUTE_64F:
        case CUBLAS_COMPUTE_64F_PEDANTIC: return "f64";
        case CUBLAS_COMPUTE_32F_FAST_TF32: return "tf32";
        case CUBLAS_COMPUTE_32F_FAST_16F: return "f32 of f16";
        case CUBLAS_COMPUTE_32F_FAST_16BF: return "f32 of bf16";
        case CUBLAS_COMPUTE_16F:
        case CUBLAS_COMPUTE_16F_PEDANTIC: return "f16";
        case CUBLAS_COMPUTE_32F:
        case CUBLAS_COMPUTE_32F_PEDANTIC: break;
        default: return "other";
    }
    // The older setting of a whole handle does the same to products of f32.
    return a == CUDA_R_32F && (math & CUBLAS_TF32_TENSOR_OP_MATH) ? "tf32" : "f32";
}

void pretended::product(cudaStream_t stream, const char* call, cudaDataType a, cudaDataType b, cudaDataType out,
                        const char* sums, long m, long n, long k, long count) {
    std::string name = std::string(call) + " " + name_of(a) + " x " + name_of(b) + " -> " + name_of(out) + ", sums in " +
                       sums + ", " + std::to_string(count) + " of " + std::to_string(m) + " x " + std::to_string(n) +
                       " x " + std::to_string(k);
    note("product", name, count * (m * k * bytes_of(a) + k * n * bytes_of(b) + m * n * bytes_of(out)), stream);
    queue(stream, name, [] {});
}
