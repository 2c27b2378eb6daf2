// Real shares become aligned integer ranges that tile the cut dimension.
#include "adapt/adapt.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace poas {
namespace detail {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

std::uint64_t round_down(std::uint64_t value, std::uint64_t grain) { return value - value % grain; }
std::uint64_t round_up(std::uint64_t value, std::uint64_t grain) {
  return round_down(value + grain - 1, grain);
}

// The integer shares while they are moved until they tile the dimension.
class Tiling {
 public:
  Tiling(const Operation& operation, const Machine& machine, const CostTable& costs, const Split& split,
         Grain grain)
      : operation_(operation),
        machine_(machine),
        costs_(costs),
        dim_(split.dim),
        extent_(operation.dims[index(split.dim)].extent),
        items_(machine.units.size(), 0),
        seconds_(machine.units.size(), 0),
        entries_(machine.units.size()),
        wanted_(split.share) {
    wanted_.resize(machine.units.size(), 0);
    for (std::size_t u = 0; u < items_.size(); ++u) {
      if (!costs.units[u].usable() || !(wanted_[u] > 0)) continue;
      Entry& entry = entries_[u];
      entry.grain = grain_of(operation, costs.units[u], dim_, grain);
      entry.least = least_of(operation, costs.units[u], dim_);
      entry.smallest = std::min(round_up(entry.least, entry.grain), extent_);
      set(u, rounded(u));
    }
  }

  std::vector<std::uint64_t> run() {
    while (total() > extent_) take();
    while (total() < extent_)
      if (!give()) break;
    return items_;
  }

 private:
  struct Entry {
    std::uint64_t grain = 0;     // 0: not in play
    std::uint64_t least = 0;     // fewest items that it can run
    std::uint64_t smallest = 0;  // fewest aligned items
  };

  std::uint64_t total() const { return std::accumulate(items_.begin(), items_.end(), std::uint64_t{0}); }

  // Down to the grain; a share below the smallest block but over half of it keeps that block.
  std::uint64_t rounded(std::size_t u) const {
    const Entry& entry = entries_[u];
    const double share = std::min(wanted_[u], static_cast<double>(extent_));
    // A share that is a multiple up to rounding errors is that multiple.
    const std::uint64_t whole =
        round_down(static_cast<std::uint64_t>(share * (1 + 1e-9) + 1e-9), entry.grain);
    if (whole >= entry.smallest) return std::min(whole, extent_);
    return share >= 0.5 * static_cast<double>(entry.smallest) ? entry.smallest : 0;
  }

  // How long the unit needs for its items alone, copies and computation overlapped.
  Seconds predict(std::size_t u, std::uint64_t items) const {
    if (items == 0) return 0;
    Box box = whole_box(operation_);
    box[index(dim_)] = {0, items};
    const Seconds compute = evaluate(costs_.units[u].model, operation_, box);
    const Unit& unit = machine_.units[u];
    if (unit.device < 0) return compute / unit.workers;
    const Device& device = machine_.devices[index(unit.device)];
    Bytes in = 0;
    for (const Operand& operand : operation_.operands)
      if (operand.access != Access::write) in += bytes(operand, box);
    return std::max(compute, in / device.h2d_bytes_per_s);
  }

  // Units of one device wait for each other.
  Seconds finish(std::size_t u, Seconds own) const {
    Seconds sum = own;
    if (machine_.units[u].device < 0) return sum;
    for (std::size_t other = 0; other < items_.size(); ++other)
      if (other != u && machine_.units[other].device == machine_.units[u].device) sum += seconds_[other];
    return sum;
  }

  void set(std::size_t u, std::uint64_t items) {
    items_[u] = items;
    seconds_[u] = predict(u, items);
  }

  // Too much was promised: the unit that ends last gives one grain back.  If none can, the smallest is
  // dropped.
  void take() {
    const std::uint64_t excess = total() - extent_;
    std::size_t last = items_.size(), least = items_.size();
    for (std::size_t u = 0; u < items_.size(); ++u) {
      if (items_[u] == 0) continue;
      const bool later = last == items_.size() || finish(u, seconds_[u]) > finish(last, seconds_[last]);
      if (later && items_[u] > entries_[u].smallest) last = u;
      if (least == items_.size() || wanted_[u] < wanted_[least]) least = u;
    }
    if (last == items_.size()) return set(least, 0);
    const std::uint64_t step = step_of(last, excess);
    set(last, std::max(items_[last] - std::min(items_[last], step), entries_[last].smallest));
  }

  // Large corrections go in steps of an eighth, so that the number of steps stays small.
  std::uint64_t step_of(std::size_t u, std::uint64_t amount) const {
    return std::max(entries_[u].grain, round_down(amount / 8, entries_[u].grain));
  }

  // One more step for the unit that would end first with it; what is less than every step goes to the
  // unit with most slack.  False if no unit can take it.
  bool give() {
    const std::uint64_t missing = extent_ - total();
    std::size_t best = items_.size();
    std::uint64_t best_step = 0;
    for (const bool aligned : {true, false}) {
      Seconds best_finish = 0;
      for (std::size_t u = 0; u < items_.size(); ++u) {
        const std::uint64_t step = aligned ? aligned_step(u, missing) : odd_step(u, missing);
        if (step == 0) continue;
        const Seconds ends = finish(u, predict(u, items_[u] + step));
        if (best < items_.size() && ends >= best_finish) continue;
        best = u;
        best_step = step;
        best_finish = ends;
      }
      if (best < items_.size()) break;
    }
    if (best == items_.size()) return false;
    set(best, items_[best] + best_step);
    return true;
  }

  std::uint64_t aligned_step(std::size_t u, std::uint64_t missing) const {
    const Entry& entry = entries_[u];
    if (entry.grain == 0) return 0;
    const std::uint64_t step = items_[u] == 0 ? entry.smallest : step_of(u, missing);
    return step <= missing ? step : 0;
  }

  std::uint64_t odd_step(std::size_t u, std::uint64_t missing) const {
    const Entry& entry = entries_[u];
    return entry.grain > 0 && (items_[u] > 0 || missing >= entry.least) ? missing : 0;
  }

  const Operation& operation_;
  const Machine& machine_;
  const CostTable& costs_;
  int dim_;
  std::uint64_t extent_;
  std::vector<std::uint64_t> items_;
  std::vector<Seconds> seconds_;  // predicted for items_
  std::vector<Entry> entries_;
  std::vector<double> wanted_;
};

// Devices first, those with the largest parts (the fastest) before the others; host units last.
std::vector<std::size_t> order_of_parts(const Machine& machine, const std::vector<std::uint64_t>& items) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool host_a = machine.units[a].device < 0, host_b = machine.units[b].device < 0;
    return host_a != host_b ? host_b : items[a] > items[b];
  });
  return order;
}

}  // namespace

std::uint64_t grain_of(const Operation& operation, const UnitCost& cost, int dim, Grain grain) {
  const std::uint64_t extent = operation.dims[index(dim)].extent;
  if (grain == Grain::least || !cost.usable()) return 1;
  const Implementation& implementation = operation.implementations[index(cost.implementation)];
  const std::uint64_t multiple = std::max<std::uint64_t>(1, implementation.multiple[index(dim)]);
  const std::uint64_t tile = std::max<std::uint64_t>(1, cost.model.tile[index(dim)]);
  const std::uint64_t both = std::lcm(multiple, tile);
  return std::min(both <= extent ? both : std::max(multiple, tile), extent);
}

std::uint64_t least_of(const Operation& operation, const UnitCost& cost, int dim) {
  const std::uint64_t extent = operation.dims[index(dim)].extent;
  if (!cost.usable()) return extent;
  const Implementation& implementation = operation.implementations[index(cost.implementation)];
  return std::clamp<std::uint64_t>(implementation.least[index(dim)], 1, extent);
}

PartitionPlan parts_of(const Machine& machine, int dim, const std::vector<std::uint64_t>& items) {
  PartitionPlan plan{dim, {}};
  std::uint64_t begin = 0;
  for (const std::size_t u : order_of_parts(machine, items)) {
    if (items[u] == 0) continue;
    plan.parts.push_back({static_cast<int>(u), {begin, begin + items[u]}});
    begin += items[u];
  }
  return plan;
}

PartitionPlan adapt(const Operation& operation, const Machine& machine, const CostTable& costs,
                    const Split& split, Grain grain) {
  const std::vector<std::uint64_t> items = Tiling(operation, machine, costs, split, grain).run();
  const bool tiled = std::accumulate(items.begin(), items.end(), std::uint64_t{0}) == operation.dims[index(split.dim)].extent;
  return tiled ? parts_of(machine, split.dim, items) : PartitionPlan{split.dim, {}};
}

}  // namespace detail

PartitionPlan adapt(const Operation& operation, const Machine& machine, const CostTable& costs,
                    const Split& split) {
  return detail::adapt(operation, machine, costs, split, detail::Grain::preferred);
}

}  // namespace poas
