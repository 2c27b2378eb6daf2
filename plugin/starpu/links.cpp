#include "starpu/links.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "models/median.hpp"
#include "poas/error.hpp"

namespace poas::edge {
namespace {

constexpr std::size_t small_bytes = std::size_t{1} << 16, large_bytes = std::size_t{1} << 26;
constexpr std::size_t line_bytes = 2048, line_pitch = 33024, lines = 8192;  // pages apart, at no round distance
constexpr unsigned repetitions = 3;

// Lines of bytes in pinned host memory, `pitch` bytes apart, and their handle.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : Buffer(bytes, 1, bytes) {}
  Buffer(std::size_t line, std::size_t count, std::size_t pitch) : bytes_(count * pitch) {
    if (starpu_malloc_flags(&memory_, bytes_, STARPU_MALLOC_PINNED | STARPU_MALLOC_SIMULATION_FOLDED) != 0)
      throw Error(Errc::io, "copies cannot be measured: no pinned host memory; raise the limit of locked memory");
    starpu_matrix_data_register(&handle_, STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(memory_),
                                static_cast<std::uint32_t>(pitch), static_cast<std::uint32_t>(line),
                                static_cast<std::uint32_t>(count), 1);
  }
  ~Buffer() {
    starpu_data_unregister(handle_);
    starpu_free_flags(memory_, bytes_, STARPU_MALLOC_PINNED | STARPU_MALLOC_SIMULATION_FOLDED);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // Leaves the only valid copy on `node`.
  void own(int node) {
    starpu_data_acquire_on_node(handle_, node, STARPU_RW);
    starpu_data_release_on_node(handle_, node);
  }
  void start(int node) { starpu_data_fetch_on_node(handle_, static_cast<unsigned>(node), 1); }
  void wait(int node) {
    starpu_data_acquire_on_node(handle_, node, STARPU_R);
    starpu_data_release_on_node(handle_, node);
  }

 private:
  std::size_t bytes_;
  void* memory_ = nullptr;
  starpu_data_handle_t handle_ = nullptr;
};

// Seconds of one copy, the device's buffer allocated already.
Seconds copy_seconds(Buffer& buffer, int from, int to) {
  buffer.own(to);
  std::vector<double> times;
  for (unsigned i = 0; i < repetitions; ++i) {
    buffer.own(from);
    const double begin = starpu_timing_now();
    buffer.wait(to);
    times.push_back((starpu_timing_now() - begin) * 1e-6);
  }
  return std::max(median(times), 1e-9);
}

// What each of the lines adds in the slower direction.
Seconds piece_latency(int node, Buffer& together, Buffer& scattered) {
  Seconds most = 0;
  for (const auto& [from, to] : {std::pair(STARPU_MAIN_RAM, node), std::pair(node, STARPU_MAIN_RAM)})
    most = std::max(most, copy_seconds(scattered, from, to) - copy_seconds(together, from, to));
  return most / static_cast<double>(lines);
}

void measure_device(Device& device, int node, Buffer& small, Buffer& large) {
  const Seconds short_in = copy_seconds(small, STARPU_MAIN_RAM, node);
  const Seconds long_in = copy_seconds(large, STARPU_MAIN_RAM, node);
  const Seconds short_out = copy_seconds(small, node, STARPU_MAIN_RAM);
  const Seconds long_out = copy_seconds(large, node, STARPU_MAIN_RAM);
  const double difference = static_cast<double>(large_bytes - small_bytes);
  device.h2d_bytes_per_s = difference / std::max(long_in - short_in, 1e-9);
  device.d2h_bytes_per_s = difference / std::max(long_out - short_out, 1e-9);
  const Seconds latency = std::min(short_in - static_cast<double>(small_bytes) / device.h2d_bytes_per_s,
                                   short_out - static_cast<double>(small_bytes) / device.d2h_bytes_per_s);
  device.latency = std::max(latency, 0.0);
}

// Bytes per second of all links together, both directions at once.  Each link gets bytes in proportion to
// its rate, so that all are busy from begin to end.
double together(const View& view) {
  double fastest = 0, total = 0;
  for (const Device& device : view.machine.devices)
    fastest = std::max({fastest, device.h2d_bytes_per_s, device.d2h_bytes_per_s});
  const auto share = [&](double rate) {
    const auto bytes = static_cast<std::size_t>(static_cast<double>(large_bytes) * rate / fastest);
    total += static_cast<double>(bytes);
    return std::make_unique<Buffer>(std::max(bytes, small_bytes));
  };
  std::vector<std::unique_ptr<Buffer>> in, out;
  for (const Device& device : view.machine.devices) {
    in.push_back(share(device.h2d_bytes_per_s));
    out.push_back(share(device.d2h_bytes_per_s));
  }
  std::vector<double> times;
  for (unsigned repetition = 0; repetition < repetitions + 1; ++repetition) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      in[i]->own(view.device_node[i]);  // allocates on the device
      in[i]->own(STARPU_MAIN_RAM);
      out[i]->own(view.device_node[i]);
    }
    const double begin = starpu_timing_now();
    for (std::size_t i = 0; i < in.size(); ++i) {
      in[i]->start(view.device_node[i]);
      out[i]->start(STARPU_MAIN_RAM);
    }
    for (std::size_t i = 0; i < in.size(); ++i) {
      in[i]->wait(view.device_node[i]);
      out[i]->wait(STARPU_MAIN_RAM);
    }
    if (repetition > 0) times.push_back((starpu_timing_now() - begin) * 1e-6);
  }
  return total / *std::min_element(times.begin(), times.end());
}

}  // namespace

void measure_links(View& view) {
  if (view.device_node.empty()) return;
  {
    Buffer small(small_bytes), large(large_bytes), together(line_bytes, lines, line_bytes),
        scattered(line_bytes, lines, line_pitch);
    for (std::size_t i = 0; i < view.device_node.size(); ++i) {
      measure_device(view.machine.devices[i], view.device_node[i], small, large);
      view.machine.devices[i].piece_latency = piece_latency(view.device_node[i], together, scattered);
    }
  }
  double sum = 0;
  for (const Device& device : view.machine.devices) sum += device.h2d_bytes_per_s + device.d2h_bytes_per_s;
  const double rate = together(view);
  constexpr double no_limit = 0.95;  // below this share of the sum the links disturb each other
  view.machine.host_link_bytes_per_s = rate < no_limit * sum ? rate : 0;
}

}  // namespace poas::edge
