#include "optimize/solver/solver.hpp"

#include "poas/error.hpp"

namespace poas::detail {

Solution solve(const std::string& name, const DivisionProblem& problem, const SolverLimits& limits) {
  if (name == "enumerate") return solve_enumerate(problem, limits);
  if (name != "glpk")
    throw Error(Errc::invalid, "unknown solver \"" + name + "\": use glpk or enumerate");
  const Solution first = solve_glpk(problem, limits);
  if (first.found()) return first;
  Solution second = solve_enumerate(problem, limits);
  second.solver += std::string(" (glpk: ") + to_string(first.status) + ")";
  return second;
}

}  // namespace poas::detail
