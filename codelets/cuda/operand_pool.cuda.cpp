#include "cuda/operand_pool.cuda.hpp"

#include <algorithm>
#include <memory>

#include "cuda/check.cuda.hpp"
#include "gemm_describe.hpp"
#include "gemm_sample.hpp"

namespace poas::codelets {
namespace {

constexpr std::size_t most_bytes = std::size_t{8} << 30;
constexpr std::size_t drawn_bytes = std::size_t{64} << 20;  // on the host, then copied over and over
constexpr std::size_t grain = 256;                          // bytes that operands are aligned to

}  // namespace

OperandPool::OperandPool(poas_type type, bool zeros) {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "free memory");
  const std::size_t third = std::min(most_bytes, free / 4) / 3 / grain * grain;
  input_bytes_ = 2 * third;  // as many matrices as in one result
  result_bytes_ = third;
  check(cudaMalloc(reinterpret_cast<void**>(&data_), input_bytes_ + result_bytes_), "memory for operands");
  try {
    if (zeros)
      check(cudaMemset(data_, 0, input_bytes_), "zeros");
    else
      fill(type);
    check(cudaDeviceSynchronize(), "operands");
  } catch (...) {
    cudaFree(data_);
    throw;
  }
}

OperandPool::~OperandPool() { cudaFree(data_); }

void OperandPool::fill(poas_type type) {
  const std::size_t drawn = std::min(drawn_bytes, input_bytes_);
  const auto host = std::make_unique<unsigned char[]>(drawn);
  fill_sample(host.get(), drawn / bytes_of(type), type, 7);
  check(cudaMemcpy(data_, host.get(), drawn, cudaMemcpyHostToDevice), "copy of operands");
  for (std::size_t full = drawn; full < input_bytes_; full *= 2)
    check(cudaMemcpy(data_ + full, data_, std::min(full, input_bytes_ - full), cudaMemcpyDeviceToDevice),
          "copy of operands");
}

}  // namespace poas::codelets
