#include "schedule/copies.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace poas::detail {
namespace {

std::vector<int> followed_dims(const Operand& operand) {
  std::vector<int> dims;
  for (const Axis& axis : operand.axes)
    if (axis.follow == Follow::split || axis.follow == Follow::halo) dims.push_back(axis.dim);
  std::sort(dims.begin(), dims.end());
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  return dims;
}

// Finds operand parts by device, operand and the ranges of the dimensions that the operand follows.
// Open addressing over indices: no allocation per part.
class PartIndex {
 public:
  PartIndex(const Operation& operation, const TaskList& tasks) : tasks_(tasks) {
    for (const Operand& operand : operation.operands) dims_.push_back(followed_dims(operand));
    const std::size_t most = tasks.blocks.size() * operation.operands.size();
    slots_.assign(std::bit_ceil(2 * most + 1), empty);
    keys_.reserve(most);
  }

  // The index of the part, and whether it is new.
  std::pair<int, bool> find_or_add(int device, std::size_t operand, std::size_t block) {
    std::size_t slot = hash(device, operand, block) & (slots_.size() - 1);
    while (slots_[slot] != empty) {
      if (same(keys_[static_cast<std::size_t>(slots_[slot])], device, operand, block))
        return {slots_[slot], false};
      slot = (slot + 1) & (slots_.size() - 1);
    }
    slots_[slot] = static_cast<int>(keys_.size());
    keys_.push_back({device, operand, block});
    return {slots_[slot], true};
  }

 private:
  struct Key {
    int device;
    std::size_t operand, block;
  };
  static constexpr int empty = -1;

  static void mix(std::uint64_t& state, std::uint64_t value) {
    state = (state ^ value) * 0x9e3779b97f4a7c15u;
    state ^= state >> 29;
  }

  std::uint64_t hash(int device, std::size_t operand, std::size_t block) const {
    std::uint64_t state = operand + 1;
    mix(state, static_cast<std::uint64_t>(device));
    for (const int dim : dims_[operand]) {
      const Range& range = tasks_.blocks[block].box[static_cast<std::size_t>(dim)];
      mix(state, range.begin);
      mix(state, range.end);
    }
    return state;
  }

  bool same(const Key& key, int device, std::size_t operand, std::size_t block) const {
    if (key.device != device || key.operand != operand) return false;
    const Box& one = tasks_.blocks[key.block].box;
    const Box& other = tasks_.blocks[block].box;
    return std::all_of(dims_[operand].begin(), dims_[operand].end(), [&](int dim) {
      return one[static_cast<std::size_t>(dim)] == other[static_cast<std::size_t>(dim)];
    });
  }

  const TaskList& tasks_;
  std::vector<std::vector<int>> dims_;
  std::vector<int> slots_;
  std::vector<Key> keys_;
};

// One pass over the blocks in order.
class CopyCounter {
 public:
  CopyCounter(const Operation& operation, const Machine& machine, const TaskList& tasks)
      : operation_(operation), machine_(machine), tasks_(tasks), index_(operation, tasks), seen_(machine.devices.size(), 0) {
    table_.blocks.resize(tasks.blocks.size());
  }

  void add(std::size_t block, int device) {
    const int position = seen_[static_cast<std::size_t>(device)]++;
    for (std::size_t o = 0; o < operation_.operands.size(); ++o) add_operand(block, device, position, o);
  }

  CopyTable take() { return std::move(table_); }

 private:
  void add_operand(std::size_t block, int device, int position, std::size_t o) {
    const Operand& operand = operation_.operands[o];
    const auto [part, is_new] = index_.find_or_add(device, o, block);
    if (is_new) {
      table_.parts.push_back({device, position, position, bytes(operand, tasks_.blocks[block].box)});
      brought_by_.push_back(static_cast<int>(block));
    }
    ResidentPart& resident = table_.parts[static_cast<std::size_t>(part)];
    resident.last = position;
    BlockCopies& copies = table_.blocks[block];
    if (operand.access != Access::write) {
      copies.needs = std::max(copies.needs, brought_by_[static_cast<std::size_t>(part)]);
      copies.parts_in += is_new ? 1 : 0;
      copies.in += is_new ? resident.bytes : 0;
      copies.scattered_in += is_new ? scattered(device, operand, block) : 0;
    }
    if (operand.access != Access::read) {
      ++copies.parts_out;
      copies.out += resident.bytes;
      copies.scattered_out += scattered(device, operand, block);
    }
  }

  Seconds scattered(int device, const Operand& operand, std::size_t block) const {
    return scattered_seconds(machine_.devices[static_cast<std::size_t>(device)], operand, tasks_.blocks[block].box);
  }

  const Operation& operation_;
  const Machine& machine_;
  const TaskList& tasks_;
  PartIndex index_;
  std::vector<int> seen_;
  std::vector<int> brought_by_;
  CopyTable table_;
};

}  // namespace

Seconds scattered_seconds(const Device& device, const Operand& operand, const Box& box) {
  constexpr double first_length = 512, first_pitch = 4096;
  if (device.line_costs == LineCosts{}) return 0;
  const Lines lines = lines_of(operand, box);
  if (lines.length == 0) return 0;
  // Twice the longest line costs nothing; before the first entries it is as there.
  const double length = std::clamp(std::log2(lines.length / first_length), 0.0, double(line_lengths));
  const double pitch = std::clamp(std::log2(lines.pitch / first_pitch), 0.0, double(line_pitches - 1));
  const auto at = [&](std::size_t i) {
    if (i >= line_lengths) return 0.0;
    const auto& costs = device.line_costs[i];
    const auto j = std::min(static_cast<std::size_t>(pitch), line_pitches - 2);
    return std::lerp(costs[j], costs[j + 1], pitch - static_cast<double>(j));
  };
  const auto i = static_cast<std::size_t>(length);
  return bytes(operand, box) * std::lerp(at(i), at(i + 1), length - static_cast<double>(i));
}

CopyTable copies_of(const Operation& operation, const Machine& machine, const TaskList& tasks) {
  CopyCounter counter(operation, machine, tasks);
  for (std::size_t b = 0; b < tasks.blocks.size(); ++b) {
    const int device = machine.units[static_cast<std::size_t>(tasks.blocks[b].unit)].device;
    if (device >= 0) counter.add(b, device);
  }
  return counter.take();
}

std::vector<Bytes> working_sets(const CopyTable& copies, const Machine& machine, const TaskList& tasks) {
  // change[d][i]: bytes that enter (or leave, if negative) with the i-th block of device d.
  std::vector<std::vector<Bytes>> change(machine.devices.size());
  for (const Block& block : tasks.blocks) {
    const int device = machine.units[static_cast<std::size_t>(block.unit)].device;
    if (device >= 0) change[static_cast<std::size_t>(device)].push_back(0);
  }
  for (const ResidentPart& part : copies.parts) {
    std::vector<Bytes>& steps = change[static_cast<std::size_t>(part.device)];
    const int arrives = std::max(part.first - 1, 0), gone = part.last + 2;
    steps[static_cast<std::size_t>(arrives)] += part.bytes;
    if (gone < static_cast<int>(steps.size())) steps[static_cast<std::size_t>(gone)] -= part.bytes;
  }
  std::vector<Bytes> most(machine.devices.size(), 0);
  for (std::size_t d = 0; d < change.size(); ++d) {
    Bytes now = 0;
    for (const Bytes step : change[d]) most[d] = std::max(most[d], now += step);
  }
  return most;
}

}  // namespace poas::detail
