// What a GEMM task must not be, each with its words; and that such a task computes nothing.
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <string>

#include "conformance/gemm_task.hpp"

namespace poas::test {
namespace {

class Refusals : public testing::Test {
 protected:
  static constexpr std::uint64_t m = 4, n = 5, k = 6;
  Refusals()
      : a_(random_matrix<float>(m, k, m, 1)), b_(random_matrix<float>(k, n, k, 2)),
        c_(random_matrix<float>(m, n, m, 3)), ha_(a_), hb_(b_), hc_(c_),
        task_(make_task(poas_gemm_codelet(), &args_, ha_, hb_, hc_, STARPU_RW)) {}
  ~Refusals() override { starpu_task_destroy(task_); }

  // describe() must return -EINVAL with words that contain `part`.
  void expect_refused(const std::string& part) {
    poas_operation operation{};
    EXPECT_EQ(poas_gemm_divisible()->describe(task_, &operation), -EINVAL) << part;
    const std::string words = operation.error;
    EXPECT_NE(words.find(part), std::string::npos) << "'" << words << "' lacks '" << part << "'";
    EXPECT_LT(words.size() + 1, sizeof operation.error) << "cut off: " << words;
  }
  int described(poas_operation* operation) { return poas_gemm_divisible()->describe(task_, operation); }

  poas_gemm_args args_{POAS_GEMM_VERSION, POAS_FP32, 'N', 'N', 1, 1, POAS_CLASS_DEFAULT};
  Matrix<float> a_, b_, c_;
  Handle ha_, hb_, hc_;
  starpu_task* task_;
};

TEST_F(Refusals, ARightTaskIsDescribed) {
  poas_operation operation{};
  ASSERT_EQ(described(&operation), 0) << operation.error;
  EXPECT_EQ(operation.extent[0], m);
  EXPECT_EQ(operation.extent[1], n);
  EXPECT_EQ(operation.extent[2], k);
  EXPECT_STREQ(operation.variant, "NN");
  EXPECT_EQ(operation.work_per_point, 2);
  EXPECT_EQ(operation.precision, POAS_CLASS_DEFAULT);
}

TEST_F(Refusals, Arguments) {
  task_->cl_arg = nullptr;
  expect_refused("cl_arg is null");
  task_->cl_arg = &args_;
  task_->cl_arg_size = 3;
  expect_refused("cl_arg has 3 bytes");
  task_->cl_arg_size = sizeof args_;
  args_.version = 77;
  expect_refused("version");
  args_.version = POAS_GEMM_VERSION;
  args_.type = static_cast<poas_type>(9);
  expect_refused("element type");
  args_.type = POAS_FP32;
  args_.transa = 'C';
  expect_refused("transa or transb");
  args_.transa = 'n';
  args_.transb = 0;
  expect_refused("transa or transb");
  args_.transb = 'N';
  for (poas_precision wrong : {POAS_CLASS_FP16, POAS_CLASS_FP64, static_cast<poas_precision>(42)}) {
    args_.precision = wrong;
    expect_refused("precision class");
  }
  args_.precision = POAS_CLASS_TF32;
  poas_operation operation{};
  EXPECT_EQ(described(&operation), 0);
}

TEST_F(Refusals, HandlesAndModes) {
  task_->nbuffers = 2;
  expect_refused("2 handles");
  task_->nbuffers = 3;
  task_->handles[1] = nullptr;
  expect_refused("handle of B is null");
  starpu_data_handle_t vector = nullptr;
  starpu_vector_data_register(&vector, STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(b_.values.data()), 4, 4);
  task_->handles[1] = vector;
  expect_refused("B is not a matrix");
  starpu_data_unregister(vector);
  task_->handles[1] = hb_;
  task_->modes[0] = STARPU_RW;
  expect_refused("mode of A");
  task_->modes[0] = STARPU_R;
  task_->modes[2] = STARPU_R;
  expect_refused("mode of C does not write");
  task_->modes[2] = STARPU_W;
  expect_refused("beta is not 0");
  args_.beta = 0;
  poas_operation operation{};
  EXPECT_EQ(described(&operation), 0);
}

TEST_F(Refusals, ShapesAndTypes) {
  args_.type = POAS_FP64;
  expect_refused("elements of A have 4 bytes");
  args_.type = POAS_FP32;
  args_.transa = 'T';
  expect_refused("op(A) has 4 columns but op(B) has 6 rows");
  args_.transa = 'N';
  auto narrow = random_matrix<float>(m, n - 1, m, 4);
  const Handle other(narrow);
  task_->handles[2] = other;
  expect_refused("C is 4 x 4, but op(A) op(B) is 4 x 5");
}

TEST_F(Refusals, OverlapIsASharedElement) {
  args_.beta = 0;
  // A is rows 0..3 and C rows `first`.. of one buffer with leading dimension 8: interleaved columns.
  std::vector<float> buffer(8 * 8);
  const Handle a(buffer.data(), 8, m, k, 4), beside(buffer.data() + 4, 8, m, n, 4),
      across(buffer.data() + 3, 8, m, n, 4);
  task_->handles[0] = a;
  task_->handles[2] = beside;
  poas_operation operation{};
  EXPECT_EQ(described(&operation), 0) << operation.error;
  task_->handles[2] = across;
  expect_refused("C shares elements with A");
}

TEST_F(Refusals, TheSameHandleTwice) {
  auto square = random_matrix<float>(4, 4, 4, 5);
  const Handle handle(square);
  auto other = random_matrix<float>(4, 4, 4, 6);
  const Handle result(other);
  for (unsigned i = 0; i < 3; ++i) task_->handles[i] = handle;
  expect_refused("C shares elements with A");
  task_->handles[0] = result;
  expect_refused("C shares elements with B");
  task_->handles[0] = handle;
  task_->handles[2] = result;  // A and B may be one matrix
  poas_operation operation{};
  EXPECT_EQ(described(&operation), 0) << operation.error;
}

// A stock policy knows nothing of poas: the implementation itself refuses.
TEST_F(Refusals, AWrongTaskComputesNothing) {
  const std::vector<float> before = c_.values;
  args_.transb = 'T';
  EXPECT_EQ(starpu_task_submit(task_), 0);
  EXPECT_EQ(starpu_task_wait(task_), 0);
  ASSERT_EQ(starpu_data_acquire(hc_, STARPU_R), 0);
  EXPECT_EQ(c_.values, before);
  starpu_data_release(hc_);
  EXPECT_NE(std::string(poas_last_error()).find("op(B)"), std::string::npos) << poas_last_error();
}

TEST_F(Refusals, HelpersSubmitNothing) {
  // A task can be waited for a moment before it stops counting as submitted.
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  for (auto submit : {poas_gemm, poas_gemm_resident}) {
    EXPECT_EQ(submit('N', 'T', 1, ha_, hb_, 0, hc_, POAS_FP32, POAS_CLASS_DEFAULT), -EINVAL);
    EXPECT_NE(std::string(poas_last_error()).find("op(B)"), std::string::npos) << poas_last_error();
    EXPECT_EQ(submit('N', 'N', 1, ha_, nullptr, 0, hc_, POAS_FP32, POAS_CLASS_DEFAULT), -EINVAL);
    EXPECT_NE(std::string(poas_last_error()).find("null"), std::string::npos) << poas_last_error();
  }
  EXPECT_EQ(starpu_task_nsubmitted(), 0);
}

}  // namespace
}  // namespace poas::test
