// One call of an implementation, read from StarPU's buffers and checked.
#pragma once

#include <cstdint>
#include <optional>

#include "poas/gemm.h"

namespace poas::codelets {

// A matrix as an implementation sees it.  On OpenCL `data` is the cl_mem and `offset` counts bytes
// from its start; elsewhere `data` is the address and `offset` is 0.
struct MatrixArgument {
  std::uintptr_t data = 0;
  std::uint64_t offset = 0, ld = 0;
  std::uint64_t rows = 0, columns = 0;
};

struct GemmCall {
  poas_type type = POAS_FP32;
  bool transa = false, transb = false;
  double alpha = 1, beta = 0;
  poas_precision precision = POAS_CLASS_FP32;  // never POAS_CLASS_DEFAULT
  std::uint64_t m = 0, n = 0, k = 0;
  MatrixArgument a, b, c;

  // Only C is scaled: A and B are not read.
  bool scales_only() const { return k == 0 || alpha == 0; }
  // Nothing changes.
  bool is_empty() const { return m == 0 || n == 0 || (scales_only() && beta == 1); }
  // The largest dimension or leading dimension.
  std::uint64_t largest() const;
};

// The call of a CPU or CUDA implementation, of an OpenCL one.  Wrong arguments (a task that no hook
// of poas has seen) are reported, and nullopt tells the implementation to compute nothing.
std::optional<GemmCall> host_call(void* buffers[], const void* cl_arg) noexcept;
std::optional<GemmCall> opencl_call(void* buffers[], const void* cl_arg) noexcept;

}  // namespace poas::codelets
