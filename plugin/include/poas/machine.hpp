// A node as plain data: units, memories, links.  Measured by probe(), or written by hand as JSON.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "poas/operation.hpp"

namespace poas {

// What each byte of a copy costs more, in seconds, when it comes in lines of 512, 1024, ... 16384 bytes (first index) whose
// beginnings lie 4096, 8192, ... 131072 bytes apart (second): the engine that copies waits for pages.
inline constexpr std::size_t line_lengths = 6, line_pitches = 6;
using LineCosts = std::array<std::array<Seconds, line_pitches>, line_lengths>;

// What something draws, and how well that is known.
struct Power {
  Watts watts = 0;
  double relative_error = 0;  // half the spread of repeated measurements over their median
  bool measured = false;      // false: nobody measured it, and what plans use is a default
  bool operator==(const Power&) const = default;
};

// A memory other than the host's, and the links to it.
struct Device {
  std::string name;       // "cuda0", "opencl0"
  Bytes memory_bytes = 0;
  double h2d_bytes_per_s = 0, d2h_bytes_per_s = 0;
  Seconds latency = 0;
  double peer_bytes_per_s = 0;  // to other devices, 0: only through the host
  Seconds start_latency = 0;    // of the runtime, once a divided task: until its copies run and its end has been noticed
  LineCosts line_costs{};
  std::string product{};        // "NVIDIA H200", "" if not known: devices of one product have like models
  Power idle{};                 // of the whole device while it computes nothing
};

// One way of computing on one device.
struct Unit {
  std::string name;       // "cpu", "cuda0", "cuda0.tensor", "opencl0"
  UnitKind kind = UnitKind::cpu;
  int device = -1;        // index into Machine::devices, -1: host memory
  unsigned workers = 1;   // blocks that run at once (cores of the CPU unit)
};

struct Machine {
  std::string name;
  std::vector<Device> devices;
  std::vector<Unit> units;
  double host_link_bytes_per_s = 0;  // all links together, 0: no common limit
  Seconds task_overhead = 0;         // of one block task on its worker
  Seconds split_overhead = 0;        // of replacing a task by blocks
  Seconds block_overhead = 0;        // of submitting one of them
  std::string source = "default";    // "default", "measured", or a file
  Power host_idle{};                 // of the processors while their workers wait for tasks
};

// Throws Error(invalid) naming the field.
void validate(const Machine& machine);
std::string to_json(const Machine& machine);
// Throws Error(parse, invalid or version).
Machine machine_from_json(std::string_view text);

}  // namespace poas
