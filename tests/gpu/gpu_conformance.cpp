// Products on CPU, CUDA cores and Tensor cores of real GPUs: gpu_conformance [random|large|starts|plans|zeros]...
//   random  100 random shapes for every type and class, with owners of every kind: right?
//   large   n = 16384 from host memory to host memory beside copy, cuBLAS, copy back: right?  (times are shown)
//   starts  100 times start, product, stop with two workers on each GPU
//   plans   60 random products of 1e10 flop and more: predicted within 12 % of measured in 9 of 10?
//   zeros   large products in the GPU's memory, on zeros beside random values: do models tell of the latter?
// Ends with 0 (all right), 1 (something wrong), 2 (bad usage) or 77 (no GPU).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "baseline.hpp"
#include "check.hpp"
#include "gpu_conformance.hpp"
#include "poas/gemm.h"
#include "poas/runtime.hpp"
#include "product.hpp"

static unsigned wrong = 0;

void expect(bool condition, const std::string& what) {
  if (condition) return;
  wrong++;
  std::printf("WRONG: %s\n", what.c_str());
}

namespace {

std::string words(const Options& o) {
  char text[160];
  std::snprintf(text, sizeof text, "%s %s%c%c %llu x %llu x %llu, alpha %g, beta %g", poas::to_string(o.type),
                o.precision ? poas::to_string(*o.precision) : "", o.transa, o.transb,
                static_cast<unsigned long long>(o.m), static_cast<unsigned long long>(o.n),
                static_cast<unsigned long long>(o.k), o.alpha, o.beta);
  return text;
}

void expect_right(const Options& options, const Operands& operands) {
  const CheckResult result = check(options, promised(options), operands.a, operands.b, operands.c);
  char text[120];
  std::snprintf(text, sizeof text, ": error %.2e of at most %.2e, random product %.2g of its bound",
                result.relative_error, result.tolerance, result.product_error);
  expect(result.ok(), words(options) + text);
}

unsigned units_used(const poas::Plan& plan) {
  unsigned used = 0;
  for (const auto& unit : plan.units) used += unit.share > 0 ? 1 : 0;
  return used;
}

struct Class {
  poas::Type type;
  std::optional<poas::Precision> precision;
};

const Class classes[] = {{poas::Type::fp32, std::nullopt},
                         {poas::Type::fp32, poas::Precision::tf32},
                         {poas::Type::fp64, std::nullopt},
                         {poas::Type::fp16, std::nullopt},
                         {poas::Type::bf16, std::nullopt}};

Options random_options(const Class& one, std::mt19937& random) {
  const double scalars[] = {0, 1, -0.5};
  Options o;
  o.m = 1 + random() % 700, o.n = 1 + random() % 700, o.k = 1 + random() % 700;
  o.transa = "NT"[random() % 2], o.transb = "NT"[random() % 2];
  o.alpha = scalars[random() % 3], o.beta = scalars[random() % 3];
  o.type = one.type;
  o.precision = one.precision;
  o.seed = random();
  return o;
}

void random_shapes() {
  setenv("POAS_SPLIT", "always", 1);
  StarPU starpu;
  std::mt19937 random(2);
  for (const Class& one : classes) {
    unsigned mixed = 0;
    const unsigned before = wrong;
    for (int i = 0; i < 100; i++) {
      const Options options = random_options(one, random);
      Operands operands(options);
      multiply(options, operands);
      expect_right(options, operands);
      mixed += units_used(poas::last_plan()) >= 2 ? 1 : 0;
    }
    const bool alone = starpu_cpu_worker_get_count() == 0 && starpu_cuda_worker_get_count() == 1;
    expect(alone || mixed > 30, "too few products had several owners to prove anything");
    std::printf("%s %s: 100 shapes, %u on several units, %u wrong\n", poas::to_string(one.type),
                one.precision ? poas::to_string(*one.precision) : "", mixed, wrong - before);
  }
}

// Five products in a row on one result, without waiting in between, are five times the product.
void repeated_product() {
  setenv("POAS_SPLIT", "always", 1);
  StarPU starpu;
  Options options;
  options.m = 600, options.n = 500, options.k = 300, options.beta = 1;
  Operands operands(options);
  multiply_times(options, operands, 5);
  options.alpha = 5;
  expect_right(options, operands);
  std::printf("five products in a row on one C\n");
}

void large_product(std::optional<poas::Precision> precision) {
  Options options;
  options.m = options.n = options.k = 16384;
  options.precision = precision;
  options.repetitions = 3;
  Operands operands(options);
  std::vector<double> seconds;
  for (unsigned i = 0; i <= options.repetitions; i++) {
    const double time = multiply(options, operands);
    if (i > 0) seconds.push_back(time);
  }
  const poas::Plan plan = poas::last_plan();
  multiply_anew(options, operands);
  starpu_pause();
  expect_right(options, operands);
  const auto plain = copy_gemm_copy(options, promised(options), operands.a, operands.b, operands.c);
  starpu_resume();
  std::printf("%-6s %10.1f %12.1f %18.1f\n", poas::to_string(promised(options)), 1e3 * median(seconds),
              1e3 * plan.makespan, plain ? 1e3 * *plain : 0.0);
}

void large_products() {
  StarPU starpu;
  std::printf("n = 16384 fp32, ms, host memory to host memory\n%-6s %10s %12s %18s\n", "class", "poas",
              "predicted", "copy, GEMM, copy");
  large_product(std::nullopt);
  large_product(poas::Precision::tf32);
}

// Extents log-uniform in 512 to 12288, a third of the shapes ragged; fp32, TF32 and fp64 in turn.
Options random_large(unsigned i, std::mt19937& random) {
  std::uniform_real_distribution<double> exponent(std::log(512.0), std::log(12288.0));
  const auto extent = [&] {
    const auto size = static_cast<std::uint64_t>(std::exp(exponent(random)));
    return i / 3 % 3 == 0 ? size : size / 8 * 8;
  };
  Options o;
  do {
    o.m = extent(), o.n = extent(), o.k = extent();
  } while (2.0 * static_cast<double>(o.m) * static_cast<double>(o.n) * static_cast<double>(o.k) < 1e10);
  if (i % 3 == 1) o.precision = poas::Precision::tf32;
  if (i % 3 == 2) o.type = poas::Type::fp64;
  o.seed = random();
  return o;
}

// Links, costs of tasks and the CPU have no models that came with poas.
void calibrate_if_needed() {
  if (poas::current_models().machine) return;
  poas::CalibrationOptions options;
  options.budget = 30;
  options.types = {poas::Type::fp32, poas::Type::fp64};
  poas::use_models(poas::calibrate(poas_gemm_codelet(), options));
}

void plans() {
  constexpr unsigned products = 60, repetitions = 5;
  StarPU starpu;
  calibrate_if_needed();
  std::mt19937 random(60);
  unsigned near = 0;
  double sum = 0;
  for (unsigned i = 0; i < products; ++i) {
    const Options options = random_large(i, random);
    Operands operands(options);
    multiply(options, operands);
    const double predicted = poas::last_plan().makespan;
    std::vector<double> seconds;
    for (unsigned j = 0; j < repetitions; ++j) seconds.push_back(multiply(options, operands));
    const double error = predicted / median(seconds) - 1;
    near += std::abs(error) <= 0.12 ? 1 : 0;
    sum += std::abs(error);
    multiply_anew(options, operands);
    starpu_pause();
    expect_right(options, operands);
    starpu_resume();
    std::printf("%-50s predicted %8.2f ms, measured %8.2f (%.2f to %.2f), %+5.1f %%, %u units\n", words(options).c_str(),
                1e3 * predicted, 1e3 * median(seconds), 1e3 * *std::min_element(seconds.begin(), seconds.end()),
                1e3 * *std::max_element(seconds.begin(), seconds.end()), 100 * error, units_used(poas::last_plan()));
  }
  std::printf("%u of %u predictions within 12 %%, mean error %.1f %%\n", near, products, 100 * sum / products);
  expect(near * 10 >= products * 9, "fewer than 9 of 10 predictions were within 12 % of the measured time");
}

void starts() {
  setenv("STARPU_NWORKER_PER_CUDA", "2", 1);
  setenv("POAS_SPLIT", "always", 1);
  for (unsigned i = 0; i < 100; i++) {
    StarPU starpu;
    Options options;
    options.m = 300, options.n = 400, options.k = 200, options.seed = i;
    Operands operands(options);
    multiply(options, operands);
    expect_right(options, operands);
  }
  std::printf("100 starts with two workers on each GPU\n");
}

struct Part {
  const char* name;
  void (*run)();
};

const Part parts[] = {
    {"random", random_shapes}, {"random", repeated_product}, {"large", large_products}, {"starts", starts},
    {"plans", plans}, {"zeros", zeros}};

bool asked_for(const char* name, int argc, char** argv) {
  for (int i = 1; i < argc; i++)
    if (std::strcmp(argv[i], name) == 0) return true;
  return argc == 1;
}

bool usage_is_right(int argc, char** argv) {
  for (int i = 1; i < argc; i++) {
    bool known = false;
    for (const Part& part : parts) known = known || std::strcmp(argv[i], part.name) == 0;
    if (!known) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (!usage_is_right(argc, argv)) {
    std::fprintf(
        stderr,
        "gpu_conformance: unknown part: there are random, large, starts, plans and zeros: name some, or none for all\n");
    return 2;
  }
  setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    for (const Part& part : parts)
      if (asked_for(part.name, argc, argv)) part.run();
  } catch (const std::exception& error) {
    expect(false, error.what());
  }
  return wrong == 0 ? 0 : 1;
}
