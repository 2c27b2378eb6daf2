#include "starpu/links.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "poas/error.hpp"

namespace poas::edge {
namespace {

constexpr std::size_t small_bytes = std::size_t{1} << 16, large_bytes = std::size_t{1} << 26;
constexpr unsigned repetitions = 3;
// Copies in lines: lengths and pitches double from the first ones, which are those of LineCosts.
constexpr std::size_t first_length = 512, first_pitch = 4096, most_lines = 2048;
constexpr Seconds time_of_lines = 100e-6;  // of a copy if it were in one piece
constexpr std::size_t off_round = 256;  // added to each pitch: round ones are no common case

// Pinned host memory.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_(bytes) {
    if (starpu_malloc_flags(&address_, bytes_, STARPU_MALLOC_PINNED | STARPU_MALLOC_SIMULATION_FOLDED) != 0)
      throw Error(Errc::io, "copies cannot be measured: no pinned host memory; raise the limit of locked memory");
  }
  ~Memory() { starpu_free_flags(address_, bytes_, STARPU_MALLOC_PINNED | STARPU_MALLOC_SIMULATION_FOLDED); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(address_); }

 private:
  std::size_t bytes_;
  void* address_ = nullptr;
};

// Lines of bytes in that memory, `pitch` bytes apart, and their handle.
class Buffer {
 public:
  Buffer(const Memory& memory, std::size_t line, std::size_t count, std::size_t pitch) {
    starpu_matrix_data_register(&handle_, STARPU_MAIN_RAM, memory.address(), static_cast<std::uint32_t>(pitch),
                                static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(count), 1);
  }
  ~Buffer() { starpu_data_unregister(handle_); }
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
  starpu_data_handle_t handle_ = nullptr;
};

// One piece in memory of its own.
struct Piece {
  explicit Piece(std::size_t bytes) : memory(bytes), buffer(memory, bytes, 1, bytes) {}
  Memory memory;
  Buffer buffer;
};

// Seconds of one copy, the device's buffer allocated already.  The least counts: whatever disturbs makes copies longer.
Seconds copy_seconds(Buffer& buffer, int from, int to) {
  buffer.own(to);
  std::vector<double> times;
  for (unsigned i = 0; i < repetitions; ++i) {
    buffer.own(from);
    const double begin = starpu_timing_now();
    buffer.wait(to);
    times.push_back((starpu_timing_now() - begin) * 1e-6);
  }
  return std::max(*std::min_element(times.begin(), times.end()), 1e-9);
}

// The time of a byte in the slower direction.
Seconds byte_seconds(int node, Buffer& buffer, std::size_t bytes) {
  return std::max(copy_seconds(buffer, STARPU_MAIN_RAM, node), copy_seconds(buffer, node, STARPU_MAIN_RAM)) /
         static_cast<double>(bytes);
}

LineCosts measure_lines(int node, double bytes_per_s, const Memory& memory) {
  LineCosts costs{};
  const auto most_bytes = static_cast<std::size_t>(time_of_lines * bytes_per_s);
  for (std::size_t i = 0; i < line_lengths; ++i) {
    const std::size_t length = first_length << i, lines = std::clamp<std::size_t>(most_bytes / length, 2, most_lines), bytes = lines * length;
    Buffer together(memory, bytes, 1, bytes);
    const Seconds least = byte_seconds(node, together, bytes);
    for (std::size_t j = 0; j < line_pitches; ++j) {
      const std::size_t pitch = (first_pitch << j) + off_round;
      if (length >= pitch) continue;
      Buffer scattered(memory, length, lines, pitch);
      costs[i][j] = std::max(0.0, byte_seconds(node, scattered, bytes) - least);
    }
  }
  return costs;
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
    return std::make_unique<Piece>(std::max(bytes, small_bytes));
  };
  std::vector<std::unique_ptr<Piece>> in, out;
  for (const Device& device : view.machine.devices) {
    in.push_back(share(device.h2d_bytes_per_s));
    out.push_back(share(device.d2h_bytes_per_s));
  }
  std::vector<double> times;
  for (unsigned repetition = 0; repetition < repetitions + 1; ++repetition) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      in[i]->buffer.own(view.device_node[i]);  // allocates on the device
      in[i]->buffer.own(STARPU_MAIN_RAM);
      out[i]->buffer.own(view.device_node[i]);
    }
    const double begin = starpu_timing_now();
    for (std::size_t i = 0; i < in.size(); ++i) {
      in[i]->buffer.start(view.device_node[i]);
      out[i]->buffer.start(STARPU_MAIN_RAM);
    }
    for (std::size_t i = 0; i < in.size(); ++i) {
      in[i]->buffer.wait(view.device_node[i]);
      out[i]->buffer.wait(STARPU_MAIN_RAM);
    }
    if (repetition > 0) times.push_back((starpu_timing_now() - begin) * 1e-6);
  }
  return total / *std::min_element(times.begin(), times.end());
}

}  // namespace

void measure_links(View& view) {
  if (view.device_node.empty()) return;
  {
    Piece small(small_bytes), large(large_bytes);
    const Memory wide(most_lines * ((first_pitch << (line_pitches - 1)) + off_round));
    for (std::size_t i = 0; i < view.device_node.size(); ++i) {
      measure_device(view.machine.devices[i], view.device_node[i], small.buffer, large.buffer);
      view.machine.devices[i].line_costs = measure_lines(view.device_node[i], view.machine.devices[i].d2h_bytes_per_s, wide);
    }
  }
  double sum = 0;
  for (const Device& device : view.machine.devices) sum += device.h2d_bytes_per_s + device.d2h_bytes_per_s;
  const double rate = together(view);
  constexpr double no_limit = 0.95;  // below this share of the sum the links disturb each other
  view.machine.host_link_bytes_per_s = rate < no_limit * sum ? rate : 0;
}

}  // namespace poas::edge
