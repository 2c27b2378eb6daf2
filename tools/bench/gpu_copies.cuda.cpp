// Times of copies between host and device.
#include <cuda_runtime.h>

#include <cmath>
#include <random>

#include "gpu_samples.hpp"

namespace {

// One copy: rows of `piece` bytes that begin `pitch` bytes apart in host memory, or one piece.
struct CopyShape {
  std::size_t bytes, piece, pitch;
  std::size_t rows() const { return bytes / piece; }
};

class CopySampler {
 public:
  CopySampler() {
    check(cudaMalloc(&device_, most), "device memory");
    check(cudaMallocHost(&pinned_, 2 * most_span), "pinned memory");
    pageable_.resize(2 * most, 1);
    std::fill_n(static_cast<unsigned char*>(pinned_), 2 * most_span, static_cast<unsigned char>(1));
    check(cudaStreamCreate(&in_), "stream");
    check(cudaStreamCreate(&out_), "stream");
  }

  void sample(const std::string& direction, const std::string& memory, const CopyShape& shape) {
    const bool pinned = memory == "pinned";
    unsigned char* const host = pinned ? static_cast<unsigned char*>(pinned_) : pageable_.data();
    const std::size_t second = pinned ? most_span : most;
    std::vector<double> times;
    for (int i = 0; i <= batches; ++i)
      times.push_back(timer_(in_, [&] {
        if (direction != "d2h") copy(true, host, shape, in_);
        if (direction == "d2h") copy(false, host, shape, in_);
        if (direction == "both") {
          copy(false, host + second, shape, out_);
          check(cudaEventRecord(done_.event, out_), "event");
          check(cudaStreamWaitEvent(in_, done_.event), "event");
        }
      }));
    times.erase(times.begin());
    std::printf("%s\t%s\t%zu\t%zu\t%zu\t%.6g\n", direction.c_str(), memory.c_str(), shape.bytes, shape.piece,
                shape.pitch, median(times));
  }

  static constexpr std::size_t most = std::size_t{256} << 20;
  static constexpr std::size_t most_span = std::size_t{4} << 30;   // of pinned memory that the rows of a copy lie in

 private:
  struct Event {
    Event() { check(cudaEventCreate(&event), "event"); }
    cudaEvent_t event{};
  };

  void copy(bool to_device, unsigned char* host, const CopyShape& s, cudaStream_t stream) {
    if (to_device)
      check(cudaMemcpy2DAsync(device_, s.piece, host, s.pitch, s.piece, s.rows(), cudaMemcpyHostToDevice, stream), "copy");
    else
      check(cudaMemcpy2DAsync(host, s.pitch, device_, s.piece, s.piece, s.rows(), cudaMemcpyDeviceToHost, stream), "copy");
  }

  void* device_ = nullptr;
  void* pinned_ = nullptr;
  std::vector<unsigned char> pageable_;
  cudaStream_t in_{}, out_{};
  Timer timer_;
  Event done_;
};

}  // namespace

// Random copies: 4 KiB to 256 MiB, half of those of pinned memory in rows of 256 bytes to 128 KiB.
void copies(const Options& options) {
  header("direction\tmemory\tbytes\tpiece\tpitch\tseconds");
  CopySampler sampler;
  std::mt19937_64 random(options.seed);
  const auto log_uniform = [&](double least, double most) {
    const double fraction = static_cast<double>(random() >> 11) * 0x1p-53;
    return static_cast<std::size_t>(least * std::exp(fraction * std::log(most / least)));
  };
  for (unsigned i = 0; i < options.count; ++i) {
    const std::size_t bytes = log_uniform(4096, CopySampler::most);
    std::string direction = i % 3 == 0 ? "h2d" : i % 3 == 1 ? "d2h" : "both";
    std::string memory = i / 3 % 3 == 0 ? "pageable" : "pinned";
    if (!options.direction.empty()) direction = options.direction;
    if (!options.memory.empty()) memory = options.memory;
    CopyShape shape{bytes, bytes, bytes};
    if (i / 3 % 3 == 1 && memory == "pinned") {
      shape.piece = std::min(bytes, log_uniform(256, 131072));
      shape.pitch = shape.piece + log_uniform(64, 131072);
      shape.bytes = std::min(bytes / shape.piece, CopySampler::most_span / shape.pitch) * shape.piece;
    }
    sampler.sample(direction, memory, shape);
  }
}
