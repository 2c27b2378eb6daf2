// From an operation, a machine and its costs to the numbers of a division, and back to shares.
#include <algorithm>
#include <cmath>
#include <string>

#include "optimize/problem.hpp"
#include "optimize/solver/solver.hpp"
#include "poas/error.hpp"
#include "poas/plan.hpp"

namespace poas {
namespace {

using detail::DeviceTerms;
using detail::DivisionProblem;
using detail::Line;
using detail::UnitTerms;

// Part of a device's output that is still to come home when its last block ends.
constexpr double last_panel = 1.0 / 8;
// Below what the time models know; proving more costs a solver several times as long.
constexpr double enough_gap = 1e-4;

// Bytes of one operand for a block of w items of the dimension: fixed + slope w.
Line bytes_line(const Operand& operand, int dim) {
  double rest = operand.element_bytes;
  const Axis* followed = nullptr;
  for (const Axis& axis : operand.axes) {
    const bool follows = axis.dim == dim && (axis.follow == Follow::split || axis.follow == Follow::halo);
    if (follows && followed == nullptr)
      followed = &axis;
    else
      rest *= static_cast<double>(axis.extent);
  }
  if (followed == nullptr) return {rest, 0};
  if (followed->follow == Follow::split) return {0, rest};
  return {rest * (static_cast<double>(followed->before) + static_cast<double>(followed->after)), rest};
}

Line sum(const Line& a, const Line& b) { return {a.fixed + b.fixed, a.slope + b.slope}; }
Line scaled(const Line& line, double factor) { return {line.fixed * factor, line.slope * factor}; }

struct Traffic {
  Line in, out, memory;   // bytes; an operand that is read and written goes both ways
};

Traffic traffic_of(const Operation& operation, int dim) {
  Traffic traffic;
  for (const Operand& operand : operation.operands) {
    const Line line = bytes_line(operand, dim);
    traffic.memory = sum(traffic.memory, line);
    if (operand.access != Access::write) traffic.in = sum(traffic.in, line);
    if (operand.access != Access::read) traffic.out = sum(traffic.out, line);
  }
  return traffic;
}

double items_in_memory(const Line& memory, Bytes available, double items) {
  if (memory.fixed > available) return 0;
  return memory.slope > 0 ? std::min(items, (available - memory.fixed) / memory.slope) : items;
}

DeviceTerms device_terms(const Device& device, const Traffic& traffic, const Machine& machine, double items) {
  DeviceTerms terms;
  terms.in = scaled(traffic.in, 1 / device.h2d_bytes_per_s);
  terms.out = scaled(traffic.out, 1 / device.d2h_bytes_per_s);
  terms.lead = device.latency + terms.in.fixed;
  terms.tail = scaled(terms.out, last_panel);
  terms.tail.fixed += device.latency;
  if (machine.host_link_bytes_per_s > 0)
    terms.host = scaled(sum(traffic.in, traffic.out), 1 / machine.host_link_bytes_per_s);
  terms.most = items_in_memory(traffic.memory, device.memory_bytes, items);
  return terms;
}

Box box_of(const Operation& operation, int dim, std::uint64_t items) {
  Box box = whole_box(operation);
  box[static_cast<std::size_t>(dim)].end = items;
  return box;
}

// Unlike std::max, keeps what is not a number, so that it is refused later.
double at_least(double least, double value) { return value < least ? least : value; }

// Seconds per item without fixed costs and without rounding up to tiles: no block does better.
Seconds least_slope(TimeModel model, const Operation& operation, int dim) {
  model.fixed = 0;
  model.tile.fill(1);
  model.parallel = 1;
  return evaluate(model, operation, whole_box(operation)) /
         static_cast<double>(operation.dims[static_cast<std::size_t>(dim)].extent);
}

// Straight line through the times of half and of the whole dimension: what a share costs where shares are
// worth having, never less per item than any block.  The steps of the times are left to what follows.
Line time_line(const TimeModel& model, const Operation& operation, int dim) {
  const std::uint64_t whole = operation.dims[static_cast<std::size_t>(dim)].extent, half = whole / 2;
  const Seconds at_whole = evaluate(model, operation, box_of(operation, dim, whole));
  if (half == 0) return {0, at_whole / static_cast<double>(whole)};
  const Seconds at_half = evaluate(model, operation, box_of(operation, dim, half));
  const double slope = at_least(least_slope(model, operation, dim),
                                (at_whole - at_half) / static_cast<double>(whole - half));
  return {at_least(model.fixed, at_whole - slope * static_cast<double>(whole)), slope};
}

double least_items(const Implementation& one, int dim, double items) {
  const double multiple = std::max(1u, static_cast<unsigned>(one.multiple[static_cast<std::size_t>(dim)]));
  const double least = std::max<double>(1, static_cast<double>(one.least[static_cast<std::size_t>(dim)]));
  return std::min(items, std::ceil(least / multiple) * multiple);
}

UnitTerms unit_terms(const Operation& operation, const Machine& machine, std::size_t unit,
                     const UnitCost& cost, const Request& request, int dim) {
  const Line line = time_line(cost.model, operation, dim);
  const double workers = std::max(1u, machine.units[unit].workers);
  const double items = static_cast<double>(operation.dims[static_cast<std::size_t>(dim)].extent);
  UnitTerms terms;
  terms.device = machine.units[unit].device;
  terms.fixed = line.fixed + machine.task_overhead;
  terms.slope = line.slope / workers;
  terms.least_slope = least_slope(cost.model, operation, dim) / workers;
  terms.least = least_items(operation.implementations[static_cast<std::size_t>(cost.implementation)], dim, items);
  terms.forced = request.split == SplitMode::always;
  return terms;
}

Seconds busy_of(const State& state, std::size_t unit) {
  return unit < state.busy.size() ? state.busy[unit] : 0;
}

// Units of one device wait for the same worker: what all of them wait counts once.
void add_busy(DivisionProblem& problem, const std::vector<std::size_t>& units, const State& state) {
  std::vector<Seconds> common(problem.devices.size(), INFINITY);
  for (std::size_t i = 0; i < units.size(); ++i) {
    const Seconds busy = busy_of(state, units[i]);
    if (!std::isfinite(busy) || busy < 0)
      throw Error(Errc::invalid, "state: busy[" + std::to_string(units[i]) +
                                 "] is not a finite number >= 0: give the seconds until the unit is free");
    problem.units[i].fixed += busy;
    if (problem.units[i].device < 0) continue;
    Seconds& least = common[static_cast<std::size_t>(problem.units[i].device)];
    least = std::min(least, busy);
  }
  for (UnitTerms& unit : problem.units)
    if (unit.device >= 0) unit.fixed -= common[static_cast<std::size_t>(unit.device)];
  for (std::size_t d = 0; d < common.size(); ++d)
    if (std::isfinite(common[d])) problem.devices[d].lead += common[d];
}

std::vector<std::size_t> usable_units(const CostTable& costs, const Machine& machine) {
  if (costs.units.size() != machine.units.size())
    throw Error(Errc::invalid, "costs: there are " + std::to_string(costs.units.size()) + " entries for " +
                               std::to_string(machine.units.size()) + " units: predict() for this machine");
  std::vector<std::size_t> units;
  for (std::size_t u = 0; u < costs.units.size(); ++u)
    if (costs.units[u].usable()) units.push_back(u);
  return units;
}

DivisionProblem make_problem(const Operation& operation, const Machine& machine, const CostTable& costs,
                             const std::vector<std::size_t>& units, const State& state,
                             const Request& request, int dim) {
  DivisionProblem problem;
  problem.items = static_cast<double>(operation.dims[static_cast<std::size_t>(dim)].extent);
  const Traffic traffic = traffic_of(operation, dim);
  for (const Device& device : machine.devices)
    problem.devices.push_back(device_terms(device, traffic, machine, problem.items));
  for (const std::size_t u : units)
    problem.units.push_back(unit_terms(operation, machine, u, costs.units[u], request, dim));
  add_busy(problem, units, state);
  detail::relax_forcing(problem);
  return problem;
}

}  // namespace

Split optimize(const Operation& operation, const Machine& machine, const CostTable& costs,
               const State& state, const Request& request, int dim) {
  std::string why;
  if (!can_cut(operation, dim, &why))
    throw Error(Errc::invalid, "cannot divide " + operation.name + ": " + why + ": choose another dimension");
  Split split;
  split.dim = dim;
  split.share.assign(machine.units.size(), 0);
  split.status = SolveStatus::infeasible;
  const std::vector<std::size_t> units = usable_units(costs, machine);
  if (units.empty()) return split;
  const DivisionProblem problem = make_problem(operation, machine, costs, units, state, request, dim);
  detail::SolverLimits limits;
  limits.time_limit = request.solver_time_limit;
  limits.gap = enough_gap;
  const detail::Solution solution = detail::solve(request.solver, problem, limits);
  split.status = solution.status;
  split.solver = solution.solver;
  if (!solution.found()) return split;
  for (std::size_t i = 0; i < units.size(); ++i) split.share[units[i]] = solution.items[i];
  split.makespan = solution.makespan;
  split.bound = std::min(solution.makespan, detail::solve_enumerate(detail::relaxation(problem), limits).makespan);
  split.gap = split.makespan > 0 ? (split.makespan - split.bound) / split.makespan : 0;
  return split;
}

}  // namespace poas
