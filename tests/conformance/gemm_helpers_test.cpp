// Ways to submit a GEMM, sizes of 0, registration, samples, and who may run what.
#include <gtest/gtest.h>

#include <cerrno>

#include "conformance/gemm_task.hpp"

namespace poas::test {
namespace {

struct Operands {
  Matrix<float> a = random_matrix<float>(20, 30, 21, 1), b = random_matrix<float>(30, 10, 31, 2),
                before = random_matrix<float>(20, 10, 22, 3), after = before;
};

TEST(GemmHelpers, TaskInsertTakesBothModesOfC) {
  for (double beta : {0.0, 1.0}) {
    Operands o;
    poas_gemm_args args{POAS_GEMM_VERSION, POAS_FP32, 'N', 'N', 1, beta, POAS_CLASS_DEFAULT};
    {
      const Handle a(o.a), b(o.b), c(o.after);
      ASSERT_EQ(starpu_task_insert(poas_gemm_codelet(), STARPU_R, starpu_data_handle_t(a), STARPU_R,
                                   starpu_data_handle_t(b), beta == 0 ? STARPU_W : STARPU_RW,
                                   starpu_data_handle_t(c), STARPU_CL_ARGS_NFREE, &args, sizeof args, 0), 0);
      starpu_task_wait_for_all();
    }
    EXPECT_LT(gemm_error({'N', 'N', 20, 10, 30, 1, beta}, o.a, o.b, o.before, o.after), 1);
  }
}

TEST(GemmHelpers, TypedHelpersCompute) {
  for (auto submit : {poas_gemm, poas_gemm_resident})
    for (double beta : {0.0, -0.5}) {
      Operands o;
      {
        const Handle a(o.a), b(o.b), c(o.after);
        ASSERT_EQ(submit('n', 'n', -0.5, a, b, beta, c, POAS_FP32, POAS_CLASS_FP32), 0) << poas_last_error();
      }
      EXPECT_LT(gemm_error({'N', 'N', 20, 10, 30, -0.5, beta}, o.a, o.b, o.before, o.after), 1);
    }
}

TEST(GemmHelpers, NothingToComputeIsSuccess) {
  // A task can be waited for a moment before it stops counting as submitted.
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  Operands o;
  {
    const Handle a(o.a), b(o.b), c(o.after), empty_a(o.a.values.data(), 1, 0, 30, 4),
        empty_c(o.after.values.data(), 1, 0, 10, 4);
    EXPECT_EQ(poas_gemm('N', 'N', 1, empty_a, b, 0, empty_c, POAS_FP32, POAS_CLASS_DEFAULT), 0);
    EXPECT_EQ(poas_gemm('N', 'N', 0, a, b, 1, c, POAS_FP32, POAS_CLASS_DEFAULT), 0);
    EXPECT_EQ(starpu_task_nsubmitted(), 0);
  }
  EXPECT_TRUE(padding_untouched(o.after));
  EXPECT_EQ(gemm_error({'N', 'N', 20, 10, 30, 0, 1}, o.a, o.b, o.before, o.after), 0);
}

// Without inner elements C becomes beta C: exact for a power of two.
TEST(GemmHelpers, InnerSizeZeroScalesC) {
  for (double beta : {0.0, -0.5}) {
    Operands o;
    o.a.columns = o.b.rows = 0;
    {
      const Handle a(o.a.values.data(), 21, 20, 0, 4), b(o.b.values.data(), 31, 0, 10, 4), c(o.after);
      ASSERT_EQ(poas_gemm('N', 'N', 1, a, b, beta, c, POAS_FP32, POAS_CLASS_DEFAULT), 0) << poas_last_error();
    }
    EXPECT_EQ(gemm_error({'N', 'N', 20, 10, 0, 1, beta}, o.a, o.b, o.before, o.after), 0) << beta;
  }
}

TEST(MatrixRegister, RefusesWhatStarpuCannotCount) {
  starpu_data_handle_t handle = nullptr;
  const auto registered = [&](std::uint64_t ld, std::uint64_t rows, std::uint64_t cols, std::size_t element) {
    return poas_matrix_register(&handle, -1, 0, ld, rows, cols, element);
  };
  EXPECT_EQ(registered(3, 4, 1, 4), -EINVAL);
  EXPECT_EQ(registered(4, 4, 1, 0), -EINVAL);
  EXPECT_EQ(registered(1ull << 32, 4, 1, 4), -EOVERFLOW);
  EXPECT_EQ(registered(4, 4, 1ull << 32, 4), -EOVERFLOW);
  EXPECT_EQ(registered(0xffffffff, 0xffffffff, 0xffffffff, 8), -EOVERFLOW);
  EXPECT_EQ(poas_matrix_register(nullptr, -1, 0, 4, 4, 4, 4), -EINVAL);
  EXPECT_EQ(poas_matrix_register(&handle, STARPU_MAIN_RAM, 0, 4, 4, 4, 4), -EINVAL);
  EXPECT_EQ(handle, nullptr);
}

TEST(MatrixRegister, CountsBytesIn64Bits) {
  starpu_data_handle_t handle = nullptr;
  ASSERT_EQ(poas_matrix_register(&handle, -1, 0, 1u << 17, 1u << 17, 1u << 16, 4), 0);
  const auto* matrix = static_cast<const starpu_matrix_interface*>(
      starpu_data_get_interface_on_node(handle, STARPU_MAIN_RAM));
  EXPECT_EQ(matrix->allocsize, std::size_t{1} << 35);
  starpu_data_unregister_no_coherency(handle);
}

TEST(GemmSample, IsARightTaskWithRandomContents) {
  const poas_divisible& d = *poas_gemm_divisible();
  const std::uint64_t extent[POAS_MAX_DIMS] = {33, 17, 65, 1, 1, 1, 1, 1};
  for (poas_type type : {POAS_FP64, POAS_FP32, POAS_FP16, POAS_BF16}) {
    starpu_task* task = d.make_sample(extent, type);
    ASSERT_NE(task, nullptr);
    poas_operation operation{};
    ASSERT_EQ(d.describe(task, &operation), 0) << operation.error;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(operation.extent[i], extent[i]);
    EXPECT_EQ(operation.type, type);
    EXPECT_EQ(starpu_task_submit(task), 0);
    EXPECT_EQ(starpu_task_wait(task), 0);
    d.free_sample(task);
  }
  const std::uint64_t empty[POAS_MAX_DIMS] = {33, 0, 65, 1, 1, 1, 1, 1};
  EXPECT_EQ(d.make_sample(empty, POAS_FP32), nullptr);
}

// StarPU asks can_execute for every implementation: precision is a promise under every policy.
TEST(GemmCodelet, NoWorkerMayRunLessThanTheClassAskedFor) {
  Operands o;
  const Handle a(o.a), b(o.b), c(o.after);
  poas_gemm_args args{POAS_GEMM_VERSION, POAS_FP32, 'N', 'N', 1, 0, POAS_CLASS_FP32};
  starpu_task* task = make_task(poas_gemm_codelet(), &args, a, b, c, STARPU_W);
  const auto allowed = [&](unsigned worker, unsigned nimpl) {
    return poas_gemm_codelet()->can_execute(worker, task, nimpl) != 0;
  };
  for (unsigned worker = 0; worker < starpu_worker_get_count(); ++worker)
    for (unsigned nimpl = 0; nimpl < STARPU_MAXIMPLEMENTATIONS; ++nimpl)
      EXPECT_EQ(allowed(worker, nimpl), nimpl == 0) << worker << ' ' << nimpl;
  starpu_task_destroy(task);
}

}  // namespace
}  // namespace poas::test
