// The driver of the GEMM codelet: one product C = alpha op(A) op(B) + beta C from host memory to host
// memory on all units that poas chooses, with its plan, its check, and what it is compared with.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "poas/runtime.hpp"
#include "product.hpp"
#include "report.hpp"

namespace {

class StarPU {
 public:
  StarPU() {
    starpu_conf conf;
    starpu_conf_init(&conf);
    poas_conf_init(&conf);
    if (starpu_init(&conf) != 0) throw NotThere("StarPU found no worker: none is allowed: check STARPU_NCPU");
  }
  StarPU(const StarPU&) = delete;
  ~StarPU() { starpu_shutdown(); }
};

void check_units(const std::string& wanted, const poas::Machine& machine) {
  for (std::size_t begin = 0; begin < wanted.size();) {
    const std::size_t end = std::min(wanted.find(',', begin), wanted.size());
    const std::string name = wanted.substr(begin, end - begin);
    std::string there;
    for (const auto& unit : machine.units) there += (there.empty() ? "" : ", ") + unit.name;
    if (("," + there + ",").find(name) == std::string::npos)
      throw NotThere("there is no unit " + name + " on this node: it has " + there + ": choose among them");
    begin = end + 1;
  }
}

std::string starpu_version() {
  int major, minor, release;
  starpu_get_version(&major, &minor, &release);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

void measure(const Options& options, Report& report) {
  StarPU starpu;
  report.policy = starpu_sched_get_sched_policy()->policy_name;
  report.machine = poas::probe();
  report.starpu_version = starpu_version();
  check_units(options.units, report.machine);
  Operands operands(options);
  for (unsigned i = 0; i < options.warmup; i++) multiply(options, operands);
  for (unsigned i = 0; i < options.repetitions; i++) report.seconds.push_back(multiply(options, operands));
  report.plan = poas::last_plan();
  if (options.check) multiply_anew(options, operands);
  starpu_pause();  // workers that wait would use the cores
  if (options.check) report.check = check(options, promised(options), operands.a, operands.b, operands.c);
  if (options.baseline)
    if (const auto seconds = copy_gemm_copy(options, promised(options), operands.a, operands.b, operands.c))
      report.baselines["plain cuBLAS with copies"] = *seconds;
  starpu_resume();
}

void measure_others(const Options& options, Report& report) {
  for (const auto& unit : report.machine.units)
    if (const auto seconds = unit_alone(options, unit.name)) report.baselines[unit.name] = *seconds;
  if (const auto seconds = plain_blas(options)) report.baselines["plain BLAS, all cores"] = *seconds;
}

int run(const Options& options) {
  if (!options.units.empty()) setenv("POAS_UNITS", options.units.c_str(), 1);
  Report report;
  measure(options, report);
  if (options.baseline) measure_others(options, report);
  print(options, report);
  if (!options.json.empty()) write_json(options, report);
  if (!report.ok())
    std::fprintf(stderr, "gemm: the result is wrong: its error is above the bound: please report it\n");
  return report.ok() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const auto code = parse(argc, argv, options)) return *code;
  try {
    return run(options);
  } catch (const NotThere& error) {
    std::fprintf(stderr, "gemm: %s\n", error.what());
    return 77;
  } catch (const std::bad_alloc&) {
    std::fprintf(
        stderr,
        "gemm: no memory for the three matrices: they do not fit: choose smaller sizes or --pageable\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gemm: %s\n", error.what());
  }
  return 1;
}
