// Errors of the CUDA runtime as exceptions, for code that ends in a function which reports them.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace poas::codelets {

inline void check(cudaError_t code, const char* what) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(code));
}

}  // namespace poas::codelets
