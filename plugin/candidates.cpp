#include "candidates.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "adapt/adapt.hpp"
#include "balance.hpp"
#include "schedule/copies.hpp"

namespace poas::detail {
namespace {

constexpr int patience = 2;  // rounds of simulating and balancing without a gain
// Or until both agree within this.
constexpr double close_enough = 1.005;
constexpr std::size_t exclusions = 3;  // of units that mislead the solver
constexpr std::size_t tries = 2;  // devices that are simulated alone

std::size_t index(int i) { return static_cast<std::size_t>(i); }

struct Transfers {
  Seconds in = 0, out = 0, latency = 0;
};

// Of the whole operation to a device and back, with the link for itself.
Transfers transfers(const Problem& problem, const Device& device) {
  const double host = problem.machine.host_link_bytes_per_s;
  const auto rate = [host](double own) { return host > 0 ? std::min(own, host) : own; };
  const Box box = whole_box(problem.operation);
  Transfers sum;
  for (const Operand& operand : problem.operation.operands) {
    const Bytes size = bytes(operand, box);
    if (operand.access != Access::write) sum.in += size / rate(device.h2d_bytes_per_s);
    if (operand.access != Access::read) sum.out += size / rate(device.d2h_bytes_per_s);
    sum.latency += device.latency * (operand.access == Access::read_write ? 2 : 1);
  }
  return sum;
}

bool fits_whole(const Problem& problem, const Device& device) {
  return bytes(problem.operation, whole_box(problem.operation)) <= device.memory_bytes;
}

Seconds whole_seconds(const Problem& problem, int unit) {
  return evaluate(problem.costs.units[index(unit)].model, problem.operation, whole_box(problem.operation));
}

std::vector<int> usable_units(const Problem& problem) {
  std::vector<int> units;
  for (std::size_t u = 0; u < problem.costs.units.size(); ++u)
    if (problem.costs.units[u].usable()) units.push_back(static_cast<int>(u));
  return units;
}

// Operands whose parts are many short pieces of memory when the dimension is cut: it is not the outermost
// axis there.
long scattered(const Operation& operation, int dim) {
  return std::count_if(operation.operands.begin(), operation.operands.end(), [&](const Operand& operand) {
    const auto inner = std::max<std::size_t>(operand.axes.size(), 1) - 1;
    return std::any_of(operand.axes.begin(), operand.axes.begin() + static_cast<std::ptrdiff_t>(inner),
                       [&](const Axis& axis) { return axis.follow != Follow::replicated && axis.dim == dim; });
  });
}

// Those whose parts are contiguous come first.
std::vector<int> cuttable_dims(const Operation& operation) {
  std::vector<int> dims;
  for (int d = 0; d < static_cast<int>(operation.dims.size()); ++d)
    if (can_cut(operation, d)) dims.push_back(d);
  std::stable_sort(dims.begin(), dims.end(),
                   [&](int a, int b) { return scattered(operation, a) < scattered(operation, b); });
  return dims;
}

// Without line_costs the copy model does not see that short lines are copied slowly (panels of 256 rows: at 40 % of
// the link's rate on an H200), so a dimension that comes later must win clearly.
bool clearly_better(const Candidate& one, const Candidate& other) {
  constexpr double clear = 0.98;
  return one.valid && (!other.valid || one.makespan < clear * other.makespan);
}

bool memory_suffices(const Problem& problem, const TaskList& tasks) {
  const Machine& machine = problem.machine;
  const std::vector<Bytes> sets =
      working_sets(copies_of(problem.operation, machine, tasks), machine, tasks);
  for (std::size_t d = 0; d < sets.size(); ++d)
    if (sets[d] > machine.devices[d].memory_bytes) return false;
  return true;
}

// Schedules and simulates a partition.
Candidate run(const Problem& problem, const PartitionPlan& partition, GridMemory& memory) {
  Candidate candidate;
  candidate.split = true;
  candidate.dim = partition.dim;
  candidate.parts = partition.parts;
  if (partition.parts.size() == 1) candidate.unit = partition.parts.front().unit;
  candidate.tasks = schedule(problem.operation, problem.machine, problem.costs, partition, memory);
  candidate.valid = !candidate.tasks.blocks.empty() && memory_suffices(problem, candidate.tasks);
  if (!candidate.valid) return candidate;
  Timeline line = simulate(problem.operation, problem.machine, problem.costs, candidate.tasks);
  candidate.finish = std::move(line.unit_finish);
  candidate.compute = std::move(line.unit_compute);
  const Seconds submission = problem.machine.split_overhead +
                             problem.machine.block_overhead * static_cast<double>(candidate.tasks.blocks.size());
  for (const Part& part : partition.parts) {
    Seconds& finish = candidate.finish[index(part.unit)];
    finish += problem.busy(index(part.unit)) + submission;
    candidate.makespan = std::max(candidate.makespan, finish);
  }
  return candidate;
}

// Blocks on one unit overlap copies and computation, and use all its workers; nothing is faster than this.
Seconds split_estimate(const Problem& problem, int unit) {
  const Unit& one = problem.machine.units[index(unit)];
  const Seconds compute = whole_seconds(problem, unit);
  const Seconds start =
      problem.busy(index(unit)) + problem.machine.split_overhead + problem.machine.task_overhead;
  if (one.device < 0) return start + compute / one.workers;
  const Device& device = problem.machine.devices[index(one.device)];
  const Transfers copies = transfers(problem, device);
  const Seconds latencies = (copies.in > 0 ? device.latency : 0) + (copies.out > 0 ? device.latency : 0);
  return start + latencies + std::max({compute, copies.in, copies.out});
}

bool better(const Candidate& one, const Candidate& other) {
  return one.valid && (!other.valid || one.makespan < other.makespan);
}

std::size_t units_in(const PartitionPlan& partition) { return partition.parts.size(); }

// Every usable unit gets a block, as far as the extent goes; alignment gives way before a unit does.
PartitionPlan forced_partition(const Problem& problem, const Split& split) {
  const std::vector<int> usable = usable_units(problem);
  PartitionPlan best;
  for (const Grain grain : {Grain::preferred, Grain::least}) {
    Split raised = split;
    raised.share.resize(problem.machine.units.size(), 0);
    for (const int u : usable) {
      const UnitCost& cost = problem.costs.units[index(u)];
      const std::uint64_t unit = grain_of(problem.operation, cost, split.dim, grain);
      const std::uint64_t smallest =
          (least_of(problem.operation, cost, split.dim) + unit - 1) / unit * unit;
      raised.share[index(u)] = std::max(raised.share[index(u)], static_cast<double>(smallest));
    }
    PartitionPlan partition = adapt(problem.operation, problem.machine, problem.costs, raised, grain);
    if (best.parts.empty() || units_in(partition) > units_in(best)) best = std::move(partition);
    if (units_in(best) == usable.size()) break;
  }
  return best;
}

// Equal shares, for the case that the solver has none.
Split equal_split(const Problem& problem, int dim) {
  Split split;
  split.dim = dim;
  split.share.assign(problem.machine.units.size(), 0);
  const std::vector<int> usable = usable_units(problem);
  for (const int u : usable)
    split.share[index(u)] =
        static_cast<double>(problem.operation.dims[index(dim)].extent) / static_cast<double>(usable.size());
  return split;
}

bool has_shares(const Split& split) {
  return std::accumulate(split.share.begin(), split.share.end(), 0.0) > 0;
}

void note(Relaxation& relaxation, const Split& split) {
  const Relaxation one{split.status, split.solver, split.bound};
  if (one.solved() && (!relaxation.solved() || one.bound < relaxation.bound)) relaxation = one;
  if (!relaxation.solved()) relaxation = one;
}

// Rounds of simulating and balancing, until both agree or nothing is gained: the balance sees the steps of the
// times and learns what the simulation says.
Candidate settle(const Problem& problem, int dim, PartitionPlan partition, GridMemory& memory) {
  Balance balance(problem, dim, memory);
  Candidate best;
  std::vector<PartitionPlan> seen;
  int without_gain = 0;
  while (without_gain < patience && !partition.parts.empty()) {
    Candidate candidate = run(problem, partition, memory);
    if (!candidate.valid) break;
    const bool agreed = !seen.empty() && candidate.makespan <= close_enough * balance.expected();
    balance.learn(partition, candidate);
    seen.push_back(partition);
    ++without_gain;
    if (units_in(partition) > 1 && better(candidate, best)) {
      best = std::move(candidate);
      without_gain = 0;
    }
    if (agreed) break;
    partition = balance.divide(partition);
    const bool known = std::any_of(seen.begin(), seen.end(),
                                   [&](const PartitionPlan& one) { return one.parts == partition.parts; });
    if (known) break;
  }
  return best;
}

// The units of a candidate, those with least to do first; of more than three not the one with most.
std::vector<int> minor_units(const Candidate& candidate) {
  std::vector<int> units;
  for (std::size_t u = 0; u < candidate.finish.size(); ++u)
    if (candidate.finish[u] > 0) units.push_back(static_cast<int>(u));
  std::stable_sort(units.begin(), units.end(),
                   [&](int a, int b) { return candidate.compute[index(a)] < candidate.compute[index(b)]; });
  if (units.size() > 3) units.pop_back();
  return units;
}

Candidate co_execution_along(const Problem& problem, int dim, GridMemory& memory, Relaxation& relaxation) {
  const bool always = problem.request.split == SplitMode::always;
  Split split = optimize(problem.operation, problem.machine, problem.costs, problem.state, problem.request, dim);
  split.dim = dim;
  note(relaxation, split);
  if (!has_shares(split)) {
    if (!always) return {};
    split = equal_split(problem, dim);
  }
  if (always) return run(problem, forced_partition(problem, split), memory);
  return settle(problem, dim, adapt(problem.operation, problem.machine, problem.costs, split), memory);
}

Split shares_of(const Problem& problem, const Candidate& candidate) {
  Split split;
  split.dim = candidate.dim;
  split.share.assign(problem.machine.units.size(), 0);
  for (const Part& part : candidate.parts) split.share[index(part.unit)] = static_cast<double>(part.range.size());
  return split;
}

// The same without one unit or another, which can look good to the solver and spoil the rest.
void try_without_one(const Problem& problem, GridMemory& memory, Candidate& best) {
  std::vector<int> minor = minor_units(best);
  if (minor.size() > exclusions) minor.resize(exclusions);
  const Split shares = shares_of(problem, best);
  for (const int unit : minor) {
    CostTable costs = problem.costs;
    costs.units[index(unit)].implementation = -1;
    const Problem fewer{problem.operation, problem.machine, costs, problem.state, problem.request};
    Split rest = shares;
    rest.share[index(unit)] = 0;
    Candidate candidate = settle(fewer, rest.dim, adapt(problem.operation, problem.machine, costs, rest), memory);
    if (better(candidate, best)) best = std::move(candidate);
  }
}

std::size_t units_of(const Candidate& candidate) {
  return static_cast<std::size_t>(std::count_if(candidate.finish.begin(), candidate.finish.end(),
                                                [](Seconds finish) { return finish > 0; }));
}

}  // namespace

Candidate whole_on(const Problem& problem, int unit) {
  Candidate candidate;
  candidate.unit = unit;
  const Unit& one = problem.machine.units[index(unit)];
  const Device* device = one.device < 0 ? nullptr : &problem.machine.devices[index(one.device)];
  candidate.valid =
      problem.costs.units[index(unit)].usable() && (device == nullptr || fits_whole(problem, *device));
  if (!candidate.valid) return candidate;
  candidate.compute.assign(problem.machine.units.size(), 0);
  candidate.finish.assign(problem.machine.units.size(), 0);
  candidate.compute[index(unit)] = whole_seconds(problem, unit);
  candidate.makespan =
      problem.busy(index(unit)) + problem.machine.task_overhead + candidate.compute[index(unit)];
  if (device != nullptr) {
    const Transfers copies = transfers(problem, *device);
    candidate.makespan += copies.in + copies.out + copies.latency;
  }
  candidate.finish[index(unit)] = candidate.makespan;
  return candidate;
}

Candidate best_whole(const Problem& problem) {
  Candidate best;
  for (const int unit : usable_units(problem)) {
    Candidate candidate = whole_on(problem, unit);
    if (better(candidate, best)) best = std::move(candidate);
  }
  return best;
}

Candidate best_single_split(const Problem& problem, const Candidate& whole, GridMemory& memory) {
  std::vector<std::pair<Seconds, int>> order;
  for (const int unit : usable_units(problem)) order.emplace_back(split_estimate(problem, unit), unit);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Candidate best;
  std::size_t tried = 0;
  for (const auto& [estimate, unit] : order) {
    if ((whole.valid && estimate >= whole.makespan) || (best.valid && estimate >= best.makespan)) break;
    const bool host = problem.machine.units[index(unit)].device < 0;
    if (!host && tried == tries) continue;
    Candidate own;
    for (const int dim : cuttable_dims(problem.operation)) {
      const PartitionPlan partition{dim, {{unit, {0, problem.operation.dims[index(dim)].extent}}}};
      Candidate candidate = run(problem, partition, memory);
      if (clearly_better(candidate, own)) own = std::move(candidate);
    }
    if (own.valid && !host) ++tried;
    if (better(own, best)) best = std::move(own);
  }
  return best;
}

Candidate best_co_execution(const Problem& problem, GridMemory& memory, Relaxation& relaxation) {
  const bool always = problem.request.split == SplitMode::always;
  Candidate best;
  if (usable_units(problem).size() < 2) return best;
  for (const int dim : cuttable_dims(problem.operation)) {
    Candidate candidate = co_execution_along(problem, dim, memory, relaxation);
    const bool more = always && candidate.valid && units_of(candidate) > units_of(best);
    const bool fewer = always && units_of(candidate) < units_of(best);
    if (more || (!fewer && clearly_better(candidate, best))) best = std::move(candidate);
  }
  if (!always) try_without_one(problem, memory, best);
  return best;
}

}  // namespace poas::detail
