#include "product.hpp"

#include "poas/gemm.h"
#include "poas/runtime.hpp"

namespace {

poas_type c_type(poas::Type type) {
  switch (type) {
    case poas::Type::fp64:
      return POAS_FP64;
    case poas::Type::fp32:
      return POAS_FP32;
    case poas::Type::fp16:
      return POAS_FP16;
    case poas::Type::bf16:
      return POAS_BF16;
  }
  return POAS_FP32;
}

poas_precision c_precision(const Options& options) {
  if (!options.precision) return POAS_CLASS_DEFAULT;
  switch (*options.precision) {
    case poas::Precision::fp64:
      return POAS_CLASS_FP64;
    case poas::Precision::fp32:
      return POAS_CLASS_FP32;
    case poas::Precision::tf32:
      return POAS_CLASS_TF32;
    case poas::Precision::fp16:
      return POAS_CLASS_FP16;
    case poas::Precision::bf16:
      return POAS_CLASS_BF16;
  }
  return POAS_CLASS_DEFAULT;
}

// A handle lives for one repetition, so that no device keeps a copy for the next one.
class Handle {
 public:
  explicit Handle(const Matrix& matrix) {
    if (poas_matrix_register(&handle_, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(matrix.data()),
                             matrix.rows(), matrix.rows(), matrix.columns(), bytes_of(matrix.type())) != 0)
      throw std::runtime_error(poas_last_error());
  }
  Handle(const Handle&) = delete;
  ~Handle() { starpu_data_unregister(handle_); }
  starpu_data_handle_t get() const { return handle_; }

 private:
  starpu_data_handle_t handle_ = nullptr;
};

}  // namespace

Operands::Operands(const Options& o)
    : a(o.type, o.transa == 'N' ? o.m : o.k, o.transa == 'N' ? o.k : o.m, o.memory, o.seed),
      b(o.type, o.transb == 'N' ? o.k : o.n, o.transb == 'N' ? o.n : o.k, o.memory, o.seed + 1),
      c(o.type, o.m, o.n, o.memory, o.seed + 2) {
  a.fill();
  b.fill();
  c.fill();
}

poas::Precision promised(const Options& options) {
  if (options.precision) return *options.precision;
  return poas::request_from_environment().precision.value_or(poas::precision_of(options.type));
}

poas::Seconds multiply(const Options& options, Operands& operands) {
  return multiply_times(options, operands, 1);
}

void multiply_anew(const Options& options, Operands& operands) {
  operands.c.fill();
  multiply(options, operands);
}

poas::Seconds multiply_times(const Options& o, Operands& operands, unsigned times) {
  // Else C stays as it is: what many cores have just written comes out of their caches, and copies to it take up to twice
  // as long.
  if (o.beta != 0) operands.c.fill();
  Handle a(operands.a), b(operands.b), c(operands.c);
  const double begin = starpu_timing_now();
  for (unsigned i = 0; i < times; i++) {
    const int error = poas_gemm(o.transa, o.transb, o.alpha, a.get(), b.get(), o.beta, c.get(),
                                c_type(o.type), c_precision(o));
    const std::string why = std::string("the product was not accepted: ") + poas_last_error();
    if (error == -ENODEV) throw NotThere(why);
    if (error != 0) throw std::runtime_error(why);
  }
  starpu_data_acquire(c.get(), STARPU_R);
  const double seconds = (starpu_timing_now() - begin) * 1e-6;
  starpu_data_release(c.get());
  return seconds;
}
