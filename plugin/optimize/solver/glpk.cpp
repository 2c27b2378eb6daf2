// GLPK for the program of formulation.hpp.
//
// A program for a generous time has a weak relaxation (fixed costs count by the fraction of a large
// share), so a few linear programs come first: each gives a division, whose time makes the next one
// tighter.  When a relaxation proves the division that it was made from, no integer is needed.
#include <glpk.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <exception>
#include <limits>
#include <system_error>
#include <thread>

#include "optimize/solver/formulation.hpp"
#include "optimize/solver/solver.hpp"
#include "poas/error.hpp"

namespace poas::detail {
namespace {

constexpr int most_linear_programs = 6;
constexpr double agreement = 1e-6;       // GLPK's makespan against the one recomputed from its shares

// --- calls of GLPK: nothing with a destructor ----------------------------------------------------

enum class Call { done, time_limit, failed };
enum class Integers { relaxed, kept };

// Plain memory only: a longjmp leaves it as it is.
struct Exchange {
  const Program* program;
  Integers integers;
  int milliseconds;
  double gap;
  Call call;
  int status;        // GLP_OPT, ...
  double* values;    // of the columns, from element 1 on
};

int bound_type(double lower, double upper) {
  if (lower == upper) return GLP_FX;
  if (std::isinf(lower)) return GLP_UP;
  return std::isinf(upper) ? GLP_LO : GLP_DB;
}

void load(glp_prob* lp, const Program& program) {
  glp_set_obj_dir(lp, GLP_MIN);
  glp_add_rows(lp, static_cast<int>(program.rows.size()));
  glp_add_cols(lp, static_cast<int>(program.columns.size()));
  int index = 0;
  for (const Row& row : program.rows)
    glp_set_row_bnds(lp, ++index, bound_type(row.lower, row.upper), row.lower, row.upper);
  index = 0;
  for (const Column& column : program.columns) {
    glp_set_obj_coef(lp, ++index, column.cost);
    glp_set_col_kind(lp, index, column.kind == Kind::binary ? GLP_IV : GLP_CV);
    glp_set_col_bnds(lp, index, bound_type(column.lower, 1), column.lower, 1);
  }
  glp_load_matrix(lp, static_cast<int>(program.values.size()) - 1, program.row_of.data(),
                  program.column_of.data(), program.values.data());
}

Call call_of(int code) {
  if (code == 0 || code == GLP_EMIPGAP) return Call::done;
  return code == GLP_ETMLIM ? Call::time_limit : Call::failed;
}

void solve_linear(glp_prob* lp, Exchange& exchange) {
  glp_smcp parameters;
  glp_init_smcp(&parameters);
  parameters.msg_lev = GLP_MSG_OFF;
  parameters.tm_lim = exchange.milliseconds;
  parameters.tol_bnd = parameters.tol_dj = 1e-9;
  exchange.call = call_of(glp_simplex(lp, &parameters));
  exchange.status = glp_get_status(lp);
  const int columns = glp_get_num_cols(lp);
  for (int j = 1; j <= columns; ++j) exchange.values[j] = glp_get_col_prim(lp, j);
}

// Without its presolver, glp_intopt starts from the optimal basis of the relaxation.
void solve_integer(glp_prob* lp, Exchange& exchange) {
  glp_iocp parameters;
  glp_init_iocp(&parameters);
  parameters.msg_lev = GLP_MSG_OFF;
  parameters.tm_lim = exchange.milliseconds;
  parameters.mip_gap = exchange.gap;
  parameters.tol_int = 1e-9;
  parameters.br_tech = GLP_BR_MFV;   // measured: up to twice as fast here as the default
  const int code = glp_intopt(lp, &parameters);
  exchange.call = call_of(code);
  exchange.status = code == GLP_EMIPGAP ? GLP_OPT : glp_mip_status(lp);
  const int columns = glp_get_num_cols(lp);
  for (int j = 1; j <= columns; ++j) exchange.values[j] = glp_mip_col_val(lp, j);
}

void recover(void* where) { std::longjmp(*static_cast<std::jmp_buf*>(where), 1); }

// The one frame that GLPK's error hook jumps to.  Nothing between here and GLPK has a destructor;
// what a failed call leaves behind is freed with the thread's environment.
void call_glpk(Exchange* exchange) noexcept {
  std::jmp_buf here;
  if (setjmp(here) != 0) {
    exchange->call = Call::failed;
    return;
  }
  glp_error_hook(recover, &here);
  glp_prob* lp = glp_create_prob();
  load(lp, *exchange->program);
  solve_linear(lp, *exchange);
  if (exchange->integers == Integers::kept && exchange->call == Call::done && exchange->status == GLP_OPT)
    solve_integer(lp, *exchange);
  glp_delete_prob(lp);
  glp_error_hook(nullptr, nullptr);
}

// --- the solver ----------------------------------------------------------------------------------

SolveStatus status_of(const Exchange& exchange) {
  if (exchange.call == Call::failed) return SolveStatus::numerical;
  if (exchange.call == Call::time_limit) return SolveStatus::time_limit;
  switch (exchange.status) {
    case GLP_OPT: return SolveStatus::optimal;
    case GLP_FEAS: return SolveStatus::feasible;
    case GLP_NOFEAS: return SolveStatus::infeasible;
    case GLP_UNBND: return SolveStatus::unbounded;
    default: return SolveStatus::numerical;
  }
}

bool has_values(const Exchange& exchange) {
  return exchange.call != Call::failed && (exchange.status == GLP_OPT || exchange.status == GLP_FEAS);
}

class Solving {
 public:
  Solving(const DivisionProblem& problem, int milliseconds, double gap)
      : problem_(problem), milliseconds_(milliseconds), gap_(gap) {
    solution_.solver = "glpk";
    start();
  }

  void run();
  const Solution& solution() const { return solution_; }

 private:
  void start();
  bool call(const Formulation& formulation, Integers integers);
  void take(const Formulation& formulation);
  bool tighten();
  void finish();

  const DivisionProblem& problem_;
  const int milliseconds_;
  const double gap_;
  Solution solution_;               // the best division so far
  Seconds time_ = 0;                // within which some division is possible
  Exchange exchange_{};
  std::vector<double> values_;
};

// The best division that uses one unit beside those that are forced.  If no memory holds that: a time
// that is longer than that of any division, all done by every unit one after the other.
void Solving::start() {
  const std::vector<double> nothing(problem_.units.size(), 0);
  time_ = std::numeric_limits<double>::infinity();
  Seconds sum = 0;
  for (std::size_t main = 0; main < problem_.units.size(); ++main) {
    std::vector<double> items = nothing;
    items[main] = problem_.items;
    sum += makespan_of(problem_, items);
    for (std::size_t u = 0; u < items.size(); ++u) {
      if (!problem_.units[u].forced || u == main) continue;
      items[u] = problem_.units[u].least;
      items[main] -= items[u];
    }
    if (!allowed(problem_, items) || makespan_of(problem_, items) >= time_) continue;
    time_ = solution_.makespan = makespan_of(problem_, items);
    solution_.items = items;
  }
  if (!solution_.found()) time_ = sum;
}

bool Solving::call(const Formulation& formulation, Integers integers) {
  values_.assign(formulation.program().columns.size() + 1, 0);
  exchange_ = {&formulation.program(), integers, milliseconds_, gap_, Call::failed, GLP_UNDEF, values_.data()};
  call_glpk(&exchange_);
  solution_.status = status_of(exchange_);
  return has_values(exchange_);
}

// Keeps the division that was found if it is allowed and better.
void Solving::take(const Formulation& formulation) {
  const std::vector<double> items = formulation.items(values_);
  const Seconds time = makespan_of(problem_, items);
  if (!allowed(problem_, items) || (solution_.found() && time >= time_)) return;
  solution_.items = items;
  time_ = solution_.makespan = time;
}

// Linear programs while they help.  Returns whether all is decided.
bool Solving::tighten() {
  for (int i = 0; i < most_linear_programs; ++i) {
    const Formulation formulation(problem_, time_);
    if (!formulation.forced_can_take_part()) {
      solution_.status = SolveStatus::infeasible;
      return true;
    }
    const Seconds before = time_;
    if (!call(formulation, Integers::relaxed)) return true;
    const Seconds bound = formulation.makespan(values_);
    take(formulation);
    if (solution_.found() && bound >= time_ * (1 - gap_)) return true;
    if (time_ > before * 0.999) return false;
  }
  return false;
}

void Solving::run() {
  if (!tighten()) {
    const Formulation formulation(problem_, time_);
    if (call(formulation, Integers::kept)) {
      const Seconds claimed = formulation.makespan(values_);
      take(formulation);
      if (!solution_.found() || solution_.makespan > claimed * (1 + agreement))
        solution_.status = SolveStatus::numerical;
    }
  }
  finish();
}

// Without proof there is no division, but for the best one at the time limit.
void Solving::finish() {
  const bool limited = solution_.status == SolveStatus::time_limit;
  const bool proved = solution_.status == SolveStatus::optimal || solution_.status == SolveStatus::feasible;
  if (limited || (proved && solution_.found())) return;
  // The division of start() is possible, so a program without one is wrong.
  if (solution_.found() || proved) solution_.status = SolveStatus::numerical;
  solution_.items.clear();
  solution_.makespan = 0;
}

int swallow(void*, const char*) { return 1; }

// GLPK keeps its environment by thread: this one's begins and ends here.
void solve_in_own_thread(Solving* solving, std::exception_ptr* failure) noexcept {
  glp_term_hook(swallow, nullptr);
  glp_term_out(GLP_OFF);
  try {
    solving->run();
  } catch (...) {
    *failure = std::current_exception();
  }
  glp_free_env();
}

int milliseconds_of(Seconds limit) {
  if (!(limit >= 0)) throw Error(Errc::invalid, "solver: the time limit is not a number >= 0: use e.g. 0.005");
  return static_cast<int>(std::clamp(std::ceil(limit * 1e3), 1.0, 1e9));
}

double gap_of(double gap) {
  if (!(gap >= 0 && gap < 1)) throw Error(Errc::invalid, "solver: the gap is not in [0, 1): use e.g. 1e-8");
  return gap;
}

}  // namespace

Solution solve_glpk(const DivisionProblem& problem, const SolverLimits& limits) {
  validate(problem);
  Solution none;
  none.solver = "glpk";
  // Without an environment for each thread, freeing ours would free the application's problems.
  if (glp_config("TLS") == nullptr) return none;
  Solving solving(problem, milliseconds_of(limits.time_limit), gap_of(limits.gap));
  std::exception_ptr failure;
  try {
    std::thread(solve_in_own_thread, &solving, &failure).join();
  } catch (const std::system_error&) {
    return none;  // no thread to be had
  }
  if (failure) std::rethrow_exception(failure);
  return solving.solution();
}

}  // namespace poas::detail
