// A codelet of your own on all devices: describe it once, and a whole task is cut by poas.
//
// The task prices n options after Black and Scholes: three input vectors, two output vectors.  What
// poas needs to know is in describe() and main(): the one dimension n, how each vector follows it,
// the cost of one option, and which functions of the codelet serve which kind of unit.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <vector>

#include "black_scholes.hpp"
#include "poas/runtime.hpp"

namespace {

// --- an ordinary StarPU codelet -------------------------------------------------------------------

float below(float x) { return 0.5f * std::erfc(-x * 0.70710678f); }  // of the normal distribution

void black_scholes_cpu(void* buffers[], void* argument) noexcept {
  const auto* market = static_cast<const Market*>(argument);
  const auto vector = [buffers](int i) {
    return reinterpret_cast<float*>(STARPU_VECTOR_GET_PTR(buffers[i]));
  };
  const float *price = vector(0), *strike = vector(1), *years = vector(2);
  float *call = vector(3), *put = vector(4);
  for (std::size_t i = 0, n = STARPU_VECTOR_GET_NX(buffers[0]); i < n; i++) {
    const float discounted = strike[i] * std::exp(-market->riskless * years[i]);
    const float spread = market->volatility * std::sqrt(years[i]);
    const float d1 = std::log(price[i] / discounted) / spread + 0.5f * spread, d2 = d1 - spread;
    call[i] = price[i] * below(d1) - discounted * below(d2);
    put[i] = discounted * below(-d2) - price[i] * below(-d1);
  }
}

starpu_codelet codelet;  // both live until the process ends
poas::Divisible divisible("black_scholes", {"n"}, 0b1);

// --- what poas must know --------------------------------------------------------------------------

int describe(const starpu_task* task, poas_operation* operation) {
  operation->extent[0] = starpu_vector_get_nx(task->handles[0]);
  for (int i = 0; i < 5; i++) {
    if (starpu_vector_get_nx(task->handles[i]) != operation->extent[0]) {
      std::snprintf(operation->error, sizeof operation->error, "vector %d has another length than vector 0",
                    i);
      return -EINVAL;
    }
    operation->operand[i].naxes = 1;
    operation->operand[i].axis[0] = {POAS_SPLIT, 0, 0,
                                     0};  // items [a, b) of n need items [a, b) of the vector
  }
  operation->work_per_point = 100;  // flop of one option, about
  operation->type = POAS_FP32;
  return operation->extent[0] == 0;  // nothing to compute
}

void declare_codelet() {
  codelet.cpu_funcs[0] = black_scholes_cpu;
  codelet.nbuffers = 5;
  for (int i = 0; i < 5; i++) codelet.modes[i] = i < 3 ? STARPU_R : STARPU_W;
  codelet.name = "black_scholes";
  poas_implementation cpu{};
  cpu.name = "loop";
  cpu.unit = POAS_UNIT_CPU;
  cpu.type = POAS_FP32;
  cpu.precision = POAS_CLASS_FP32;
  divisible.describe(describe).implementation(cpu);
  add_opencl(codelet, divisible);
  divisible.attach(&codelet);
}

// --- the application ------------------------------------------------------------------------------

struct Options {
  std::vector<float> price, strike, years, call, put;
  explicit Options(std::size_t n) : price(n), strike(n), years(n), call(n), put(n) {
    for (std::size_t i = 0; i < n; i++) {
      price[i] = 100;
      strike[i] = 80 + static_cast<float>(i * 7919 % 4096) / 100;
      years[i] = 0.25f + static_cast<float>(i * 104729 % 1024) / 512;
    }
    // Known from textbooks: 100, 100, one year, 5 %, 20 % give 10.4506 and 5.5735.
    for (std::size_t i = 0; i < n; i += 4099) strike[i] = 100, years[i] = 1;
  }
};

// Largest error of the known prices and of put-call parity, relative to the price of the share.
double error_of(const Options& options, const Market& market) {
  double worst = 0;
  for (std::size_t i = 0; i < options.call.size(); i++) {
    const double parity =
        options.price[i] - options.strike[i] * std::exp(-double{market.riskless} * options.years[i]);
    double error = std::abs(double{options.call[i]} - options.put[i] - parity);
    if (i % 4099 == 0) error = std::max(error, std::abs(options.call[i] - 10.450583572));
    worst = std::max(worst, std::isnan(error) ? HUGE_VAL : error / 100);
  }
  return worst;
}

bool compute(Options& options, const Market& market) {
  starpu_data_handle_t handle[5];
  std::vector<float>* vectors[] = {&options.price, &options.strike, &options.years, &options.call,
                                   &options.put};
  for (int i = 0; i < 5; i++)
    starpu_vector_data_register(&handle[i], STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(vectors[i]->data()),
                                static_cast<uint32_t>(vectors[i]->size()), sizeof(float));
  // One ordinary submission: poas cuts it.
  starpu_task* task = starpu_task_create();
  task->cl = &codelet;
  task->cl_arg = const_cast<Market*>(&market);
  task->cl_arg_size = sizeof market;
  std::copy(handle, handle + 5, task->handles);
  const bool submitted = starpu_task_submit(task) == 0;
  if (!submitted) std::fprintf(stderr, "custom: the task was not accepted: no worker can run it\n");
  for (auto& one : handle) starpu_data_unregister(one);
  return submitted;
}

int run(std::size_t n, const std::string& json) {
  const Market market{0.05f, 0.2f};
  Options options(n);
  if (!compute(options, market)) return 1;
  const double error = error_of(options, market);
  const bool ok = error < 1e-5;
  const poas::Plan plan = poas::last_plan();
  std::printf("policy: %s\n%s", starpu_sched_get_sched_policy()->policy_name, poas::explain(plan).c_str());
  std::printf("%zu options, largest error %.1e: %s\n", n, error, ok ? "right" : "WRONG");
  if (!json.empty()) {
    std::ofstream file(json);
    file << "{\"ok\": " << (ok ? "true" : "false") << ", \"relative_error\": " << error
         << ", \"plan\": " << poas::to_json(plan) << "}\n";
    if (!file.flush()) {
      std::fprintf(stderr, "custom: %s was not written: check the folder and the free space\n", json.c_str());
      return 1;
    }
  }
  return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t n = 1 << 22;
  std::string json;
  CLI::App app("Prices options by a divisible codelet of your own on all devices of the node.");
  app.add_option("-n,--size", n, "number of options, as 4096, 16k or 4m")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 31));
  app.add_option("--json", json, "write result and plan to this file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  starpu_conf conf;
  starpu_conf_init(&conf);
  poas_conf_init(&conf);  // STARPU_SCHED, if set, still wins
  if (starpu_init(&conf) != 0) {
    std::fprintf(stderr, "custom: StarPU found no worker: check STARPU_NCPU\n");
    return 77;
  }
  int code = 1;
  try {
    declare_codelet();
    code = run(n, json);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "custom: %s\n", error.what());
  }
  remove_opencl();
  starpu_shutdown();
  return code;
}
