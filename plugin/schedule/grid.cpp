#include "schedule/grid.hpp"

#include <algorithm>

#include "schedule/copies.hpp"
#include "schedule/estimate.hpp"

namespace poas::detail {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

// Blocks of one grid have few different shapes: each is evaluated once.
class BlockTimer {
 public:
  explicit BlockTimer(const Job& job) : job_(job) {}

  Seconds operator()(const Box& box) {
    const Extents extents = extents_of(box);
    for (const auto& [known, seconds] : known_)
      if (known == extents) return seconds;
    known_.emplace_back(extents, evaluate(job_.cost.model, job_.operation, box));
    return known_.back().second;
  }

 private:
  const Job& job_;
  std::vector<std::pair<Extents, Seconds>> known_;
};

std::vector<Range> pieces(const Job& job, int dim, Range range, std::uint64_t count, Grain grain) {
  return cut(range, count, grain_of(job.operation, job.cost, dim, grain),
             least_of(job.operation, job.cost, dim));
}

struct Timed {
  Grid grid;
  Seconds end = -1;
};

// About `wanted` blocks, cut across as often as ends earliest: all small numbers are tried, then every
// quarter more.
Timed host_grid(const HostEstimate& estimate, int second, std::uint64_t wanted, Grain grain) {
  Timed best;
  for (std::uint64_t across = 1; across <= std::min(estimate.most_across(), wanted); across += 1 + across / 4) {
    const std::uint64_t along = std::min(estimate.most_along(), wanted / across);
    const Seconds end = estimate(along, across);
    if (best.end >= 0 && end >= best.end) continue;
    best = {{across == 1 ? -1 : second, along, across, grain}, end};
  }
  return best;
}

std::vector<Grid> device_grids(const Job& job) {
  std::vector<Grid> grids;
  const auto add = [&](int second, std::uint64_t along, std::uint64_t across) {
    const Grid grid{across == 1 ? -1 : second, along, across, Grain::preferred};
    if (std::find(grids.begin(), grids.end(), grid) == grids.end()) grids.push_back(grid);
  };
  const std::uint64_t most_along = most_pieces(job, job.dim, Grain::preferred);
  std::vector<int> seconds = second_dims(job.operation, job.dim);
  if (seconds.empty()) seconds.push_back(-1);
  for (const int second : seconds) {
    const std::uint64_t most_across = second < 0 ? 1 : most_pieces(job, second, Grain::preferred);
    for (std::uint64_t across = 1; across <= 8 && across <= most_across; across *= 2)
      for (std::uint64_t along = 1; along <= 64 && along * across <= 256; along *= 2)
        add(second, std::min(along, most_along), across);
  }
  return grids;
}

bool fits(const Job& job, const Machine& device, const TaskList& tasks) {
  const Bytes memory = device.devices[0].memory_bytes;
  if (bytes(job.operation, part_box(job)) <= memory) return true;
  return working_sets(copies_of(job.operation, device, tasks), device, tasks)[0] <= memory;
}

}  // namespace

std::vector<Range> cut(Range range, std::uint64_t count, std::uint64_t grain, std::uint64_t least) {
  const std::uint64_t smallest = (std::max(grain, least) + grain - 1) / grain * grain;
  const std::uint64_t pieces =
      std::clamp<std::uint64_t>(range.size() / smallest, 1, std::max<std::uint64_t>(1, count));
  const std::uint64_t grains = range.size() / grain;
  std::vector<Range> ranges;
  std::uint64_t begin = range.begin;
  for (std::uint64_t i = 1; i <= pieces; ++i) {
    const std::uint64_t end = i == pieces ? range.end : range.begin + i * grains / pieces * grain;
    ranges.push_back({begin, end});
    begin = end;
  }
  return ranges;
}

std::uint64_t most_pieces(const Job& job, int dim, Grain grain) {
  const Range range = part_box(job)[index(dim)];
  const std::uint64_t unit = grain_of(job.operation, job.cost, dim, grain);
  const std::uint64_t smallest =
      (std::max(unit, least_of(job.operation, job.cost, dim)) + unit - 1) / unit * unit;
  return std::max<std::uint64_t>(1, range.size() / smallest);
}

std::vector<Block> blocks_of(const Job& job, const Grid& grid) {
  const Box whole = part_box(job);
  const std::vector<Range> columns = pieces(job, job.dim, job.part.range, grid.along, grid.grain);
  std::vector<Range> rows{Range{0, 1}};
  if (grid.second >= 0) rows = pieces(job, grid.second, whole[index(grid.second)], grid.across, grid.grain);
  BlockTimer timer(job);
  std::vector<Block> blocks;
  blocks.reserve(columns.size() * rows.size());
  const auto add = [&](std::size_t row, std::size_t column) {
    Block block{job.part.unit, whole, 0};
    block.box[index(job.dim)] = columns[column];
    if (grid.second >= 0) block.box[index(grid.second)] = rows[row];
    block.seconds = timer(block.box);
    blocks.push_back(block);
  };
  for (std::size_t shell = 0; shell < std::max(columns.size(), rows.size()); ++shell) {
    if (shell < columns.size())
      for (std::size_t row = 0; row < std::min(shell, rows.size()); ++row) add(row, shell);
    if (shell < rows.size())
      for (std::size_t column = 0; column < std::min(shell + 1, columns.size()); ++column)
        add(shell, column);
  }
  return blocks;
}

std::vector<int> second_dims(const Operation& operation, int dim) {
  std::vector<int> dims;
  for (int d = 0; d < static_cast<int>(operation.dims.size()); ++d)
    if (d != dim && can_cut(operation, d)) dims.push_back(d);
  std::stable_sort(dims.begin(), dims.end(), [&](int a, int b) {
    return operation.dims[index(a)].extent > operation.dims[index(b)].extent;
  });
  if (dims.size() > 2) dims.resize(2);
  return dims;
}

Grid best_host_grid(const Job& job, unsigned workers, const Machine& machine) {
  const std::vector<int> seconds = second_dims(job.operation, job.dim);
  const int second = seconds.empty() ? -1 : seconds.front();
  Timed best;
  const auto consider = [&best](const Timed& one) {
    if (best.end < 0 || one.end < best.end) best = one;
  };
  const HostEstimate estimate(job, second, Grain::preferred, workers, machine);
  for (std::uint64_t turns = 1; turns <= 4; ++turns)
    consider(host_grid(estimate, second, turns * workers, Grain::preferred));
  // Alignment gives way when it would leave cores idle.
  if (4 * best.grid.along * best.grid.across < 3 * workers) {
    const HostEstimate unaligned(job, second, Grain::least, workers, machine);
    consider(host_grid(unaligned, second, workers, Grain::least));
  }
  return best.grid;
}

Grid best_device_grid(const Job& job, const Machine& machine, double link_share) {
  const Machine device = alone(machine, job.part.unit, link_share);
  const DeviceEstimate bound(job, device);
  std::vector<Timed> candidates;
  for (const Grid& grid : device_grids(job)) candidates.push_back({grid, bound(grid)});
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Timed& a, const Timed& b) { return a.end < b.end; });
  // Half a percent more is not worth another simulation.
  constexpr double enough = 0.995;
  Grid best = candidates.front().grid;
  Seconds best_end = -1;
  for (const Timed& candidate : candidates) {
    if (best_end >= 0 && candidate.end >= enough * best_end) break;
    TaskList tasks{blocks_of(job, candidate.grid)};
    for (Block& block : tasks.blocks) block.unit = 0;
    if (!fits(job, device, tasks)) continue;
    const Seconds end = simulate(job.operation, device, {}, tasks).makespan +
                        machine.block_overhead * static_cast<double>(tasks.blocks.size());
    if (best_end >= 0 && end >= best_end) continue;
    best = candidate.grid;
    best_end = end;
  }
  return best;
}

}  // namespace poas::detail
