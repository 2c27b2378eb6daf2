#include "balance.hpp"

#include <algorithm>
#include <vector>

#include "adapt/adapt.hpp"

namespace poas::detail {
namespace {

constexpr double precise_enough = 1e-3;  // of the bisection over the time, relative

std::size_t index(int i) { return static_cast<std::size_t>(i); }

}  // namespace

Balance::Balance(const Problem& problem, int dim, GridMemory& memory)
    : problem_(problem),
      dim_(dim),
      memory_(memory),
      extent_(problem.operation.dims[index(dim)].extent),
      entries_(problem.machine.units.size()) {
  for (std::size_t u = 0; u < entries_.size(); ++u) {
    const UnitCost& cost = problem.costs.units[u];
    Entry& entry = entries_[u];
    entry.grain = grain_of(problem.operation, cost, dim, Grain::preferred);
    const std::uint64_t least = least_of(problem.operation, cost, dim);
    entry.smallest = std::min((least + entry.grain - 1) / entry.grain * entry.grain, extent_);
    entry.offset = problem.busy(u) + problem.machine.split_overhead;
  }
}

bool Balance::on_device(int unit) const { return problem_.machine.units[index(unit)].device >= 0; }

Seconds Balance::finish(std::size_t unit, std::uint64_t items) {
  Entry& entry = entries_[unit];
  const auto found = std::find_if(entry.known.begin(), entry.known.end(),
                                  [items](const auto& pair) { return pair.first == items; });
  if (found != entry.known.end()) return entry.offset + found->second;
  const Job job{problem_.operation, problem_.costs.units[unit], dim_, {static_cast<int>(unit), {0, items}}};
  entry.known.emplace_back(items, estimate_part(job, problem_.machine, entry.link_share, memory_));
  return entry.offset + entry.known.back().second;
}

void Balance::learn(const PartitionPlan& partition, const Candidate& simulated) {
  const std::vector<double> links = link_shares(problem_.machine, partition);
  for (std::size_t u = 0; u < entries_.size(); ++u) {
    if (!on_device(static_cast<int>(u)) || entries_[u].link_share == links[index(problem_.machine.units[u].device)]) continue;
    entries_[u].link_share = links[index(problem_.machine.units[u].device)];
    entries_[u].known.clear();
  }
  Seconds device_offset = 0;
  for (const Part& part : partition.parts) {
    Entry& entry = entries_[index(part.unit)];
    entry.offset = 0;
    entry.offset = simulated.finish[index(part.unit)] - finish(index(part.unit), part.range.size());
    if (on_device(part.unit)) device_offset = std::max(device_offset, entry.offset);
  }
  // A device that enters will find the links as full as the others do.
  for (std::size_t u = 0; u < entries_.size(); ++u)
    if (simulated.finish[u] == 0 && on_device(static_cast<int>(u)))
      entries_[u].offset = std::max(entries_[u].offset, device_offset);
}

// The largest part of each device moves, and units without a device; so does the first usable unit of a
// device that has no part.
void Balance::start(const PartitionPlan& from) {
  for (Entry& entry : entries_) {
    entry.moves = false;
    entry.items = 0;
  }
  for (const Part& part : from.parts) entries_[index(part.unit)].items = part.range.size();
  std::vector<int> mover(problem_.machine.devices.size(), -1);
  for (std::size_t u = 0; u < entries_.size(); ++u) {
    if (!problem_.costs.units[u].usable()) continue;
    const int device = problem_.machine.units[u].device;
    entries_[u].moves = device < 0;
    if (device < 0) continue;
    int& best = mover[index(device)];
    if (best < 0 || entries_[u].items > entries_[index(best)].items) best = static_cast<int>(u);
  }
  for (const int unit : mover)
    if (unit >= 0) entries_[index(unit)].moves = true;
}

std::uint64_t Balance::most_items(std::size_t unit, Seconds time) {
  const Entry& entry = entries_[unit];
  const std::uint64_t least = entry.smallest / entry.grain;
  std::uint64_t can = 0, cannot = extent_ / entry.grain + 1;  // in grains
  if (least >= cannot || finish(unit, entry.smallest) > time) return 0;
  for (can = std::max<std::uint64_t>(least, 1); cannot - can > 1;) {
    const std::uint64_t middle = can + (cannot - can) / 2;
    (finish(unit, middle * entry.grain) <= time ? can : cannot) = middle;
  }
  return can * entry.grain;
}

std::uint64_t Balance::sum() const {
  std::uint64_t sum = 0;
  for (const Entry& entry : entries_) sum += entry.items;
  return sum;
}

// The unit that would end first with so many items more, not a multiple of its grain.
std::size_t Balance::taker(std::uint64_t missing) {
  std::size_t best = entries_.size();
  for (std::size_t u = 0; u < entries_.size(); ++u) {
    const Entry& entry = entries_[u];
    if (!entry.moves || entry.items == 0 || missing >= entry.grain) continue;
    if (best == entries_.size() || finish(u, entry.items + missing) < finish(best, entries_[best].items + missing))
      best = u;
  }
  return best;
}

// Gives every unit that moves what it can finish; false if that is not enough, even if one of them takes what
// is less than its grain.
bool Balance::fill(Seconds time) {
  for (std::size_t u = 0; u < entries_.size(); ++u)
    if (entries_[u].moves) entries_[u].items = most_items(u, time);
  if (sum() >= extent_) return true;
  const std::uint64_t missing = extent_ - sum();
  const std::size_t unit = taker(missing);
  return unit < entries_.size() && finish(unit, entries_[unit].items + missing) <= time;
}

// Takes what is too much from the units that would end last, and from the one with the smallest grain where
// all others would give more than that.
void Balance::trim() {
  while (sum() > extent_) {
    const std::uint64_t excess = sum() - extent_;
    std::size_t last = entries_.size(), finest = entries_.size();
    for (std::size_t u = 0; u < entries_.size(); ++u) {
      const Entry& entry = entries_[u];
      if (!entry.moves || entry.items < entry.smallest + entry.grain) continue;
      if (finest == entries_.size() || entry.grain < entries_[finest].grain) finest = u;
      if (entry.grain > excess) continue;
      if (last == entries_.size() || finish(u, entry.items) > finish(last, entries_[last].items)) last = u;
    }
    if (last == entries_.size()) last = finest;
    if (last == entries_.size()) return;
    Entry& entry = entries_[last];
    const std::uint64_t step = std::max(entry.grain, excess / 4 / entry.grain * entry.grain);
    entry.items -= std::min(step, entry.items - entry.smallest);
  }
}

PartitionPlan Balance::divide(const PartitionPlan& from) {
  start(from);
  Seconds enough = 0;
  for (const Part& part : from.parts)
    enough = std::max(enough, finish(index(part.unit), part.range.size()));
  for (Seconds little = 0; enough - little > precise_enough * enough;) {
    const Seconds middle = little + (enough - little) / 2;
    (fill(middle) ? enough : little) = middle;
  }
  expected_ = enough;
  fill(enough);
  trim();
  if (sum() < extent_) {
    const std::uint64_t missing = extent_ - sum();
    const std::size_t unit = taker(missing);
    if (unit == entries_.size()) return {dim_, {}};
    entries_[unit].items += missing;
  }
  std::vector<std::uint64_t> items;
  for (const Entry& entry : entries_) items.push_back(entry.items);
  if (sum() != extent_) return {dim_, {}};
  return parts_of(problem_.machine, dim_, items);
}

}  // namespace poas::detail
