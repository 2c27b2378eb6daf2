// The workers of a scheduling context seen as a Machine.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "poas/machine.hpp"
#include "poas/poas.h"

namespace poas::edge {

struct UnitWorkers {
  std::bitset<STARPU_NMAXWORKERS> workers;
  int node = STARPU_MAIN_RAM;
};

struct View {
  Machine machine;
  std::vector<UnitWorkers> units;   // same order as machine.units
  std::vector<int> device_node;     // memory node of machine.devices[i]
  std::uint64_t id = 0;             // differs between views of different workers
  bool complete = true;             // false while StarPU does not know a memory yet (before its drivers run)
};

// "cpu", "cuda0", "opencl1": the units of a device are called so, or so and a word after a dot; "" if poas has no unit
// for workers of that type.
std::string device_name(starpu_worker_archtype type, int devid);
// The machine made of these workers, links from StarPU's bus calibration.
View make_view(const int* workers, unsigned count);
// Of a scheduling context's workers now.
View make_view(unsigned sched_ctx);

}  // namespace poas::edge
