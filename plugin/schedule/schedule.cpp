// Parts become blocks: a grid for each unit, then one list in which the units take turns.
#include <algorithm>
#include <cmath>
#include <set>

#include "schedule/grid.hpp"

namespace poas {
namespace detail {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

bool close(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance * std::max(a, b); }

bool alike(const Machine& machine, int a, int b) {
  if (a == b) return true;
  const Unit& one = machine.units[index(a)];
  const Unit& other = machine.units[index(b)];
  if (one.kind != other.kind || one.workers != other.workers) return false;
  if (one.device < 0 || other.device < 0) return one.device == other.device;
  const Device& left = machine.devices[index(one.device)];
  const Device& right = machine.devices[index(other.device)];
  return close(left.h2d_bytes_per_s, right.h2d_bytes_per_s, 0.1) &&
         close(left.latency, right.latency, 0.1) &&
         close(left.d2h_bytes_per_s, right.d2h_bytes_per_s, 0.1) && left.memory_bytes == right.memory_bytes;
}

Seconds part_seconds(const Job& job) {
  Box box = whole_box(job.operation);
  box[index(job.dim)] = job.part.range;
  return evaluate(job.cost.model, job.operation, box);
}

unsigned active_devices(const Machine& machine, const PartitionPlan& partition) {
  std::set<int> devices;
  for (const Part& part : partition.parts) devices.insert(machine.units[index(part.unit)].device);
  devices.erase(-1);
  return static_cast<unsigned>(devices.size());
}

Grid grid_for(const Job& job, const Machine& machine, unsigned links, GridMemory& memory) {
  const Unit& unit = machine.units[index(job.part.unit)];
  if (unit.device < 0) return best_host_grid(job, unit.workers, machine);
  if (const Grid* known = memory.find(job, machine)) return *known;
  const Grid grid = best_device_grid(job, machine, links);
  memory.keep(job, grid);
  return grid;
}

// First blocks first, so that no unit waits until all blocks of another have been submitted.
TaskList interleave(const std::vector<std::vector<Block>>& lists) {
  TaskList tasks;
  std::size_t longest = 0, count = 0;
  for (const auto& list : lists) {
    longest = std::max(longest, list.size());
    count += list.size();
  }
  tasks.blocks.reserve(count);
  for (std::size_t i = 0; i < longest; ++i)
    for (const auto& list : lists)
      if (i < list.size()) tasks.blocks.push_back(list[i]);
  return tasks;
}

}  // namespace

const GridMemory::Entry* GridMemory::nearest_entry(const Job& job, const Machine& machine) const {
  const double items = static_cast<double>(job.part.range.size());
  const Entry* best = nullptr;
  double least = 0;
  for (const Entry& entry : entries_) {
    if (entry.dim != job.dim || !alike(machine, entry.unit, job.part.unit)) continue;
    const double distance = std::max(entry.items / items, items / entry.items);
    if (best != nullptr && distance >= least) continue;
    best = &entry;
    least = distance;
  }
  return best;
}

const Grid* GridMemory::find(const Job& job, const Machine& machine) const {
  const Entry* entry = nearest_entry(job, machine);
  const bool close_enough = entry != nullptr &&
                            close(entry->items, static_cast<double>(job.part.range.size()), 0.2) &&
                            close(entry->seconds, part_seconds(job), 0.2);
  return close_enough ? &entry->grid : nullptr;
}

const Grid* GridMemory::nearest(const Job& job, const Machine& machine) const {
  const Entry* entry = nearest_entry(job, machine);
  return entry != nullptr ? &entry->grid : nullptr;
}

void GridMemory::keep(const Job& job, const Grid& grid) {
  entries_.push_back(
      {job.part.unit, job.dim, static_cast<double>(job.part.range.size()), part_seconds(job), grid});
}

Seconds estimate_part(const Job& job, const Machine& machine, unsigned links, GridMemory& memory) {
  const Grid* known = memory.nearest(job, machine);
  return estimate(job, known != nullptr ? *known : grid_for(job, machine, links, memory), machine, links);
}

TaskList schedule(const Operation& operation, const Machine& machine, const CostTable& costs,
                  const PartitionPlan& partition, GridMemory& memory) {
  const unsigned links = active_devices(machine, partition);
  std::vector<std::vector<Block>> lists;
  for (const Part& part : partition.parts) {
    const Job job{operation, costs.units[index(part.unit)], partition.dim, part};
    lists.push_back(blocks_of(job, grid_for(job, machine, links, memory)));
  }
  return interleave(lists);
}

}  // namespace detail

TaskList schedule(const Operation& operation, const Machine& machine, const CostTable& costs,
                  const PartitionPlan& partition) {
  detail::GridMemory memory;
  return detail::schedule(operation, machine, costs, partition, memory);
}

}  // namespace poas
