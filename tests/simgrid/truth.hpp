// The truth of a simulated node: how long a GEMM block really takes on each of its processors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace truth {

struct Shape {
  std::uint64_t m = 0, n = 0, k = 0;
};

// A device, or one core of the CPU (sms is 1 there).
struct Processor {
  std::string name;
  double flops_per_s = 0;  // 0: the type is not offered
  std::uint64_t tile_m = 1, tile_n = 1, sms = 1;
  double launch_seconds = 0;
};

// The way between a device and the host's memory.
struct Link {
  double h2d_bytes_per_s = 0, d2h_bytes_per_s = 0, latency_seconds = 0, memory_bytes = 0;
};

struct Node {
  std::string name;
  unsigned cores = 0;
  Processor cpu;
  std::vector<Processor> devices;
  std::vector<Link> links;  // of the devices, same order
  double host_link_bytes_per_s = 0, peer_bytes_per_s = 0;
  double spread = 0.03;  // largest relative deviation of one shape from the formula
  std::uint64_t seed = 1;
};

// Reads the rates of one element type, e.g. "fp32".  Throws std::runtime_error.
Node read(const std::string& file, const std::string& type);

// The formula of tests/data/truth/README.md: whole waves of whole tiles.
double formula_seconds(const Processor& processor, const Shape& shape);

// The formula times 1 +- spread, a deterministic function of seed, processor and shape.
double seconds(const Node& node, const Processor& processor, const Shape& shape);

}  // namespace truth
