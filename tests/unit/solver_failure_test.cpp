// Failures inside GLPK: the process lives, the application's own problems live, nothing is printed or
// leaked, and the fallback solves.
#include <dlfcn.h>
#include <glpk.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "optimize/solver/solver.hpp"

namespace {
std::atomic<bool> fail_inside_glpk{false};
}

// Stands before the library's function of that name, so that a failure inside GLPK can be had at will.
extern "C" int glp_simplex(glp_prob* lp, const glp_smcp* parameters) {
  if (fail_inside_glpk) glp_error("a failure on purpose\n");
  using Function = int (*)(glp_prob*, const glp_smcp*);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "glp_simplex"));
  return real(lp, parameters);
}

namespace poas::detail {
namespace {

const SolverLimits patient{1.0, 1e-9};

UnitTerms host_unit(Seconds fixed, Seconds slope) { return {-1, fixed, slope, slope, 1, false}; }

DivisionProblem valid_problem() {
  DivisionProblem problem{100, {host_unit(1, 1), {0, 1, 0.5, 0.5, 1, false}}, {{}}};
  DeviceTerms& device = problem.devices[0];
  device.in = device.out = device.host = device.tail = {1, 0.1};
  device.lead = 1;
  device.most = 80;
  return problem;
}

class GlpkFailure : public ::testing::Test {
 protected:
  void SetUp() override { fail_inside_glpk = true; }
  void TearDown() override { fail_inside_glpk = false; }
};

TEST_F(GlpkFailure, GivesNumericalAndTheFallbackSolves) {
  const DivisionProblem problem{100, {host_unit(2, 1), host_unit(1, 3)}, {}};
  const Solution failed = solve_glpk(problem, patient);
  EXPECT_EQ(failed.status, SolveStatus::numerical);
  EXPECT_FALSE(failed.found());
  const Solution solution = solve("glpk", problem, patient);
  EXPECT_EQ(solution.status, SolveStatus::optimal);
  EXPECT_EQ(solution.solver, "enumerate (glpk: numerical)");
  EXPECT_NEAR(solution.makespan, 76.75, 1e-9);
}

TEST_F(GlpkFailure, LeavesTheApplicationsProblemInTheSameThreadAlone) {
  // maximise 3x + 2y with x + y <= 4, x <= 3: 11 at (3, 1)
  glp_term_out(GLP_OFF);
  glp_prob* own = glp_create_prob();
  glp_set_obj_dir(own, GLP_MAX);
  glp_add_rows(own, 1);
  glp_set_row_bnds(own, 1, GLP_UP, 0, 4);
  glp_add_cols(own, 2);
  glp_set_col_bnds(own, 1, GLP_DB, 0, 3);
  glp_set_col_bnds(own, 2, GLP_LO, 0, 0);
  glp_set_obj_coef(own, 1, 3);
  glp_set_obj_coef(own, 2, 2);
  const int rows[] = {0, 1, 1}, columns[] = {0, 1, 2};
  const double values[] = {0, 1, 1};
  glp_load_matrix(own, 2, rows, columns, values);
  EXPECT_EQ(solve_glpk(valid_problem(), patient).status, SolveStatus::numerical);
  fail_inside_glpk = false;
  EXPECT_EQ(glp_simplex(own, nullptr), 0);
  EXPECT_NEAR(glp_get_obj_val(own), 11, 1e-9);
  glp_delete_prob(own);
  EXPECT_EQ(glp_term_out(GLP_ON), GLP_OFF);  // our setting of this thread is as we left it
  glp_free_env();
}

long resident_kib() {
  std::ifstream status("/proc/self/statm");
  long size = 0, resident = 0;
  status >> size >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

TEST_F(GlpkFailure, RepeatedFailuresPrintNothingAndKeepTheMemoryFlat) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const DivisionProblem problem = valid_problem();
  for (int i = 0; i < 200; ++i) solve_glpk(problem, patient);
  const long before = resident_kib();
  for (int i = 0; i < 10000; ++i) {
    fail_inside_glpk = i % 2 == 0;
    ASSERT_EQ(solve_glpk(problem, patient).status, i % 2 == 0 ? SolveStatus::numerical : SolveStatus::optimal);
  }
  const long after = resident_kib();
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_LT(after - before, 4096) << "KiB after 10000 solves, half of them failed";
}

}  // namespace
}  // namespace poas::detail
