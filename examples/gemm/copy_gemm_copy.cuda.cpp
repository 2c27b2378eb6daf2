// Plain cuBLAS on GPU 0 between plain copies.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "baseline.hpp"

namespace {

void expect(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

void expect(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(what) + ": " + cublasGetStatusString(status));
}

struct DeviceFree {
  void operator()(void* pointer) const { cudaFree(pointer); }
};
using DeviceMatrix = std::unique_ptr<void, DeviceFree>;

DeviceMatrix allocate(std::size_t bytes) {
  void* pointer = nullptr;
  expect(cudaMalloc(&pointer, bytes), "no GPU memory for a whole matrix");
  return DeviceMatrix(pointer);
}

cudaDataType_t data_type(poas::Type type) {
  switch (type) {
    case poas::Type::fp64:
      return CUDA_R_64F;
    case poas::Type::fp32:
      return CUDA_R_32F;
    case poas::Type::fp16:
      return CUDA_R_16F;
    case poas::Type::bf16:
      return CUDA_R_16BF;
  }
  return CUDA_R_32F;
}

cublasComputeType_t compute_type(poas::Type type, poas::Precision precision) {
  if (type == poas::Type::fp64) return CUBLAS_COMPUTE_64F;
  if (type != poas::Type::fp32) return CUBLAS_COMPUTE_32F;
  switch (precision) {
    case poas::Precision::tf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case poas::Precision::fp16:
      return CUBLAS_COMPUTE_32F_FAST_16F;
    case poas::Precision::bf16:
      return CUBLAS_COMPUTE_32F_FAST_16BF;
    default:
      return CUBLAS_COMPUTE_32F;
  }
}

// One product, host memory to host memory.
class Run {
 public:
  Run(const Options& options, poas::Precision precision, const Matrix& a, const Matrix& b, Matrix& c)
      : options_(options),
        precision_(precision),
        a_(a),
        b_(b),
        c_(c),
        device_a_(allocate(a.bytes())),
        device_b_(allocate(b.bytes())),
        device_c_(allocate(c.bytes())) {
    expect(cublasCreate(&handle_), "cuBLAS could not be started");
  }
  Run(const Run&) = delete;
  ~Run() { cublasDestroy(handle_); }

  void once() {
    expect(cudaMemcpy(device_a_.get(), a_.data(), a_.bytes(), cudaMemcpyHostToDevice), "copy of A");
    expect(cudaMemcpy(device_b_.get(), b_.data(), b_.bytes(), cudaMemcpyHostToDevice), "copy of B");
    if (options_.beta != 0)
      expect(cudaMemcpy(device_c_.get(), c_.data(), c_.bytes(), cudaMemcpyHostToDevice), "copy of C");
    multiply();
    expect(cudaMemcpy(c_.data(), device_c_.get(), c_.bytes(), cudaMemcpyDeviceToHost), "copy back of C");
  }

 private:
  void multiply() {
    const auto type = data_type(options_.type);
    const auto op = [](char trans) { return trans == 'N' ? CUBLAS_OP_N : CUBLAS_OP_T; };
    const float alpha32 = static_cast<float>(options_.alpha), beta32 = static_cast<float>(options_.beta);
    const bool wide = options_.type == poas::Type::fp64;
    const void* alpha = wide ? static_cast<const void*>(&options_.alpha) : &alpha32;
    const void* beta = wide ? static_cast<const void*>(&options_.beta) : &beta32;
    expect(cublasGemmEx(handle_, op(options_.transa), op(options_.transb), static_cast<int>(options_.m),
                        static_cast<int>(options_.n), static_cast<int>(options_.k), alpha, device_a_.get(),
                        type, static_cast<int>(a_.rows()), device_b_.get(), type, static_cast<int>(b_.rows()),
                        beta, device_c_.get(), type, static_cast<int>(c_.rows()),
                        compute_type(options_.type, precision_), CUBLAS_GEMM_DEFAULT),
           "cublasGemmEx");
  }

  const Options& options_;
  poas::Precision precision_;
  const Matrix &a_, &b_;
  Matrix& c_;
  DeviceMatrix device_a_, device_b_, device_c_;
  cublasHandle_t handle_ = nullptr;
};

}  // namespace

std::optional<poas::Seconds> copy_gemm_copy(const Options& options, poas::Precision precision,
                                            const Matrix& a, const Matrix& b, Matrix& c) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return std::nullopt;
  try {
    expect(cudaSetDevice(0), "GPU 0 could not be selected");
    Run run(options, precision, a, b, c);
    std::vector<double> seconds;
    for (unsigned i = 0; i < options.warmup + options.repetitions; i++) {
      const auto begin = std::chrono::steady_clock::now();
      run.once();
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
      if (i >= options.warmup) seconds.push_back(time.count());
    }
    return median(seconds);
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "gemm: no time for plain cuBLAS: %s: try smaller sizes\n", error.what());
    return std::nullopt;
  }
}
