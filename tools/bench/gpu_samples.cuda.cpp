// Times of single GEMMs and copies on a GPU, as tables that models are fitted to and judged by.
//   gpu_samples gemm --type fp32 --shapes 300 --seed 1 [--limit 60]
//   gpu_samples copies --count 240 --seed 1
// A sample: the median over 5 batches of the mean time of a launch between CUDA events, after two launches to
// warm up; operands random, rotated through more memory than the second-level cache holds.  The GPU begins when
// all launches are queued, so that the host's time for a launch does not show.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gpu_samples.hpp"

namespace {

constexpr std::size_t pool_bytes = std::size_t{8} << 30;
constexpr double batch_seconds = 150e-6;   // short launches are repeated within a batch
constexpr double least_extent = 64, most_extent = 16384;

void check(cublasStatus_t code, const char* what) {
  if (code != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(std::string(what) + ": " + cublasGetStatusString(code));
}

struct Kind {
  const char* name;
  const char* implementation;
  cudaDataType data;
  cublasComputeType_t compute;
  std::size_t element;
};

// The calls of codelets/cuda/gemm.cuda.cpp.
const Kind kinds[] = {{"fp32", "cublas-fp32", CUDA_R_32F, CUBLAS_COMPUTE_32F, 4},
                      {"tf32", "cublas-tf32", CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 4},
                      {"fp64", "cublas-fp64-tensor", CUDA_R_64F, CUBLAS_COMPUTE_64F, 8},
                      {"bf16", "cublas-bf16", CUDA_R_16BF, CUBLAS_COMPUTE_32F, 2},
                      {"fp16", "cublas-fp16", CUDA_R_16F, CUBLAS_COMPUTE_32F, 2}};

struct Shape {
  std::int64_t m, n, k;
};

// Log-uniform extents; a third of the shapes as they fall, the others multiples of 8.
class Shapes {
 public:
  explicit Shapes(std::uint64_t seed) : random_(seed) {}
  Shape next() {
    const bool ragged = count_++ % 3 == 0;
    return {extent(ragged), extent(ragged), extent(ragged)};
  }

 private:
  std::int64_t extent(bool ragged) {
    const double fraction = static_cast<double>(random_() >> 11) * 0x1p-53;
    const double value = least_extent * std::exp(fraction * std::log(most_extent / least_extent));
    const auto whole = static_cast<std::int64_t>(std::lround(value));
    return ragged ? whole : std::max<std::int64_t>(8, whole / 8 * 8);
  }

  std::mt19937_64 random_;
  unsigned count_ = 0;
};

// What the driver's management library says of GPU 0; zeros without it.
class Clock {
 public:
  Clock() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!library) return;
    const auto init = find<int()>(library, "nvmlInit_v2");
    const auto device = find<int(unsigned, void**)>(library, "nvmlDeviceGetHandleByIndex_v2");
    clock_ = find<int(void*, int, unsigned*)>(library, "nvmlDeviceGetClockInfo");
    power_ = find<int(void*, unsigned*)>(library, "nvmlDeviceGetPowerUsage");
    if (!init || !device || init() != 0 || device(0, &device_) != 0) device_ = nullptr;
  }
  unsigned megahertz() const {
    constexpr int of_multiprocessors = 1;
    unsigned value = 0;
    if (device_ && clock_) clock_(device_, of_multiprocessors, &value);
    return value;
  }
  unsigned watts() const {
    unsigned value = 0;
    if (device_ && power_) power_(device_, &value);
    return value / 1000;
  }

 private:
  template <typename Function>
  static Function* find(void* library, const char* name) {
    return reinterpret_cast<Function*>(dlsym(library, name));
  }

  void* device_ = nullptr;
  int (*clock_)(void*, int, unsigned*) = nullptr;
  int (*power_)(void*, unsigned*) = nullptr;
};


// Holds a stream back until open() is called.
class Gate {
 public:
  void close(cudaStream_t stream) {
    open_ = false;
    check(cudaLaunchHostFunc(stream, wait, this), "gate");
  }
  void open() { open_ = true; }

 private:
  static void wait(void* gate) {
    while (!static_cast<Gate*>(gate)->open_) std::this_thread::yield();
  }

  std::atomic<bool> open_{true};
};

// Mean seconds of `launches` launches in each of several batches, queued in one go.
class BatchTimer {
 public:
  BatchTimer() {
    for (cudaEvent_t& event : events_) check(cudaEventCreate(&event), "event");
  }
  ~BatchTimer() {
    for (const cudaEvent_t event : events_) cudaEventDestroy(event);
  }
  template <typename Work>
  std::vector<double> operator()(cudaStream_t stream, int launches, Work work) {
    gate_.close(stream);
    for (int i = 0; i <= batches; ++i) {
      for (int j = 0; j < launches && i > 0; ++j) work();
      check(cudaEventRecord(events_[i], stream), "event");
    }
    gate_.open();
    check(cudaStreamSynchronize(stream), "launch");
    std::vector<double> times;
    for (int i = 0; i < batches; ++i) {
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, events_[i], events_[i + 1]), "event");
      times.push_back(milliseconds * 1e-3 / launches);
    }
    return times;
  }

 private:
  Gate gate_;
  cudaEvent_t events_[batches + 1]{};
};

// Memory full of random elements in [-1, 1).
class Pool {
 public:
  explicit Pool(const Kind& kind) {
    check(cudaMalloc(&data_, pool_bytes), "8 GiB of device memory");
    const std::size_t part = std::size_t{64} << 20;
    std::vector<unsigned char> host(part);
    std::mt19937_64 random(7);
    for (std::size_t i = 0; i + kind.element <= part; i += kind.element) put(host.data() + i, kind, random);
    check(cudaMemcpy(data_, host.data(), part, cudaMemcpyHostToDevice), "copy");
    for (std::size_t full = part; full < pool_bytes; full *= 2)
      check(cudaMemcpy(data_ + full, data_, full, cudaMemcpyDeviceToDevice), "copy");
  }
  ~Pool() { cudaFree(data_); }
  unsigned char* at(std::size_t offset) const { return data_ + offset; }

 private:
  static void put(unsigned char* where, const Kind& kind, std::mt19937_64& random) {
    const double value = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
    const float single = static_cast<float>(value);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &single, 4);
    const auto brain = static_cast<std::uint16_t>(bits >> 16);
    // Halves: sign, an exponent of [0.5, 1) and random digits.
    const auto half = static_cast<std::uint16_t>((bits >> 16 & 0x8000) | 0x3800 | (bits & 0x3ff));
    if (kind.element == 8) std::memcpy(where, &value, 8);
    if (kind.element == 4) std::memcpy(where, &single, 4);
    if (kind.element == 2) std::memcpy(where, kind.data == CUDA_R_16BF ? &brain : &half, 2);
  }

  unsigned char* data_ = nullptr;
};

class GemmSampler {
 public:
  explicit GemmSampler(const Kind& kind) : kind_(kind), pool_(kind) {
    check(cublasCreate(&handle_), "cuBLAS");
    check(cudaStreamCreate(&stream_), "stream");
    check(cublasSetStream(handle_, stream_), "cuBLAS");
    check(cudaDeviceGetAttribute(&cache_, cudaDevAttrL2CacheSize, 0), "cache size");
  }
  ~GemmSampler() {
    cudaStreamDestroy(stream_);
    cublasDestroy(handle_);
  }

  void sample(const Shape& shape) {
    const std::size_t set = size(shape.m, shape.k) + size(shape.k, shape.n) + size(shape.m, shape.n);
    if (set > pool_bytes) return;
    sets_ = std::clamp<std::size_t>(2 * static_cast<std::size_t>(cache_) / set + 1, 1, pool_bytes / set);
    set_bytes_ = set;
    const double first = timer_(stream_, [&] { launch(shape); });
    const double warm = std::min(first, timer_(stream_, [&] { launch(shape); }));
    const int launches = std::clamp(static_cast<int>(batch_seconds / warm), 1, 30);
    const std::vector<double> times = batch_timer_(stream_, launches, [&] { launch(shape); });
    const auto [least, most] = std::minmax_element(times.begin(), times.end());
    std::printf("%s\t%s\t%lld\t%lld\t%lld\t%.6g\t%.3f\t%d\t%u\t%u\n", kind_.name, kind_.implementation,
                static_cast<long long>(shape.m), static_cast<long long>(shape.n), static_cast<long long>(shape.k),
                median(times), *most / *least - 1, launches * batches, clock_.megahertz(), clock_.watts());
  }

 private:
  std::size_t size(std::int64_t rows, std::int64_t columns) const {
    return (static_cast<std::size_t>(rows * columns) * kind_.element + 255) / 256 * 256;
  }

  void launch(const Shape& s) {
    unsigned char* a = pool_.at(set_bytes_ * (turn_++ % sets_));
    unsigned char* b = a + size(s.m, s.k);
    unsigned char* c = b + size(s.k, s.n);
    const float one = 1, zero = 0;
    const double one_double = 1, zero_double = 0;
    const bool wide = kind_.element == 8;
    check(cublasGemmEx_64(handle_, CUBLAS_OP_N, CUBLAS_OP_N, s.m, s.n, s.k,
                          wide ? static_cast<const void*>(&one_double) : &one, a, kind_.data, s.m, b, kind_.data, s.k,
                          wide ? static_cast<const void*>(&zero_double) : &zero, c, kind_.data, s.m, kind_.compute,
                          CUBLAS_GEMM_DEFAULT),
          "GEMM");
  }

  const Kind& kind_;
  Pool pool_;
  Timer timer_;
  BatchTimer batch_timer_;
  Clock clock_;
  cublasHandle_t handle_{};
  cudaStream_t stream_{};
  int cache_ = 0;
  std::size_t sets_ = 1, set_bytes_ = 0, turn_ = 0;
};

void gemms(const Kind& kind, const Options& options) {
  header("type\timplementation\tm\tn\tk\tseconds\tspread\tlaunches\tMHz\tW");
  GemmSampler sampler(kind);
  Shapes shapes(options.seed);
  const auto begin = std::chrono::steady_clock::now();
  for (unsigned i = 0; i < options.count; ++i) {
    sampler.sample(shapes.next());
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > options.limit) break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Times of single GEMMs and copies on GPU 0, tab separated on stdout"};
  Options options;
  auto* gemm = app.add_subcommand("gemm", "GEMMs of random shapes, 64 to 16384 in each direction");
  gemm->add_option("--type", options.type, "fp32, tf32, fp64, bf16 or fp16");
  gemm->add_option("--shapes", options.count, "how many");
  gemm->add_option("--seed", options.seed, "of the shapes");
  gemm->add_option("--limit", options.limit, "seconds after which no further shape is measured");
  auto* copy = app.add_subcommand("copies", "copies of random sizes between host and device");
  copy->add_option("--count", options.count, "how many");
  copy->add_option("--seed", options.seed, "of the sizes");
  app.require_subcommand(1);
  CLI11_PARSE(app, argc, argv);
  try {
    if (!gemm->parsed()) return copies(options), 0;
    for (const Kind& kind : kinds)
      if (options.type == kind.name) return gemms(kind, options), 0;
    std::fprintf(stderr, "gpu_samples: '%s' is no type: fp32, tf32, fp64, bf16 or fp16\n", options.type.c_str());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_samples: %s\n", error.what());
    return 1;
  }
}
