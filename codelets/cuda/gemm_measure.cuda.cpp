// What one GEMM takes on a GPU, operands in its memory.  A measurement is the median over 5 batches of the mean time of
// a launch between events, after two launches to warm up; short launches are repeated within a batch; operands are
// rotated through more memory than the second-level cache holds.
#include <algorithm>
#include <cerrno>
#include <memory>
#include <stdexcept>

#include "cuda/gemm.cuda.hpp"
#include "cuda/launch_timer.cuda.hpp"
#include "cuda/operand_pool.cuda.hpp"
#include "cuda/sensors.cuda.hpp"
#include "gemm_describe.hpp"
#include "gemm_kernels.hpp"
#include "gemm_table.hpp"

namespace poas::codelets {
namespace {

constexpr double batch_seconds = 150e-6;
constexpr int most_launches = 30;  // in a batch
constexpr std::size_t grain = 256;

void check_blas(cublasStatus_t code, const char* what) {
  if (code != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(std::string(what) + ": " + cublasGetStatusString(code));
}

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "device");
  check(cudaDeviceGetAttribute(&value, which, device), "attribute of the device");
  return value;
}

using Multiply = cublasStatus_t (*)(cublasHandle_t, const GemmCall&);

// On the device, stream and cuBLAS handle of the calling worker; lives on its thread.
class Sampler {
 public:
  Sampler(poas_type type, bool zeros) : type_(type), zeros_(zeros), pool_(type, zeros) {
    check_blas(blas_.status(), "cuBLAS");
  }
  bool serves(poas_type type, bool zeros) const { return type == type_ && zeros == zeros_; }

  // False if the operands do not fit.
  bool sample(const GemmShape& shape, Multiply multiply, poas_measurement& result) {
    if (!place(shape)) return false;
    const auto launch = [&] {
      rotate();
      check_blas(multiply(blas_.get(), call_), "GEMM");
    };
    const double first = timer_.once(launch);
    const double warm = std::min(first, timer_.once(launch));
    const int launches = std::clamp(static_cast<int>(batch_seconds / warm), 1, most_launches);
    auto times = timer_.batches(launches, launch);
    std::ranges::sort(times);
    result.seconds = times[times.size() / 2];
    result.spread = times.back() / times.front() - 1;
    result.launches = static_cast<unsigned>(launches) * static_cast<unsigned>(times.size());
    result.parallel = static_cast<unsigned>(multiprocessors_);
    result.megahertz = sensors_.megahertz();
    result.watts = sensors_.watts();
    return true;
  }

 private:
  std::size_t size(std::uint64_t rows, std::uint64_t columns) const {
    return (rows * columns * bytes_of(type_) + grain - 1) / grain * grain;
  }

  bool place(const GemmShape& s) {
    a_bytes_ = size(s.m, s.k), b_bytes_ = size(s.k, s.n), c_bytes_ = size(s.m, s.n);
    const std::size_t sets = std::min(pool_.input_bytes() / (a_bytes_ + b_bytes_), pool_.result_bytes() / c_bytes_);
    if (sets == 0) return false;
    sets_ = std::min(sets, 2 * static_cast<std::size_t>(cache_) / (a_bytes_ + b_bytes_ + c_bytes_) + 1);
    call_ = {};
    call_.type = type_;
    call_.m = s.m, call_.n = s.n, call_.k = s.k;
    call_.a.ld = s.m, call_.b.ld = s.k, call_.c.ld = s.m;
    return true;
  }

  // The next launch gets other operands.
  void rotate() {
    const std::size_t turn = turn_++ % sets_;
    const auto inputs = reinterpret_cast<std::uintptr_t>(pool_.inputs()) + turn * (a_bytes_ + b_bytes_);
    call_.a.data = inputs;
    call_.b.data = inputs + a_bytes_;
    call_.c.data = reinterpret_cast<std::uintptr_t>(pool_.results()) + turn * c_bytes_;
  }

  poas_type type_;
  bool zeros_;
  OperandPool pool_;
  BlasHandle blas_;
  LaunchTimer timer_{starpu_cuda_get_local_stream()};
  Sensors sensors_;
  int cache_ = attribute(cudaDevAttrL2CacheSize), multiprocessors_ = attribute(cudaDevAttrMultiProcessorCount);
  GemmCall call_;
  std::size_t a_bytes_ = 0, b_bytes_ = 0, c_bytes_ = 0, sets_ = 1, turn_ = 0;
};

int measure(void** state, const poas_block& block, poas_measurement& result) {
  const int worker = starpu_worker_get_id();
  if (worker < 0 || starpu_worker_get_type(worker) != STARPU_CUDA_WORKER) return -ENOTSUP;
  const auto& table = built_gemm_implementations();
  if (block.implementation >= table.size())
    return poas_report_error(-EINVAL, "gemm not measured: there is no implementation %u", block.implementation);
  const poas_implementation& one = table[block.implementation];
  const bool tensor = one.unit == POAS_UNIT_TENSOR;
  const char* why = nullptr;
  if ((one.unit != POAS_UNIT_CUDA && !tensor) || one.offered(nullptr, worker, &why) != 1) return -ENOTSUP;
  const GemmShape shape{block.extent[0], block.extent[1], block.extent[2]};
  if (std::min({shape.m, shape.n, shape.k}) == 0 || std::max({shape.m, shape.n, shape.k}) > UINT32_MAX)
    return poas_report_error(-EINVAL, "gemm not measured: an extent is 0 or over 2^32 - 1");
  auto* sampler = static_cast<Sampler*>(*state);
  if (!sampler || !sampler->serves(one.type, block.zeros != 0)) {
    delete sampler;
    *state = nullptr;
    *state = sampler = new Sampler(one.type, block.zeros != 0);
  }
  if (!sampler->sample(shape, tensor ? multiply_on_tensor_cores : multiply_on_cuda_cores, result)) return -ENOMEM;
  const double m = static_cast<double>(shape.m), n = static_cast<double>(shape.n), k = static_cast<double>(shape.k);
  result.work = 2 * m * n * k;
  result.bytes = static_cast<double>(bytes_of(one.type)) * (m * k + k * n + m * n);
  return 0;
}

int measure_block(void** state, const poas_block* block, poas_measurement* measurement) noexcept {
  try {
    return measure(state, *block, *measurement);
  } catch (const std::exception& error) {
    return poas_report_error(-EIO, "gemm not measured: %s", error.what());
  }
}

void end_measuring(void* state) noexcept { delete static_cast<Sampler*>(state); }

}  // namespace

int (*const gemm_measure_block)(void**, const poas_block*, poas_measurement*) = measure_block;
void (*const gemm_end_measuring)(void*) = end_measuring;

}  // namespace poas::codelets
