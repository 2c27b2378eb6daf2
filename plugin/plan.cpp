// The composition of the four stages: candidates are predicted, and one of them becomes the plan.
#include <algorithm>
#include <cstdio>
#include <numeric>

#include "candidates.hpp"
#include "poas/error.hpp"
#include "poas/plan.hpp"
#include "words.hpp"

namespace poas {
namespace {

using detail::Candidate;
using detail::Problem;
using detail::Relaxation;
using detail::time_in_words;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

std::string percent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * ratio);
  return text;
}

std::string operation_in_words(const Operation& operation) {
  std::string words = operation.name;
  if (!operation.variant.empty()) words += " " + operation.variant;
  words += std::string(" ") + to_string(operation.type);
  for (const Dim& dim : operation.dims) words += " " + dim.name + "=" + std::to_string(dim.extent);
  return words;
}

std::string name_of(const Problem& problem, int unit) { return problem.machine.units[index(unit)].name; }

// The candidates side by side, and the choice among them.
struct Choice {
  Candidate whole, single, several;
  Relaxation relaxation;
  const Candidate* best = nullptr;
  std::string reason;
};

std::string why_no_split(const Operation& operation) {
  std::string reasons;
  for (int d = 0; d < static_cast<int>(operation.dims.size()); ++d) {
    std::string why;
    if (!can_cut(operation, d, &why)) reasons += (reasons.empty() ? "" : "; ") + why;
  }
  return reasons;
}

bool cuttable(const Operation& operation) {
  for (int d = 0; d < static_cast<int>(operation.dims.size()); ++d)
    if (can_cut(operation, d)) return true;
  return false;
}

std::string describe(const Problem& problem, const Candidate& one) {
  if (!one.split)
    return "one worker of " + name_of(problem, one.unit) + " does it in " + time_in_words(one.makespan);
  return name_of(problem, one.unit) + " alone does it in blocks in " + time_in_words(one.makespan);
}

void compare_in_words(const Problem& problem, Choice& choice, const Candidate& single) {
  const Candidate& several = choice.several;
  choice.reason = describe(problem, single);
  if (!several.valid) {
    choice.reason += "; no split over several units is worth it";
    return;
  }
  const double gain = 1 - several.makespan / single.makespan;
  const std::string needed = percent(problem.request.least_gain) + " that co-execution must gain";
  if (choice.best == &several)
    choice.reason = "co-execution saves " + percent(gain) + " of the " + time_in_words(single.makespan) +
                    " that " + name_of(problem, single.unit) + " alone needs";
  else if (gain > problem.request.least_gain)
    choice.reason += "; the other units would save " + percent(gain) + ", less than the models may err";
  else if (gain > 0)
    choice.reason += "; the other units would save " + percent(gain) + ", less than the " + needed;
  else
    choice.reason += "; with other units it would take " + time_in_words(several.makespan);
}

// The end of a candidate if every unit is as much slower as its model errs on average.
Seconds careful_makespan(const Problem& problem, const Candidate& candidate) {
  Seconds end = 0;
  for (std::size_t u = 0; u < candidate.finish.size(); ++u)
    end = std::max(end, candidate.finish[u] * (1 + problem.costs.units[u].model.relative_error));
  return end;
}

// Co-execution has a price that the model does not see, so it must win clearly, also if the models err.
bool pays(const Problem& problem, const Candidate& several, const Candidate& single) {
  const double gain = 1 + problem.request.least_gain;
  return several.valid && several.makespan * gain <= single.makespan &&
         careful_makespan(problem, several) * gain <= careful_makespan(problem, single);
}

void choose(const Problem& problem, Choice& choice) {
  const bool single_wins =
      choice.single.valid && (!choice.whole.valid || choice.single.makespan < choice.whole.makespan);
  const Candidate& single = single_wins ? choice.single : choice.whole;
  const Candidate& several = choice.several;
  if (!single.valid && !several.valid) return;
  choice.best = !single.valid || pays(problem, several, single) ? &several : &single;
  if (single.valid) return compare_in_words(problem, choice, single);
  choice.reason = "no unit can run it alone";
}

// Co-execution because it was asked for; false if the operation allows none.
bool force(const Problem& problem, detail::GridMemory& memory, Choice& choice) {
  if (problem.request.split != SplitMode::always) return false;
  choice.several = best_co_execution(problem, memory, choice.relaxation);
  if (!choice.several.valid) return false;
  choice.best = &choice.several;
  choice.reason = "a split over all usable units was asked for";
  return true;
}

// Whether splitting alone takes longer than the whole task.
bool is_small(const Problem& problem, const Candidate& whole) {
  return whole.valid && whole.makespan <= problem.machine.split_overhead + problem.machine.task_overhead;
}

void consider_all(const Problem& problem, Choice& choice) {
  detail::GridMemory memory;
  if (force(problem, memory, choice)) return;
  choice.whole = best_whole(problem);
  if (problem.request.split == SplitMode::never) {
    choice.reason = "splitting was switched off";
  } else if (!cuttable(problem.operation)) {
    choice.reason = "it cannot be split: " + why_no_split(problem.operation);
  } else if (is_small(problem, choice.whole)) {
    choice.reason = "small: " + describe(problem, choice.whole) + ", splitting alone takes " +
                    time_in_words(problem.machine.split_overhead);
  } else {
    choice.single = best_single_split(problem, choice.whole, memory);
    choice.several = best_co_execution(problem, memory, choice.relaxation);
    return choose(problem, choice);
  }
  if (choice.whole.valid) choice.best = &choice.whole;
}

std::string why_left_out(const UnitCost& cost, const Problem& problem) {
  if (!cost.usable()) return cost.why_not.empty() ? "it has no implementation" : cost.why_not;
  if (problem.request.split == SplitMode::never) return "splitting was switched off";
  return "it would not make the result earlier";
}

void describe_units(const Problem& problem, const Candidate* best, Plan& plan) {
  const Flops all = work(problem.operation, extents_of(problem.operation));
  for (std::size_t u = 0; u < problem.machine.units.size(); ++u) {
    PlanUnit unit;
    unit.name = problem.machine.units[u].name;
    unit.kind = problem.machine.units[u].kind;
    const UnitCost& cost = problem.costs.units[u];
    if (cost.usable()) {
      const Implementation& one = problem.operation.implementations[index(cost.implementation)];
      unit.implementation = one.name;
      unit.precision = to_string(one.precision);
    }
    if (best != nullptr) {
      unit.predicted = best->finish[u];
      unit.compute = best->compute[u];
    }
    plan.units.push_back(unit);
  }
  for (const Block& block : plan.tasks.blocks) {
    plan.units[index(block.unit)].share +=
        all > 0 ? work(problem.operation, extents_of(block.box)) / all : 0;
    ++plan.units[index(block.unit)].blocks;
  }
  if (plan.whole_unit >= 0) {
    plan.units[index(plan.whole_unit)].share = 1;
    plan.units[index(plan.whole_unit)].blocks = 1;
  }
  for (std::size_t u = 0; u < plan.units.size(); ++u)
    if (plan.units[u].blocks == 0) plan.units[u].reason = why_left_out(problem.costs.units[u], problem);
}

// Reasons of all units, when none can run it.
std::string nobody(const Problem& problem) {
  std::string words = "no unit can run it";
  for (std::size_t u = 0; u < problem.machine.units.size(); ++u) {
    const UnitCost& cost = problem.costs.units[u];
    words += (u == 0 ? ": " : "; ") + problem.machine.units[u].name + ": ";
    words += cost.usable() ? "the operands exceed its memory" : why_left_out(cost, problem);
  }
  return words;
}

Plan plan_of(const Problem& problem, const Choice& choice) {
  Plan plan;
  plan.operation = operation_in_words(problem.operation);
  plan.source = problem.costs.guessed ? "default" : "measured";
  plan.allowed = problem.request.precision;
  plan.costs = problem.costs;
  plan.solver = choice.relaxation.solver;
  plan.status = choice.relaxation.solver.empty() ? SolveStatus::optimal : choice.relaxation.status;
  plan.reason = choice.reason;
  if (choice.best == nullptr) {
    plan.status = SolveStatus::infeasible;
    plan.reason = nobody(problem);
  } else {
    const Candidate& best = *choice.best;
    plan.split = best.split;
    plan.dim = best.dim;
    plan.tasks = best.tasks;
    plan.makespan = best.makespan;
    if (!best.split) {
      plan.whole_unit = best.unit;
      plan.whole_implementation = problem.costs.units[index(best.unit)].implementation;
    }
    // A plan that streams through a small memory can beat the divisions, which must fit.
    plan.bound = choice.relaxation.solved() ? std::min(choice.relaxation.bound, best.makespan) : best.makespan;
    plan.gap = best.makespan > 0 ? (best.makespan - plan.bound) / best.makespan : 0;
  }
  describe_units(problem, choice.best, plan);
  return plan;
}

// Unit indices in the order of their names.
std::vector<std::size_t> canonical_order(const Machine& machine) {
  std::vector<std::size_t> order(machine.units.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return machine.units[a].name < machine.units[b].name; });
  return order;
}

// The plan for units in `order`, told of the machine's own.
Plan in_order_of_machine(Plan plan, const std::vector<std::size_t>& order) {
  Plan result = plan;
  for (std::size_t i = 0; i < order.size(); ++i) {
    result.units[order[i]] = std::move(plan.units[i]);
    result.costs.units[order[i]] = std::move(plan.costs.units[i]);
  }
  for (Block& block : result.tasks.blocks) block.unit = static_cast<int>(order[index(block.unit)]);
  if (result.whole_unit >= 0) result.whole_unit = static_cast<int>(order[index(result.whole_unit)]);
  return result;
}

}  // namespace

Plan plan(const Operation& operation, const Machine& machine, const Models& models, const State& state,
          const Request& request) {
  validate(operation);
  validate(machine);
  if (!state.busy.empty() && state.busy.size() != machine.units.size())
    throw Error(Errc::invalid, "the state has " + std::to_string(state.busy.size()) +
                                   " units, the machine has " + std::to_string(machine.units.size()) +
                                   ": give one time per unit, or none");
  // Ties are broken by position: by name first, so that the order of units does not matter.
  const std::vector<std::size_t> order = canonical_order(machine);
  Machine ordered = machine;
  State ordered_state;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Unit& unit = ordered.units[i] = machine.units[order[i]];
    // What a device takes to start is as if it were busy so long.
    ordered_state.busy.push_back((state.busy.empty() ? 0 : state.busy[order[i]]) +
                                 (unit.device < 0 ? 0 : machine.devices[index(unit.device)].start_latency));
  }
  const CostTable costs = predict(operation, ordered, models, request);
  const Problem problem{operation, ordered, costs, ordered_state, request};
  Choice choice;
  consider_all(problem, choice);
  Plan result = in_order_of_machine(plan_of(problem, choice), order);
  predict_energy(result, machine);
  return result;
}

}  // namespace poas
