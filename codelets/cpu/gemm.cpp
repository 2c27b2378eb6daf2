// GEMM on one CPU core with OpenBLAS.
#include <cblas.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>
#include <new>

#include "cpu/blas_threads.hpp"
#include "gemm_call.hpp"
#include "gemm_kernels.hpp"
#include "elements.hpp"

namespace poas::codelets {
namespace {

constexpr std::uint64_t tile = 512;  // of 16-bit operands, converted to fp32: 1 MiB each

template <typename Element>
Element* at(const MatrixArgument& matrix, std::uint64_t row, std::uint64_t column) {
  return reinterpret_cast<Element*>(matrix.data) + row + column * matrix.ld;
}

// C = beta C; beta = 0 overwrites.
template <typename Element, typename Scalar>
void scale(const GemmCall& call, Scalar beta) {
  for (std::uint64_t j = 0; j < call.n; ++j) {
    Element* column = at<Element>(call.c, 0, j);
    for (std::uint64_t i = 0; i < call.m; ++i)
      store(beta == 0 ? Scalar{0} : beta * load(column[i]), column[i]);
  }
}

CBLAS_TRANSPOSE operation(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }
int integer(std::uint64_t value) { return static_cast<int>(value); }

void multiply(const GemmCall& c, float) {
  cblas_sgemm(CblasColMajor, operation(c.transa), operation(c.transb), integer(c.m), integer(c.n),
              integer(c.k), static_cast<float>(c.alpha), at<float>(c.a, 0, 0), integer(c.a.ld),
              at<float>(c.b, 0, 0), integer(c.b.ld), static_cast<float>(c.beta), at<float>(c.c, 0, 0),
              integer(c.c.ld));
}

void multiply(const GemmCall& c, double) {
  cblas_dgemm(CblasColMajor, operation(c.transa), operation(c.transb), integer(c.m), integer(c.n),
              integer(c.k), c.alpha, at<double>(c.a, 0, 0), integer(c.a.ld), at<double>(c.b, 0, 0),
              integer(c.b.ld), c.beta, at<double>(c.c, 0, 0), integer(c.c.ld));
}

// Part of a 16-bit matrix as fp32 with leading dimension `tile`.
template <typename Half>
void unpack(const MatrixArgument& from, std::uint64_t row, std::uint64_t column, std::uint64_t rows,
            std::uint64_t columns, float* to) {
  for (std::uint64_t j = 0; j < columns; ++j) {
    const Half* source = at<Half>(from, row, column + j);
    for (std::uint64_t i = 0; i < rows; ++i) to[i + j * tile] = load(source[i]);
  }
}

struct Tiles {
  float a[tile * tile], b[tile * tile], c[tile * tile];
};

// One tile of C: all products are added in fp32 and rounded once.
template <typename Half>
void multiply_tile(const GemmCall& call, std::uint64_t i, std::uint64_t j, Tiles& t) {
  const std::uint64_t rows = std::min(tile, call.m - i), columns = std::min(tile, call.n - j);
  float beta = static_cast<float>(call.beta);
  if (beta != 0) unpack<Half>(call.c, i, j, rows, columns, t.c);
  for (std::uint64_t l = 0; l < call.k; l += tile) {
    const std::uint64_t inner = std::min(tile, call.k - l);
    if (call.transa)
      unpack<Half>(call.a, l, i, inner, rows, t.a);
    else
      unpack<Half>(call.a, i, l, rows, inner, t.a);
    if (call.transb)
      unpack<Half>(call.b, j, l, columns, inner, t.b);
    else
      unpack<Half>(call.b, l, j, inner, columns, t.b);
    cblas_sgemm(CblasColMajor, operation(call.transa), operation(call.transb), integer(rows),
                integer(columns), integer(inner), static_cast<float>(call.alpha), t.a, tile, t.b, tile, beta,
                t.c, tile);
    beta = 1;
  }
  for (std::uint64_t jj = 0; jj < columns; ++jj)
    for (std::uint64_t ii = 0; ii < rows; ++ii)
      store(t.c[ii + jj * tile], *at<Half>(call.c, i + ii, j + jj));
}

template <typename Half>
const char* multiply_half(const GemmCall& call) {
  const std::unique_ptr<Tiles> tiles(new (std::nothrow) Tiles);
  if (!tiles) return "openblas: no memory to convert a block to fp32";
  for (std::uint64_t j = 0; j < call.n; j += tile)
    for (std::uint64_t i = 0; i < call.m; i += tile) multiply_tile<Half>(call, i, j, *tiles);
  return nullptr;
}

template <typename Real>
const char* multiply_real(const GemmCall& call) {
  if (call.largest() > INT_MAX) return "openblas: a dimension of the block is over 2^31 - 1";
  multiply(call, Real{});
  return nullptr;
}

void scale(const GemmCall& call) {
  const float beta = static_cast<float>(call.beta);
  switch (call.type) {
    case POAS_FP64: return scale<double>(call, call.beta);
    case POAS_FP32: return scale<float>(call, beta);
    case POAS_FP16: return scale<Fp16>(call, beta);
    case POAS_BF16: return scale<Bf16>(call, beta);
  }
}

// Returns words if nothing was written.
const char* run(const GemmCall& call) {
  if (call.is_empty()) return nullptr;
  if (call.scales_only()) return scale(call), nullptr;
  const SingleBlasThread one_thread;
  switch (call.type) {
    case POAS_FP64: return multiply_real<double>(call);
    case POAS_FP32: return multiply_real<float>(call);
    case POAS_FP16: return multiply_half<Fp16>(call);
    case POAS_BF16: return multiply_half<Bf16>(call);
  }
  return "openblas: unknown element type";
}

}  // namespace

void gemm_openblas(void* buffers[], void* cl_arg) noexcept {
  const std::optional<GemmCall> call = host_call(buffers, cl_arg);
  if (!call) return;
  if (const char* why = run(*call)) poas_block_failed(-EIO, why);
}

}  // namespace poas::codelets
