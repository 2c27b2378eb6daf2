// The division as a mixed integer program for GLPK.
//
// Scaling: the makespan is a column in [0, 1] relative to the time of a division that is known to be
// possible, and the share of a unit is a column in [0, 1] relative to what the unit can do in that
// time.  So no coefficient is over 1, however far apart the units are, and a unit that cannot do its
// least share in that time has no column at all.
#include <glpk.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <limits>
#include <system_error>
#include <thread>

#include "optimize/solver/solver.hpp"
#include "poas/error.hpp"

namespace poas::detail {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double no_share = 1e-9;        // of all items: less is nothing
constexpr double agreement = 1e-6;       // GLPK's makespan against the one recomputed from its shares

enum class Kind { continuous, binary };

struct Column {
  Kind kind;
  double lower, upper, cost;
};

// lower <= row <= upper; either may be infinite.
struct Row {
  double lower, upper;
};

// Columns and rows are numbered from 1, as GLPK does; numbers come from add_column and add_row only.
class Program {
 public:
  int add_column(Kind kind, double lower, double cost = 0) {
    columns.push_back({kind, lower, 1, cost});
    return static_cast<int>(columns.size());
  }
  int add_row(double lower, double upper) {
    rows.push_back({lower, upper});
    return static_cast<int>(rows.size());
  }
  void set(int row, int column, double value) {
    if (value == 0) return;
    row_of.push_back(row);
    column_of.push_back(column);
    values.push_back(value);
  }

  std::vector<Column> columns;
  std::vector<Row> rows;
  // Triplets; GLPK does not read element 0.
  std::vector<int> row_of{0}, column_of{0};
  std::vector<double> values{0};
};

// Where the quantities of the division are in the program; 0: left out.
struct Columns {
  int makespan = 0;
  std::vector<int> share, used;   // per unit
  std::vector<int> device;        // per device: whether it is used
};

struct Scale {
  Seconds time = 0;
  std::vector<double> items;      // per unit: most items within that time, 0: cannot take part
};

double items_within(const Line& line, Seconds time) {
  if (time < line.fixed) return 0;
  return line.slope > 0 ? (time - line.fixed) / line.slope : infinite;
}

double room(const DivisionProblem& problem, const UnitTerms& unit) {
  return unit.device < 0 ? problem.items
                         : std::min(problem.items, problem.devices[static_cast<std::size_t>(unit.device)].most);
}

// Time of the division in which unit `main` does all that the forced units need not do; infinite if
// its memory is too small.
Seconds time_with_main_unit(const DivisionProblem& problem, std::size_t main) {
  std::vector<double> items(problem.units.size(), 0), on_device(problem.devices.size(), 0);
  double rest = problem.items;
  for (std::size_t u = 0; u < items.size(); ++u) {
    if (!problem.units[u].forced || u == main) continue;
    items[u] = problem.units[u].least;
    rest -= items[u];
    if (problem.units[u].device >= 0) on_device[static_cast<std::size_t>(problem.units[u].device)] += items[u];
  }
  const UnitTerms& unit = problem.units[main];
  const double taken = unit.device < 0 ? 0 : on_device[static_cast<std::size_t>(unit.device)];
  items[main] = rest;
  return rest < unit.least || rest + taken > room(problem, unit) ? infinite : makespan_of(problem, items);
}

// A time in which some division is possible for sure.
Seconds possible_time(const DivisionProblem& problem) {
  Seconds best = infinite;
  for (std::size_t u = 0; u < problem.units.size(); ++u)
    best = std::min(best, time_with_main_unit(problem, u));
  if (std::isfinite(best)) return best;
  // No unit can hold it all: everything done by every unit, one after the other, takes longer than
  // any division.
  Seconds sum = 0;
  for (std::size_t u = 0; u < problem.units.size(); ++u) {
    std::vector<double> items(problem.units.size(), 0);
    items[u] = problem.items;
    sum += makespan_of(problem, items);
  }
  return sum;
}

Scale make_scale(const DivisionProblem& problem) {
  Scale scale;
  scale.time = std::max(possible_time(problem), 1e-300) * (1 + 1e-9);
  for (const UnitTerms& unit : problem.units) {
    double most = room(problem, unit);
    Line own{unit.fixed, unit.slope};
    if (unit.device >= 0) {
      const DeviceTerms& device = problem.devices[static_cast<std::size_t>(unit.device)];
      const Line worker = compute_line(device);
      own = {own.fixed + worker.fixed, own.slope + worker.slope};
      most = std::min({most, items_within(in_line(device), scale.time), items_within(device.out, scale.time),
                       items_within(device.host, scale.time)});
    }
    most = std::min(most, items_within(own, scale.time));
    scale.items.push_back(most < unit.least ? 0 : most);
  }
  return scale;
}

class Formulation {
 public:
  explicit Formulation(const DivisionProblem& problem) : problem_(problem), scale_(make_scale(problem)) {
    columns.makespan = program.add_column(Kind::continuous, 0, 1);
    add_columns();
    const int sum = program.add_row(1, 1);
    for (std::size_t u = 0; u < problem.units.size(); ++u) {
      if (columns.share[u] == 0) continue;
      program.set(sum, columns.share[u], scale_.items[u] / problem.items);
      bind_share(u);
      if (problem.units[u].device < 0) limit_host_unit(u);
    }
    for (std::size_t d = 0; d < problem.devices.size(); ++d)
      if (columns.device[d] != 0) limit_device(d);
    limit_host_link();
  }

  Seconds time() const { return scale_.time; }
  bool forced_can_take_part() const {
    for (std::size_t u = 0; u < problem_.units.size(); ++u)
      if (problem_.units[u].forced && columns.share[u] == 0) return false;
    return true;
  }
  double items(std::size_t unit, double share) const { return scale_.items[unit] * share; }

  Program program;
  Columns columns;

 private:
  void add_columns() {
    columns.share.assign(problem_.units.size(), 0);
    columns.used = columns.share;
    columns.device.assign(problem_.devices.size(), 0);
    for (std::size_t u = 0; u < problem_.units.size(); ++u) {
      if (!(scale_.items[u] > 0)) continue;
      const UnitTerms& unit = problem_.units[u];
      columns.share[u] = program.add_column(Kind::continuous, 0);
      columns.used[u] = program.add_column(Kind::binary, unit.forced ? 1 : 0);
      if (unit.device < 0) continue;
      int& device = columns.device[static_cast<std::size_t>(unit.device)];
      if (device == 0) device = program.add_column(Kind::continuous, unit.forced ? 1 : 0);
    }
  }

  // least used <= share <= used
  void bind_share(std::size_t u) {
    const int upper = program.add_row(-infinite, 0);
    program.set(upper, columns.share[u], 1);
    program.set(upper, columns.used[u], -1);
    const double least = problem_.units[u].least / scale_.items[u];
    if (!(least > 0)) return;
    const int lower = program.add_row(0, infinite);
    program.set(lower, columns.share[u], 1);
    program.set(lower, columns.used[u], -least);
  }

  int time_row() {
    const int row = program.add_row(-infinite, 0);
    program.set(row, columns.makespan, -1);
    return row;
  }

  void add_own_time(int row, std::size_t u, Seconds slope) {
    program.set(row, columns.used[u], problem_.units[u].fixed / scale_.time);
    program.set(row, columns.share[u], slope * scale_.items[u] / scale_.time);
  }

  void limit_host_unit(std::size_t u) { add_own_time(time_row(), u, problem_.units[u].slope); }

  template <typename Visit>
  void each_unit_of(std::size_t device, Visit visit) const {
    for (std::size_t u = 0; u < problem_.units.size(); ++u)
      if (columns.share[u] != 0 && problem_.units[u].device == static_cast<int>(device)) visit(u);
  }

  void add_link(int row, std::size_t device, const Line& line) {
    program.set(row, columns.device[device], line.fixed / scale_.time);
    each_unit_of(device, [&](std::size_t u) {
      program.set(row, columns.share[u], line.slope * scale_.items[u] / scale_.time);
    });
  }

  void limit_device(std::size_t d) {
    const DeviceTerms& device = problem_.devices[d];
    const int compute = time_row();
    program.set(compute, columns.device[d], compute_line(device).fixed / scale_.time);
    // Units of a device take turns, so one that nobody forces is enough (see enumerate.cpp): their
    // sum, not each of them, is at most the device's use.  Tighter, and fewer rows.
    const int one = program.add_row(-infinite, 0);
    program.set(one, columns.device[d], -1);
    const int memory = program.add_row(-infinite, 1);
    each_unit_of(d, [&](std::size_t u) {
      add_own_time(compute, u, problem_.units[u].slope + device.tail.slope);
      if (!problem_.units[u].forced) program.set(one, columns.used[u], 1);
      program.set(memory, columns.share[u], scale_.items[u] / device.most);
    });
    add_link(time_row(), d, in_line(device));
    add_link(time_row(), d, device.out);
  }

  void limit_host_link() {
    const int row = time_row();
    for (std::size_t d = 0; d < problem_.devices.size(); ++d)
      if (columns.device[d] != 0) add_link(row, d, problem_.devices[d].host);
  }

  const DivisionProblem& problem_;
  const Scale scale_;
};

// --- GLPK ----------------------------------------------------------------------------------------

enum class Call { done, time_limit, failed };

// Plain memory only: a longjmp leaves it as it is.
struct Exchange {
  const Program* program;
  int milliseconds;
  double gap;
  Call call;
  int status;        // GLP_OPT, ...
  double* values;    // of the columns, size columns + 1
};

int bound_type(double lower, double upper) {
  if (lower == upper) return GLP_FX;
  if (std::isinf(lower)) return std::isinf(upper) ? GLP_FR : GLP_UP;
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
    glp_set_col_bnds(lp, index, bound_type(column.lower, column.upper), column.lower, column.upper);
  }
  glp_load_matrix(lp, static_cast<int>(program.values.size()) - 1, program.row_of.data(),
                  program.column_of.data(), program.values.data());
}

Call call_of(int code) {
  if (code == 0 || code == GLP_EMIPGAP) return Call::done;
  return code == GLP_ETMLIM ? Call::time_limit : Call::failed;
}

// The relaxation first: glp_intopt without its presolver starts from an optimal basis.
void run(glp_prob* lp, Exchange& exchange) {
  glp_smcp simplex;
  glp_init_smcp(&simplex);
  simplex.msg_lev = GLP_MSG_OFF;
  simplex.tm_lim = exchange.milliseconds;
  simplex.tol_bnd = simplex.tol_dj = 1e-9;
  exchange.call = call_of(glp_simplex(lp, &simplex));
  exchange.status = glp_get_status(lp);
  if (exchange.call != Call::done || exchange.status != GLP_OPT) return;
  glp_iocp integer;
  glp_init_iocp(&integer);
  integer.msg_lev = GLP_MSG_OFF;
  integer.tm_lim = exchange.milliseconds;
  integer.mip_gap = exchange.gap;
  integer.tol_int = 1e-9;
  exchange.call = call_of(glp_intopt(lp, &integer));
  exchange.status = glp_mip_status(lp);
  const int columns = glp_get_num_cols(lp);
  for (int j = 1; j <= columns; ++j) exchange.values[j] = glp_mip_col_val(lp, j);
}

void recover(void* where) { std::longjmp(*static_cast<std::jmp_buf*>(where), 1); }

int swallow(void*, const char*) { return 1; }

// The one frame that GLPK's error hook jumps to.  Nothing between here and GLPK has a destructor, and
// glp_free_env() frees whatever the failed call left behind.
void solve_in_this_thread(Exchange* exchange) noexcept {
  std::jmp_buf here;
  glp_term_hook(swallow, nullptr);
  glp_term_out(GLP_OFF);
  if (setjmp(here) == 0) {
    glp_error_hook(recover, &here);
    glp_prob* lp = glp_create_prob();
    load(lp, *exchange->program);
    run(lp, *exchange);
    glp_delete_prob(lp);
  } else {
    exchange->call = Call::failed;
  }
  glp_free_env();
}

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

int milliseconds_of(Seconds limit) {
  if (!(limit >= 0)) throw Error(Errc::invalid, "solver: the time limit is not a number >= 0: use e.g. 0.005");
  return static_cast<int>(std::clamp(std::ceil(limit * 1e3), 1.0, 1e9));
}

double gap_of(double gap) {
  if (!(gap >= 0 && gap < 1)) throw Error(Errc::invalid, "solver: the gap is not in [0, 1): use e.g. 1e-8");
  return gap;
}

// Shares as items, without the dust of the arithmetic, adding up exactly.
std::vector<double> items_of(const DivisionProblem& problem, const Formulation& formulation,
                             const std::vector<double>& values) {
  std::vector<double> items(problem.units.size(), 0);
  double sum = 0;
  for (std::size_t u = 0; u < items.size(); ++u) {
    const int share = formulation.columns.share[u];
    if (share == 0) continue;
    const double value = formulation.items(u, values[static_cast<std::size_t>(share)]);
    const bool used = values[static_cast<std::size_t>(formulation.columns.used[u])] > 0.5;
    if (used && value > no_share * problem.items) items[u] = std::max(value, problem.units[u].least);
    sum += items[u];
  }
  const auto greatest = std::max_element(items.begin(), items.end());
  *greatest += problem.items - sum;
  return items;
}

bool agrees(Seconds a, Seconds b) { return std::abs(a - b) <= agreement * std::max(a, b); }

}  // namespace

Solution solve_glpk(const DivisionProblem& problem, const SolverLimits& limits) {
  validate(problem);
  Solution solution;
  solution.solver = "glpk";
  // Without an environment for each thread, freeing ours would free the application's problems.
  if (glp_config("TLS") == nullptr) return solution;
  const Formulation formulation(problem);
  if (!formulation.forced_can_take_part()) {
    solution.status = SolveStatus::infeasible;
    return solution;
  }
  std::vector<double> values(formulation.program.columns.size() + 1, 0);
  Exchange exchange{&formulation.program, milliseconds_of(limits.time_limit), gap_of(limits.gap),
                    Call::failed, GLP_UNDEF, values.data()};
  try {
    std::thread(solve_in_this_thread, &exchange).join();
  } catch (const std::system_error&) {
    return solution;  // no thread to be had: no_solver
  }
  solution.status = status_of(exchange);
  if (!has_values(exchange)) return solution;
  solution.items = items_of(problem, formulation, values);
  solution.makespan = makespan_of(problem, solution.items);
  const Seconds claimed = values[static_cast<std::size_t>(formulation.columns.makespan)] * formulation.time();
  if (agrees(claimed, solution.makespan)) return solution;
  solution.status = SolveStatus::numerical;
  solution.items.clear();
  return solution;
}

}  // namespace poas::detail
