#include "schedule/estimate.hpp"

#include <algorithm>

#include "schedule/copies.hpp"

namespace poas::detail {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

PieceSizes sizes_along(const Job& job, int dim, std::uint64_t items, std::uint64_t count, Grain grain) {
  return piece_sizes(items, count, grain_of(job.operation, job.cost, dim, grain),
                     least_of(job.operation, job.cost, dim));
}

struct Sizes {
  PieceSizes along, across;
};

Sizes sizes_of(const Job& job, const Grid& grid, const Box& box) {
  Sizes sizes;
  sizes.along = sizes_along(job, job.dim, box[index(job.dim)].size(), grid.along, grid.grain);
  sizes.across = piece_sizes(1, 1, 1, 1);
  if (grid.second >= 0)
    sizes.across = sizes_along(job, grid.second, box[index(grid.second)].size(), grid.across, grid.grain);
  return sizes;
}

Box block_box(const Job& job, const Grid& grid, Box box, std::uint64_t along, std::uint64_t across) {
  box[index(job.dim)] = {0, along};
  if (grid.second >= 0) box[index(grid.second)] = {0, across};
  return box;
}

}  // namespace

PieceSizes piece_sizes(std::uint64_t items, std::uint64_t count, std::uint64_t grain, std::uint64_t least) {
  const std::uint64_t smallest = (std::max(grain, least) + grain - 1) / grain * grain;
  const std::uint64_t pieces = std::clamp<std::uint64_t>(items / smallest, 1, std::max<std::uint64_t>(1, count));
  const std::uint64_t grains = items / grain, larger = grains % pieces;
  const std::uint64_t small = grains / pieces * grain, large = small + (larger > 0 ? grain : 0);
  const std::uint64_t others = larger > 0 ? pieces - larger : pieces - 1;
  PieceSizes sizes;
  const auto add = [&sizes](std::uint64_t size, std::uint64_t number) {
    if (number > 0) sizes.pieces[sizes.count++] = {size, number};
  };
  add(small, others);
  add(large, larger > 0 ? larger - 1 : 0);
  add(large + items % grain, 1);
  return sizes;
}

Box part_box(const Job& job) {
  Box box = whole_box(job.operation);
  box[index(job.dim)] = job.part.range;
  return box;
}

Machine alone(const Machine& machine, int unit, double link_share) {
  const Unit& one = machine.units[index(unit)];
  Machine sub;
  sub.devices = {machine.devices[index(one.device)]};
  sub.units = {one};
  sub.units[0].device = 0;
  sub.host_link_bytes_per_s = machine.host_link_bytes_per_s * link_share;
  sub.task_overhead = machine.task_overhead;
  return sub;
}

DeviceEstimate::DeviceEstimate(const Job& job, const Machine& device)
    : job_(job), device_(device.devices[0]), box_(part_box(job)), overhead_(device.task_overhead) {
  const double host = device.host_link_bytes_per_s;
  const auto rate = [host](double own) { return host > 0 ? std::min(own, host) : own; };
  in_rate_ = rate(device_.h2d_bytes_per_s);
  out_rate_ = rate(device_.d2h_bytes_per_s);
  all_in_ = in_seconds(box_);
  all_out_ = out_seconds(box_);
  both_ = host > 0 ? (all_in_ * in_rate_ + all_out_ * out_rate_) / host : 0;
}

Seconds DeviceEstimate::operator()(const Grid& grid) const {
  const Sizes sizes = sizes_of(job_, grid, box_);
  const auto box = [&](const Pieces& along, const Pieces& across) {
    return block_box(job_, grid, box_, along.size, across.size);
  };
  const auto seconds = [&](const Box& block) { return evaluate(job_.cost.model, job_.operation, block) + overhead_; };
  Seconds compute = 0;
  for (const Pieces& along : sizes.along)
    for (const Pieces& across : sizes.across)
      compute += seconds(box(along, across)) * static_cast<double>(along.count * across.count);
  const Box first = box(sizes.along.front(), sizes.across.front());
  const Box last = box(sizes.along.back(), sizes.across.back());
  const Seconds in = in_seconds(first), out = out_seconds(last);
  const Seconds all_in = all_in_ + cut_lines(grid, Access::write), all_out = all_out_ + cut_lines(grid, Access::read);
  return std::max({in + compute + out, all_in + seconds(last) + out, in + seconds(first) + all_out, both_});
}

// What cutting by the grid adds to the copies of the operands whose access is not `left_out`: those that are cut along
// their contiguous axis come in shorter lines.
Seconds DeviceEstimate::cut_lines(const Grid& grid, Access left_out) const {
  if (device_.line_costs == LineCosts{}) return 0;
  Seconds more = 0;
  for (const Operand& operand : job_.operation.operands) {
    if (operand.access == left_out || operand.axes.empty()) continue;
    const int dim = operand.axes.front().dim;
    const std::uint64_t count = dim == job_.dim ? grid.along : dim == grid.second ? grid.across : 1;
    if (count < 2) continue;
    Box narrow = box_;
    narrow[index(dim)].end = narrow[index(dim)].begin + std::max<std::uint64_t>(1, narrow[index(dim)].size() / count);
    more += scattered_seconds(device_, operand, narrow) * static_cast<double>(count) - scattered_seconds(device_, operand, box_);
  }
  return more;
}

Seconds DeviceEstimate::in_seconds(const Box& box) const { return copy_seconds(box, Access::write, in_rate_); }
Seconds DeviceEstimate::out_seconds(const Box& box) const { return copy_seconds(box, Access::read, out_rate_); }

Seconds DeviceEstimate::copy_seconds(const Box& box, Access left_out, double rate) const {
  Seconds sum = 0;
  for (const Operand& operand : job_.operation.operands)
    if (operand.access != left_out)
      sum += bytes(operand, box) / rate + scattered_seconds(device_, operand, box);
  return sum;
}

HostEstimate::HostEstimate(const Job& job, int second, Grain grain, unsigned workers, const Machine& machine)
    : job_(job),
      second_(second),
      workers_(std::max(1u, workers)),
      task_overhead_(machine.task_overhead),
      block_overhead_(machine.block_overhead),
      box_(part_box(job)),
      along_(side_of(job.dim, grain)) {
  if (second >= 0) across_ = side_of(second, grain);
}

HostEstimate::Side HostEstimate::side_of(int dim, Grain grain) const {
  const std::uint64_t items = box_[index(dim)].size();
  Side side;
  side.grain = grain_of(job_.operation, job_.cost, dim, grain);
  side.grains = items / side.grain;
  side.rest = items % side.grain;
  side.most = most_pieces(job_, dim, grain);
  return side;
}

Seconds HostEstimate::operator()(std::uint64_t along, std::uint64_t across) const {
  Box largest = box_;
  largest[index(job_.dim)] = {0, along_.largest(along)};
  if (second_ >= 0) largest[index(second_)] = {0, across_.largest(across)};
  const Seconds turn = evaluate(job_.cost.model, job_.operation, largest) + task_overhead_;
  const std::uint64_t blocks = along * across, turns = (blocks + workers_ - 1) / workers_;
  return turn * static_cast<double>(turns) + block_overhead_ * static_cast<double>(blocks);
}

Seconds estimate(const Job& job, const Grid& grid, const Machine& machine, double link_share) {
  const Unit& unit = machine.units[index(job.part.unit)];
  if (unit.device >= 0) return DeviceEstimate(job, alone(machine, job.part.unit, link_share))(grid);
  const HostEstimate host(job, grid.second, grid.grain, unit.workers, machine);
  return host(std::min(grid.along, host.most_along()), std::min(grid.across, host.most_across()));
}

}  // namespace poas::detail
