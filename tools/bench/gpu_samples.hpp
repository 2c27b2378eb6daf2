// What the samplers of gpu_samples share.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

constexpr int batches = 5;

struct Options {
  std::string type = "fp32";
  unsigned count = 250;
  std::uint64_t seed = 1;
  double limit = 60;
  bool zeros = false;
  std::string direction{}, memory{};  // of copies; empty: all in turn
};

// Prints a table of random copies.
void copies(const Options& options);

inline void check(cudaError_t code, const char* what) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(code));
}

// Between two events, in seconds.
class Timer {
 public:
  Timer() {
    check(cudaEventCreate(&begin_), "event");
    check(cudaEventCreate(&end_), "event");
  }
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  template <typename Work>
  double operator()(cudaStream_t stream, Work work) {
    check(cudaEventRecord(begin_, stream), "event");
    work();
    check(cudaEventRecord(end_, stream), "event");
    check(cudaEventSynchronize(end_), "launch");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_), "event");
    return milliseconds * 1e-3;
  }

 private:
  cudaEvent_t begin_{}, end_{};
};

inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// Device and columns of a table.
inline void header(const char* columns) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "device");
  int runtime = 0;
  check(cudaRuntimeGetVersion(&runtime), "version");
  std::printf("# %s, CUDA %d.%d, %d multiprocessors\n%s\n", properties.name, runtime / 1000, runtime % 1000 / 10,
              properties.multiProcessorCount, columns);
}
