// The driver of the GEMM codelet: one product C = alpha op(A) op(B) + beta C from host memory to host
// memory on all units that poas chooses, with its plan, its check, and what it is compared with.
#include "poas/gemm.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "poas/runtime.hpp"
#include "report.hpp"

namespace {

struct NotThere : std::runtime_error {
  using std::runtime_error::runtime_error;
};

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

struct Operands {
  Matrix a, b, c;
  explicit Operands(const Options& o)
      : a(o.type, o.transa == 'N' ? o.m : o.k, o.transa == 'N' ? o.k : o.m, o.memory, o.seed),
        b(o.type, o.transb == 'N' ? o.k : o.n, o.transb == 'N' ? o.n : o.k, o.memory, o.seed + 1),
        c(o.type, o.m, o.n, o.memory, o.seed + 2) {
    a.fill();
    b.fill();
  }
};

poas_type c_type(poas::Type type) {
  switch (type) {
    case poas::Type::fp64:
      return POAS_FP64;
    case poas::Type::fp32:
      return POAS_FP32;
    case poas::Type::fp16:
      return POAS_FP16;
    case poas::Type::bf16:
      return POAS_BF16;
  }
  return POAS_FP32;
}

poas_precision c_precision(const Options& options) {
  if (!options.precision) return POAS_CLASS_DEFAULT;
  switch (*options.precision) {
    case poas::Precision::fp64:
      return POAS_CLASS_FP64;
    case poas::Precision::fp32:
      return POAS_CLASS_FP32;
    case poas::Precision::tf32:
      return POAS_CLASS_TF32;
    case poas::Precision::fp16:
      return POAS_CLASS_FP16;
    case poas::Precision::bf16:
      return POAS_CLASS_BF16;
  }
  return POAS_CLASS_DEFAULT;
}

// The class that the result must have.
poas::Precision promised(const Options& options) {
  if (options.precision) return *options.precision;
  return poas::request_from_environment().precision.value_or(poas::precision_of(options.type));
}

// A handle lives for one repetition, so that no device keeps a copy for the next one.
class Handle {
 public:
  explicit Handle(const Matrix& matrix) {
    if (poas_matrix_register(&handle_, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(matrix.data()),
                             matrix.rows(), matrix.rows(), matrix.columns(), bytes_of(matrix.type())) != 0)
      throw std::runtime_error(poas_last_error());
  }
  Handle(const Handle&) = delete;
  ~Handle() { starpu_data_unregister(handle_); }
  starpu_data_handle_t get() const { return handle_; }

 private:
  starpu_data_handle_t handle_ = nullptr;
};

double multiply_once(const Options& o, Operands& operands) {
  operands.c.fill();
  Handle a(operands.a), b(operands.b), c(operands.c);
  const double begin = starpu_timing_now();
  const int error = poas_gemm(o.transa, o.transb, o.alpha, a.get(), b.get(), o.beta, c.get(), c_type(o.type),
                              c_precision(o));
  if (error == -ENODEV) throw NotThere(std::string("the product was not accepted: ") + poas_last_error());
  if (error != 0) throw std::runtime_error(std::string("the product was not accepted: ") + poas_last_error());
  starpu_data_acquire(c.get(), STARPU_R);
  const double seconds = (starpu_timing_now() - begin) * 1e-6;
  starpu_data_release(c.get());
  return seconds;
}

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
  for (unsigned i = 0; i < options.warmup; i++) multiply_once(options, operands);
  for (unsigned i = 0; i < options.repetitions; i++)
    report.seconds.push_back(multiply_once(options, operands));
  report.plan = poas::last_plan();
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
