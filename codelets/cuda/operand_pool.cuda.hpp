// Device memory for the operands of many launches.
#pragma once

#include <cstddef>

#include "poas/gemm.h"

namespace poas::codelets {

// Inputs, which no launch writes and which so keep their contents, and room for results: a quarter of the present
// device's free memory, 8 GiB at most.  Throws std::runtime_error.
class OperandPool {
 public:
  // Inputs are random values in [-1, 1], or zeros.
  OperandPool(poas_type type, bool zeros);
  ~OperandPool();
  OperandPool(const OperandPool&) = delete;
  OperandPool& operator=(const OperandPool&) = delete;

  unsigned char* inputs() const { return data_; }
  unsigned char* results() const { return data_ + input_bytes_; }
  std::size_t input_bytes() const { return input_bytes_; }
  std::size_t result_bytes() const { return result_bytes_; }

 private:
  void fill(poas_type type);

  unsigned char* data_ = nullptr;
  std::size_t input_bytes_ = 0, result_bytes_ = 0;
};

}  // namespace poas::codelets
