// Solvers of a DivisionProblem.  All of them throw Error(invalid) for numbers that validate() refuses,
// before any solver code sees them; every other outcome is a status.  Thread safe.
#pragma once

#include <string>
#include <vector>

#include "optimize/problem.hpp"
#include "poas/plan.hpp"

namespace poas::detail {

struct SolverLimits {
  Seconds time_limit = 5e-3;
  double gap = 1e-8;         // relative distance from the optimum at which to stop
};

struct Solution {
  SolveStatus status = SolveStatus::no_solver;
  std::string solver;
  std::vector<double> items;   // per unit, sums to the problem's items; empty: none found
  Seconds makespan = 0;
  bool found() const { return !items.empty(); }
};

// Mixed integer program by GLPK, in a thread of its own that ends before the call returns; problems
// and hooks that the caller's thread has in GLPK are not touched.  An internal error of GLPK gives
// `numerical`.  Usually 0.1 to 1 ms.
Solution solve_glpk(const DivisionProblem& problem, const SolverLimits& limits);

// Branch and bound over the sets of used units, without a library.  Exact to 1e-9 whenever it says
// `optimal`, which it does after at most 4000 sets; beyond (tens of devices that compete for the
// host's link with large fixed parts) the best so far, as `feasible`.  Usually 10 to 100 us.
Solution solve_enumerate(const DivisionProblem& problem, const SolverLimits& limits);

// By name ("glpk", "enumerate"); where GLPK finds nothing, solve_enumerate() decides, and `solver` tells
// both.  Throws Error(invalid) for another name.
Solution solve(const std::string& name, const DivisionProblem& problem, const SolverLimits& limits);

}  // namespace poas::detail
