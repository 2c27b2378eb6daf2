// Wrong input is refused with words and nothing is computed; nothing to do is done.
#include <limits>

#include "support.hpp"

namespace poas_test {
namespace {

using Matrix = std::vector<float>;

// A handle on a matrix that need not be sensible.
class Handle {
 public:
  Handle(Matrix& matrix, std::size_t offset, std::uint32_t ld, std::uint32_t rows, std::uint32_t columns) {
    starpu_matrix_data_register(&handle_, STARPU_MAIN_RAM,
                                reinterpret_cast<uintptr_t>(matrix.data() + offset), ld, rows, columns,
                                sizeof(float));
  }
  Handle(const Handle&) = delete;
  ~Handle() { starpu_data_unregister(handle_); }
  operator starpu_data_handle_t() const { return handle_; }

 private:
  starpu_data_handle_t handle_ = nullptr;
};

int multiply(starpu_data_handle_t a, starpu_data_handle_t b, starpu_data_handle_t c) {
  return poas_gemm('N', 'N', 1, a, b, 0, c, POAS_FP32, POAS_CLASS_DEFAULT);
}

class Input : public testing::Test {
 protected:
  void expect_untouched() {
    starpu_task_wait_for_all();
    for (float one : c) ASSERT_EQ(one, 5);
  }
  Runtime runtime;
  Matrix a = Matrix(10000, 1), b = Matrix(10000, 1), c = Matrix(10000, 5);
};

TEST_F(Input, ShapesThatDoNotFit) {
  Handle ha(a, 0, 100, 100, 50), hb(b, 0, 40, 40, 60), hc(c, 0, 100, 100, 60);
  EXPECT_EQ(multiply(ha, hb, hc), -EINVAL);
  EXPECT_STRNE(poas_last_error(), "");
  expect_untouched();
}

TEST_F(Input, RawTaskWithShapesThatDoNotFit) {
  Handle ha(a, 0, 100, 100, 50), hb(b, 0, 40, 40, 60), hc(c, 0, 100, 100, 60);
  starpu_task* task = Product<float>::task({100, 60, 50}, ha, hb, hc);
  task->detach = 0;
  task->destroy = 0;
  ASSERT_EQ(starpu_task_submit(task), 0);
  ASSERT_EQ(starpu_task_wait(task), 0);
  EXPECT_EQ(poas_task_status(task), -EINVAL);
  EXPECT_STRNE(poas_last_error(), "");
  starpu_task_destroy(task);
  expect_untouched();
  const auto records = runtime.records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0]["status"], -EINVAL);
}

TEST_F(Input, FrontEndWithShapesThatDoNotFit) {
  Handle ha(a, 0, 100, 100, 50), hb(b, 0, 40, 40, 60), hc(c, 0, 100, 100, 60);
  starpu_task* task = Product<float>::task({100, 60, 50}, ha, hb, hc);
  EXPECT_EQ(poas_task_submit(task), -EINVAL);
  EXPECT_STRNE(poas_last_error(), "");
  task->destroy = 0;
  starpu_task_destroy(task);
  expect_untouched();
}

// StarPU itself stops the process here, so the helper has to refuse first.
TEST_F(Input, LeadingDimensionTooSmall) {
  starpu_data_handle_t handle = nullptr;
  EXPECT_EQ(
      poas_matrix_register(&handle, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(a.data()), 20, 50, 50, 4),
      -EINVAL);
  EXPECT_EQ(handle, nullptr);
  EXPECT_STRNE(poas_last_error(), "");
}

TEST_F(Input, ResultOverlapsAnInput) {
  Handle ha(c, 0, 50, 50, 50), hb(b, 0, 50, 50, 50), hc(c, 2450, 50, 50, 50);
  EXPECT_EQ(multiply(ha, hb, hc), -EINVAL);
  expect_untouched();
}

TEST_F(Input, ResultIsAnInput) {
  Handle hb(b, 0, 50, 50, 50), hc(c, 0, 50, 50, 50);
  EXPECT_EQ(multiply(hc, hb, hc), -EINVAL);
  expect_untouched();
}

// Upper and lower half of the rows of one array share no element.
TEST_F(Input, InterleavedBlocksAreLegal) {
  std::fill(c.begin(), c.end(), 1.f);
  {
    Handle ha(c, 0, 100, 50, 50), hb(b, 0, 50, 50, 50), hc(c, 50, 100, 50, 50);
    ASSERT_EQ(multiply(ha, hb, hc), 0) << poas_last_error();
  }
  for (std::size_t j = 0; j < 50; j++)
    for (std::size_t i = 0; i < 100; i++) ASSERT_EQ(c[i + 100 * j], i < 50 ? 1 : 50);
}

TEST_F(Input, UnknownType) {
  Handle ha(a, 0, 50, 50, 50), hb(b, 0, 50, 50, 50), hc(c, 0, 50, 50, 50);
  EXPECT_EQ(poas_gemm('N', 'N', 1, ha, hb, 0, hc, static_cast<poas_type>(99), POAS_CLASS_DEFAULT), -EINVAL);
  EXPECT_EQ(poas_gemm('N', 'N', 1, ha, hb, 0, hc, POAS_FP64, POAS_CLASS_DEFAULT), -EINVAL);  // fp32 handles
  EXPECT_EQ(poas_gemm('X', 'N', 1, ha, hb, 0, hc, POAS_FP32, POAS_CLASS_DEFAULT), -EINVAL);
  EXPECT_EQ(poas_gemm('N', 'N', 1, ha, hb, 0, hc, POAS_FP32, static_cast<poas_precision>(99)), -EINVAL);
  expect_untouched();
}

TEST_F(Input, WrongVersionOfTheArguments) {
  Handle ha(a, 0, 50, 50, 50), hb(b, 0, 50, 50, 50), hc(c, 0, 50, 50, 50);
  starpu_task* task = Product<float>::task({50, 50, 50}, ha, hb, hc);
  static_cast<poas_gemm_args*>(task->cl_arg)->version = POAS_GEMM_VERSION + 1;
  EXPECT_EQ(poas_task_submit(task), -EINVAL);
  task->destroy = 0;
  starpu_task_destroy(task);
  expect_untouched();
}

TEST_F(Input, NullHandle) {
  Handle hb(b, 0, 50, 50, 50), hc(c, 0, 50, 50, 50);
  EXPECT_EQ(multiply(nullptr, hb, hc), -EINVAL);
  EXPECT_EQ(multiply(hb, hb, nullptr), -EINVAL);
  expect_untouched();
}

TEST_F(Input, ReadOnlyResult) {
  Handle ha(a, 0, 50, 50, 50), hb(b, 0, 50, 50, 50), hc(c, 0, 50, 50, 50);
  starpu_task* task = Product<float>::task({50, 50, 50}, ha, hb, hc);
  task->modes[2] = STARPU_R;
  EXPECT_EQ(poas_task_submit(task), -EINVAL);
  task->destroy = 0;
  starpu_task_destroy(task);
  expect_untouched();
}

TEST_F(Input, BetaOnAResultThatIsOnlyWritten) {
  Handle ha(a, 0, 50, 50, 50), hb(b, 0, 50, 50, 50), hc(c, 0, 50, 50, 50);
  starpu_task* task = Product<float>::task({50, 50, 50, 'N', 'N', 1, 1}, ha, hb, hc);
  task->modes[2] = STARPU_W;
  EXPECT_EQ(poas_task_submit(task), -EINVAL);
  task->destroy = 0;
  starpu_task_destroy(task);
  expect_untouched();
}

TEST_F(Input, NothingToCompute) {
  {
    Handle ha(a, 0, 50, 50, 50), hb(b, 0, 50, 50, 0), hc(c, 0, 50, 50, 0);
    EXPECT_EQ(multiply(ha, hb, hc), 0) << poas_last_error();
  }
  {  // k = 0 and beta = 1 leave C as it is
    Handle ha(a, 0, 50, 50, 0), hb(b, 0, 50, 0, 50), hc(c, 0, 50, 50, 50);
    EXPECT_EQ(poas_gemm('N', 'N', 1, ha, hb, 1, hc, POAS_FP32, POAS_CLASS_DEFAULT), 0) << poas_last_error();
  }
  {
    Handle ha(a, 0, 50, 50, 50), hb(b, 0, 50, 50, 50), hc(c, 0, 50, 50, 50);
    EXPECT_EQ(poas_gemm('N', 'N', 0, ha, hb, 1, hc, POAS_FP32, POAS_CLASS_DEFAULT), 0) << poas_last_error();
  }
  expect_untouched();
}

// k = 0 and beta = 0 set C to zero, as in BLAS.
TEST_F(Input, EmptySumOverwrites) {
  {
    Handle ha(a, 0, 50, 50, 0), hb(b, 0, 50, 0, 50), hc(c, 0, 50, 50, 50);
    ASSERT_EQ(multiply(ha, hb, hc), 0) << poas_last_error();
  }
  for (std::size_t i = 0; i < 2500; i++) ASSERT_EQ(c[i], 0);
}

TEST_F(Input, SizesThatOverflow) {
  starpu_data_handle_t handle = nullptr;
  const auto pointer = reinterpret_cast<uintptr_t>(c.data());
  const std::uint64_t big = std::uint64_t{1} << 32, most = std::numeric_limits<std::uint32_t>::max();
  EXPECT_EQ(poas_matrix_register(&handle, STARPU_MAIN_RAM, pointer, big, big, 1, 4), -EOVERFLOW);
  EXPECT_EQ(poas_matrix_register(&handle, STARPU_MAIN_RAM, pointer, most, most, most, 8), -EOVERFLOW);
  EXPECT_EQ(poas_matrix_register(&handle, STARPU_MAIN_RAM, pointer, 10, 20, 1, 4), -EINVAL);
  EXPECT_EQ(poas_matrix_register(&handle, STARPU_MAIN_RAM, 0, 20, 20, 1, 4), -EINVAL);
  EXPECT_EQ(handle, nullptr);
}

}  // namespace
}  // namespace poas_test
