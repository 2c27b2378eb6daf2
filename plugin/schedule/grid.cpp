#include "schedule/grid.hpp"

#include <algorithm>
#include <functional>
#include <queue>

#include "schedule/copies.hpp"

namespace poas::detail {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

Box part_box(const Job& job) {
  Box box = whole_box(job.operation);
  box[index(job.dim)] = job.part.range;
  return box;
}

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

Seconds list_schedule(const std::vector<Block>& blocks, unsigned workers, Seconds task_overhead) {
  std::priority_queue<Seconds, std::vector<Seconds>, std::greater<>> free(
      std::greater<>(), std::vector<Seconds>(std::max(1u, workers), 0));
  Seconds last = 0;
  for (const Block& block : blocks) {
    const Seconds end = free.top() + block.seconds + task_overhead;
    free.pop();
    free.push(end);
    last = std::max(last, end);
  }
  return last;
}

// The grid with as many of `wanted` blocks as possible, cutting across only as far as that helps.
Grid host_grid(const Job& job, int second, std::uint64_t wanted, Grain grain) {
  const std::uint64_t most_along = most_pieces(job, job.dim, grain);
  const std::uint64_t most_across = second < 0 ? 1 : most_pieces(job, second, grain);
  Grid best{second, 1, 1, grain};
  for (std::uint64_t across = 1; across <= std::min(most_across, wanted); ++across) {
    const std::uint64_t along = std::min(most_along, wanted / across);
    if (along * across > best.along * best.across) best = {second, along, across, grain};
    if (20 * along * across >= 19 * wanted) break;
  }
  if (best.across == 1) best.second = -1;
  return best;
}

// The machine as one device sees it when `links` devices share the host's links.
Machine alone(const Machine& machine, int unit, unsigned links) {
  const Unit& one = machine.units[index(unit)];
  Machine sub;
  sub.devices = {machine.devices[index(one.device)]};
  sub.units = {one};
  sub.units[0].device = 0;
  sub.host_link_bytes_per_s = machine.host_link_bytes_per_s / std::max(1u, links);
  sub.task_overhead = machine.task_overhead;
  return sub;
}

struct Candidate {
  Grid grid;
  std::vector<Block> blocks;
  Seconds bound = 0;
};

// No order of copies and blocks can be faster than this.
class GridBound {
 public:
  GridBound(const Job& job, const Machine& device) : job_(job), overhead_(device.task_overhead) {
    const double host = device.host_link_bytes_per_s;
    in_rate_ =
        host > 0 ? std::min(device.devices[0].h2d_bytes_per_s, host) : device.devices[0].h2d_bytes_per_s;
    out_rate_ =
        host > 0 ? std::min(device.devices[0].d2h_bytes_per_s, host) : device.devices[0].d2h_bytes_per_s;
    const Box box = part_box(job);
    all_in_ = in_seconds(box);
    all_out_ = out_seconds(box);
    both_ = host > 0 ? (all_in_ * in_rate_ + all_out_ * out_rate_) / host : 0;
  }

  Seconds operator()(const std::vector<Block>& blocks) const {
    Seconds compute = 0;
    for (const Block& block : blocks) compute += block.seconds + overhead_;
    const Seconds first = in_seconds(blocks.front().box), last = out_seconds(blocks.back().box);
    return std::max({first + compute + last, all_in_ + blocks.back().seconds + last,
                     first + blocks.front().seconds + all_out_, both_});
  }

 private:
  Seconds in_seconds(const Box& box) const {
    Bytes sum = 0;
    for (const Operand& operand : job_.operation.operands)
      if (operand.access != Access::write) sum += bytes(operand, box);
    return sum / in_rate_;
  }

  Seconds out_seconds(const Box& box) const {
    Bytes sum = 0;
    for (const Operand& operand : job_.operation.operands)
      if (operand.access != Access::read) sum += bytes(operand, box);
    return sum / out_rate_;
  }

  const Job& job_;
  Seconds overhead_, all_in_ = 0, all_out_ = 0, both_ = 0;
  double in_rate_ = 0, out_rate_ = 0;
};

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
  Grid best;
  Seconds best_end = -1;
  const auto consider = [&](const Grid& grid) {
    const auto blocks = blocks_of(job, grid);
    const Seconds end = list_schedule(blocks, workers, machine.task_overhead) +
                        machine.block_overhead * static_cast<double>(blocks.size());
    if (best_end >= 0 && end >= best_end) return;
    best = grid;
    best_end = end;
  };
  for (std::uint64_t rounds = 1; rounds <= 4; ++rounds) {
    const Grid grid = host_grid(job, second, rounds * workers, Grain::preferred);
    consider(grid);
    // Alignment gives way when it would leave cores idle.
    if (4 * grid.along * grid.across < 3 * workers) consider(host_grid(job, second, workers, Grain::least));
  }
  return best;
}

Grid best_device_grid(const Job& job, const Machine& machine, unsigned links) {
  const Machine device = alone(machine, job.part.unit, links);
  const GridBound bound(job, device);
  std::vector<Candidate> candidates;
  for (const Grid& grid : device_grids(job)) {
    candidates.push_back({grid, blocks_of(job, grid), 0});
    candidates.back().bound = bound(candidates.back().blocks);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.bound < b.bound; });
  // Half a percent more is not worth another simulation.
  constexpr double enough = 0.995;
  Grid best = candidates.front().grid;
  Seconds best_end = -1;
  for (Candidate& candidate : candidates) {
    if (best_end >= 0 && candidate.bound >= enough * best_end) break;
    TaskList tasks{std::move(candidate.blocks)};
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
