// Parts become blocks: a grid for each unit, then one list in which the units take turns.
#include <algorithm>
#include <cmath>

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

Grid grid_for(const Job& job, const Machine& machine, double link_share, GridMemory& memory) {
  const Unit& unit = machine.units[index(job.part.unit)];
  if (unit.device < 0) return best_host_grid(job, unit.workers, machine);
  if (const Grid* known = memory.find(job, machine, link_share)) return *known;
  const Grid grid = best_device_grid(job, machine, link_share);
  memory.keep(job, grid, link_share);
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

std::vector<double> link_shares(const Machine& machine, const PartitionPlan& partition) {
  std::vector<double> shares(machine.devices.size(), 0);
  double sum = 0;
  for (const Part& part : partition.parts) {
    const int device = machine.units[index(part.unit)].device;
    if (device < 0) continue;
    shares[index(device)] += static_cast<double>(part.range.size());
    sum += static_cast<double>(part.range.size());
  }
  const auto active = static_cast<double>(std::count_if(shares.begin(), shares.end(), [](double own) { return own > 0; }));
  for (double& share : shares) share = sum > 0 ? std::max(share / sum, 1 / active) : 1;
  return shares;
}

const GridMemory::Entry* GridMemory::nearest_entry(const Job& job, const Machine& machine, double link_share) const {
  const double items = static_cast<double>(job.part.range.size());
  const auto ratio = [](double a, double b) { return std::max(a / b, b / a); };
  const Entry* best = nullptr;
  double least = 0;
  for (const Entry& entry : entries_) {
    if (entry.dim != job.dim || !alike(machine, entry.unit, job.part.unit)) continue;
    const double distance = ratio(entry.items, items) * ratio(entry.link_share, link_share);
    if (best != nullptr && distance >= least) continue;
    best = &entry;
    least = distance;
  }
  return best;
}

const Grid* GridMemory::find(const Job& job, const Machine& machine, double link_share) const {
  const Entry* entry = nearest_entry(job, machine, link_share);
  const bool close_enough = entry != nullptr &&
                            close(entry->items, static_cast<double>(job.part.range.size()), 0.2) &&
                            close(entry->seconds, part_seconds(job), 0.2) && close(entry->link_share, link_share, 0.2);
  return close_enough ? &entry->grid : nullptr;
}

const Grid* GridMemory::nearest(const Job& job, const Machine& machine, double link_share) const {
  const Entry* entry = nearest_entry(job, machine, link_share);
  return entry != nullptr ? &entry->grid : nullptr;
}

void GridMemory::keep(const Job& job, const Grid& grid, double link_share) {
  entries_.push_back({job.part.unit, job.dim, static_cast<double>(job.part.range.size()), link_share,
                      part_seconds(job), grid});
}

Seconds estimate_part(const Job& job, const Machine& machine, double link_share, GridMemory& memory) {
  const Grid* known = memory.nearest(job, machine, link_share);
  return estimate(job, known != nullptr ? *known : grid_for(job, machine, link_share, memory), machine, link_share);
}

TaskList schedule(const Operation& operation, const Machine& machine, const CostTable& costs,
                  const PartitionPlan& partition, GridMemory& memory) {
  const std::vector<double> links = link_shares(machine, partition);
  std::vector<std::vector<Block>> lists;
  for (const Part& part : partition.parts) {
    const Job job{operation, costs.units[index(part.unit)], partition.dim, part};
    const int device = machine.units[index(part.unit)].device;
    lists.push_back(blocks_of(job, grid_for(job, machine, device < 0 ? 1 : links[index(device)], memory)));
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
