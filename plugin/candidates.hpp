// The ways of running an operation that plan() compares.
#pragma once

#include <string>
#include <vector>

#include "poas/plan.hpp"
#include "schedule/grid.hpp"

namespace poas::detail {

struct Problem {
  const Operation& operation;
  const Machine& machine;
  const CostTable& costs;
  const State& state;
  const Request& request;

  Seconds busy(std::size_t unit) const { return unit < state.busy.size() ? state.busy[unit] : 0; }
};

// One way, with the time that the model of the machine gives it.  Not valid: it cannot be run.
struct Candidate {
  bool valid = false, split = false;
  int unit = -1;  // the only unit, -1: several
  int dim = -1;
  std::vector<Part> parts;      // of dim, empty when whole
  TaskList tasks;               // empty when whole
  std::vector<Seconds> finish;  // per unit, 0 if it takes no part
  std::vector<Seconds> compute;
  Seconds makespan = 0;
};

// What the solver said about the best split along one dimension.
struct Relaxation {
  SolveStatus status = SolveStatus::no_solver;
  std::string solver;
  Seconds bound = 0;
  bool solved() const { return status == SolveStatus::optimal || status == SolveStatus::feasible; }
};

// The task on one worker of one unit: copies in, computation and copies out one after another.
Candidate whole_on(const Problem& problem, int unit);
Candidate best_whole(const Problem& problem);

// The task cut into blocks for one unit: only the most promising units are simulated.
Candidate best_single_split(const Problem& problem, const Candidate& whole, GridMemory& memory);

// The task spread over several units along the best dimension.  relaxation receives the least bound.
Candidate best_co_execution(const Problem& problem, GridMemory& memory, Relaxation& relaxation);

}  // namespace poas::detail
