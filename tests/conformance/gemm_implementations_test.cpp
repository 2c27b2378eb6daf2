// Every implementation of GEMM that this build has and this machine offers, against the reference.
#include <gtest/gtest.h>

#include <string>

#include "conformance/gemm_task.hpp"

namespace poas::test {
namespace {

starpu_worker_archtype arch_of(poas_unit_kind unit) {
  switch (unit) {
    case POAS_UNIT_CPU: return STARPU_CPU_WORKER;
    case POAS_UNIT_OPENCL: return STARPU_OPENCL_WORKER;
    default: return STARPU_CUDA_WORKER;
  }
}

// A codelet with this one implementation, so that no policy can take another.
starpu_codelet alone(const poas_implementation& one) {
  const starpu_codelet& all = *poas_gemm_codelet();
  starpu_codelet codelet{};
  starpu_codelet_init(&codelet);
  codelet.name = one.name;
  codelet.nbuffers = STARPU_VARIABLE_NBUFFERS;
  switch (arch_of(one.unit)) {
    case STARPU_CPU_WORKER: codelet.cpu_funcs[0] = all.cpu_funcs[one.nimpl]; break;
    case STARPU_OPENCL_WORKER:
      codelet.opencl_funcs[0] = all.opencl_funcs[one.nimpl];
      codelet.opencl_flags[0] = all.opencl_flags[one.nimpl];
      break;
    default:
      codelet.cuda_funcs[0] = all.cuda_funcs[one.nimpl];
      codelet.cuda_flags[0] = all.cuda_flags[one.nimpl];
  }
  return codelet;
}

// Why this machine cannot run it, nullptr if it can.
const char* missing(const poas_implementation& one) {
  const int worker = starpu_worker_get_by_type(arch_of(one.unit), 0);
  if (worker < 0) return "no worker of its kind";
  const char* why = nullptr;
  return one.offered && one.offered(nullptr, worker, &why) != 1 ? why : nullptr;
}

template <typename Element>
Rounding rounding_in(poas_precision precision) {
  return precision == POAS_CLASS_TF32 ? tf32_rounding : rounding_of<Element>();
}

struct Computation {
  starpu_codelet* codelet;
  poas_precision precision;
  std::uint64_t padding = 0;
};

template <typename Element>
void expect_right(const Computation& run, const GemmCase& c) {
  const bool ta = c.transa == 'T', tb = c.transb == 'T';
  const std::uint64_t rows_a = ta ? c.k : c.m, rows_b = tb ? c.n : c.k;
  auto a = random_matrix<Element>(rows_a, ta ? c.m : c.k, rows_a + run.padding, 11);
  auto b = random_matrix<Element>(rows_b, tb ? c.k : c.n, rows_b + 2 * run.padding, 12);
  auto before = random_matrix<Element>(c.m, c.n, c.m + 3 * run.padding, 13);
  // What BLAS must not read is made unusable.
  const float nan = std::numeric_limits<float>::quiet_NaN();
  auto after = before;
  if (c.beta == 0)
    for (Element& one : after.values) codelets::store(nan, one);
  if (c.alpha == 0)
    for (Element& one : a.values) codelets::store(nan, one);
  poas_gemm_args args{POAS_GEMM_VERSION, type_of<Element>(), c.transa, c.transb, c.alpha, c.beta, run.precision};
  {
    const Handle ha(a), hb(b), hc(after);
    starpu_task* task = make_task(run.codelet, &args, ha, hb, hc, c.beta == 0 ? STARPU_W : STARPU_RW);
    ASSERT_EQ(starpu_task_submit(task), 0);
    ASSERT_EQ(starpu_task_wait(task), 0);
    starpu_task_destroy(task);
  }
  const std::string what = std::string{c.transa, c.transb} + " " + std::to_string(c.m) + "x" + std::to_string(c.n) +
                           "x" + std::to_string(c.k) + " alpha " + std::to_string(c.alpha) + " beta " +
                           std::to_string(c.beta) + " padding " + std::to_string(run.padding);
  EXPECT_LT(gemm_error(c, a, b, before, after, rounding_in<Element>(run.precision)), 1) << what;
  EXPECT_TRUE(padding_untouched(after)) << what;
}

void expect_right(const Computation& run, poas_type type, const GemmCase& c) {
  switch (type) {
    case POAS_FP64: return expect_right<double>(run, c);
    case POAS_FP32: return expect_right<float>(run, c);
    case POAS_FP16: return expect_right<Fp16>(run, c);
    case POAS_BF16: return expect_right<Bf16>(run, c);
  }
}

class Implementation : public testing::TestWithParam<poas_implementation> {
 protected:
  void SetUp() override {
    if (const char* why = missing(GetParam())) GTEST_SKIP() << GetParam().name << " cannot run here: " << why;
  }
  // Calls with every transposition.
  void expect_all_transpositions(std::uint64_t m, std::uint64_t n, std::uint64_t k, double alpha, double beta,
                                 std::uint64_t padding) {
    const Computation run{&codelet_, GetParam().precision, padding};
    for (char ta : {'N', 'T'})
      for (char tb : {'N', 'T'}) expect_right(run, GetParam().type, {ta, tb, m, n, k, alpha, beta});
  }

  starpu_codelet codelet_ = alone(GetParam());
};

TEST_P(Implementation, FactorsAndTranspositions) {
  for (double alpha : {1.0, 0.0, -0.5})
    for (double beta : {0.0, 1.0, -0.5}) expect_all_transpositions(37, 29, 43, alpha, beta, 3);
}

// One below and above the tiles of the kernels, alone and in all dimensions.
TEST_P(Implementation, SizesJustOffTheAlignment) {
  for (std::uint64_t size : {1, 15, 16, 17, 63, 64, 65, 127, 129}) {
    expect_all_transpositions(size, 33, 32, 1, 0, 0);
    expect_all_transpositions(32, size, 33, 1, -0.5, 1);
    expect_all_transpositions(33, 32, size, -0.5, 1, 0);
    expect_all_transpositions(size, size, size, 1, 0, 0);
  }
}

// Beyond the tiles of the conversion of 16-bit types, and large enough for packed kernels.
TEST_P(Implementation, LargerThanOneTile) {
  expect_all_transpositions(513, 67, 1030, -0.5, 1, 5);
  expect_all_transpositions(67, 515, 519, 1, 0, 0);
  expect_all_transpositions(449, 451, 453, 1, -0.5, 1);
}

std::vector<poas_implementation> built() {
  const poas_divisible& d = *poas_gemm_divisible();
  return {d.implementations, d.implementations + d.nimplementations};
}

INSTANTIATE_TEST_SUITE_P(Gemm, Implementation, testing::ValuesIn(built()), [](const auto& one) {
  std::string name = one.param.name;
  for (char& letter : name)
    if (letter == '-') letter = '_';
  return name;
});

}  // namespace
}  // namespace poas::test
