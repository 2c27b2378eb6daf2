// Implementations that fail: the block is redone on another unit, or the task reports it.
#include <atomic>

#include "poas/divisible.hpp"
#include "support.hpp"

namespace poas_test {
namespace {

constexpr std::size_t length = 1000000;  // long enough to be cut

enum class Broken { none, device, cpu, both, first };
std::atomic<Broken> broken{Broken::none};
std::atomic<int> failures{0};

bool fail(bool now) {
  if (now) {
    failures++;
    poas_block_failed(-EIO, "broken on purpose");
  }
  return now;
}

// y = 2 x + y, the old y untouched by a failure.
void axpy(void* buffers[]) {
  const auto* x = reinterpret_cast<const float*>(STARPU_VECTOR_GET_PTR(buffers[0]));
  auto* y = reinterpret_cast<float*>(STARPU_VECTOR_GET_PTR(buffers[1]));
  for (std::size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) y[i] += 2 * x[i];
}

void axpy_cpu(void* buffers[], void*) {
  const Broken how = broken;
  const bool once = how == Broken::first && failures == 0;
  if (fail(how == Broken::cpu || how == Broken::both || once)) return;
  axpy(buffers);
}

// Goes through host memory: enough for a test, and needs no kernel.
void axpy_opencl(void* buffers[], void*) {
  const Broken how = broken;
  if (fail(how == Broken::device || how == Broken::both)) return;
  cl_command_queue queue;
  starpu_opencl_get_queue(starpu_worker_get_devid(starpu_worker_get_id_check()), &queue);
  const std::size_t n = STARPU_VECTOR_GET_NX(buffers[0]);
  std::vector<float> x(n), y(n);
  const auto memory = [&](int i) {
    return reinterpret_cast<cl_mem>(STARPU_VECTOR_GET_DEV_HANDLE(buffers[i]));
  };
  const auto offset = [&](int i) { return STARPU_VECTOR_GET_OFFSET(buffers[i]); };
  clEnqueueReadBuffer(queue, memory(0), CL_TRUE, offset(0), n * sizeof(float), x.data(), 0, nullptr, nullptr);
  clEnqueueReadBuffer(queue, memory(1), CL_TRUE, offset(1), n * sizeof(float), y.data(), 0, nullptr, nullptr);
  for (std::size_t i = 0; i < n; i++) y[i] += 2 * x[i];
  clEnqueueWriteBuffer(queue, memory(1), CL_TRUE, offset(1), n * sizeof(float), y.data(), 0, nullptr,
                       nullptr);
}

int describe(const starpu_task* task, poas_operation* operation) {
  operation->extent[0] = starpu_vector_get_nx(task->handles[0]);
  for (int i = 0; i < 2; i++) {
    operation->operand[i].naxes = 1;
    operation->operand[i].axis[0] = {POAS_SPLIT, 0, 0, 0};
  }
  operation->work_per_point = 2;
  operation->type = POAS_FP32;
  return 0;
}

starpu_codelet* codelet() {
  static starpu_codelet codelet;
  static poas::Divisible divisible("axpy", {"n"}, 1);
  static const bool once = [] {
    starpu_codelet_init(&codelet);
    codelet.cpu_funcs[0] = axpy_cpu;
    codelet.opencl_funcs[0] = axpy_opencl;
    codelet.nbuffers = 2;
    codelet.modes[0] = STARPU_R;
    codelet.modes[1] = STARPU_RW;
    codelet.name = "axpy";
    poas_implementation cpu{}, opencl{};
    cpu.name = "cpu";
    cpu.unit = POAS_UNIT_CPU;
    opencl.name = "opencl";
    opencl.unit = POAS_UNIT_OPENCL;
    cpu.type = opencl.type = POAS_FP32;
    cpu.precision = opencl.precision = POAS_CLASS_FP32;
    divisible.describe(describe).implementation(cpu).implementation(opencl).attach(&codelet);
    return true;
  }();
  (void)once;
  return &codelet;
}

class Failure : public testing::Test {
 protected:
  // Status of the task; its y is in `y` afterwards.
  int run(Broken how) {
    broken = how;
    failures = 0;
    starpu_data_handle_t handle[2];
    starpu_vector_data_register(&handle[0], STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(x.data()), length,
                                sizeof(float));
    starpu_vector_data_register(&handle[1], STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(y.data()), length,
                                sizeof(float));
    starpu_task* task = starpu_task_create();
    task->cl = codelet();
    task->handles[0] = handle[0], task->handles[1] = handle[1];
    task->detach = 0;
    task->destroy = 0;
    EXPECT_EQ(starpu_task_submit(task), 0);
    EXPECT_EQ(starpu_task_wait(task), 0);
    const int status = poas_task_status(task);
    starpu_task_destroy(task);
    starpu_data_unregister(handle[0]);
    starpu_data_unregister(handle[1]);
    return status;
  }
  void expect_right() {
    for (std::size_t i = 0; i < length; i++) ASSERT_EQ(y[i], static_cast<float>(i % 1000 + 2)) << i;
  }
  void SetUp() override {
    for (std::size_t i = 0; i < length; i++) y[i] = static_cast<float>(i % 1000);
  }

  Runtime runtime;
  std::vector<float> x = std::vector<float>(length, 1), y = std::vector<float>(length);
};

TEST_F(Failure, NothingFails) {
  EXPECT_EQ(run(Broken::none), 0);
  expect_right();
  const auto records = runtime.records("axpy");
  ASSERT_EQ(records.size(), 1u);
  EXPECT_TRUE(is_split(records[0]));
  EXPECT_EQ(failures, 0);
}

TEST_F(Failure, DeviceFailsAndTheCpuTakesOver) {
  EXPECT_EQ(run(Broken::device), 0);
  EXPECT_GT(failures, 0);
  expect_right();
}

TEST_F(Failure, CpuFailsAndTheDeviceTakesOver) {
  EXPECT_EQ(run(Broken::cpu), 0);
  EXPECT_GT(failures, 0);
  expect_right();
}

TEST_F(Failure, OneBlockFailsOnce) {
  EXPECT_EQ(run(Broken::first), 0);
  EXPECT_EQ(failures, 1);
  expect_right();
}

TEST_F(Failure, EveryUnitFails) {
  EXPECT_EQ(run(Broken::both), -EIO);
  EXPECT_STRNE(poas_last_error(), "");
  const auto records = runtime.records("axpy");
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0]["status"], -EIO);
}

TEST_F(Failure, NextTaskIsNotTouchedByAnEarlierFailure) {
  EXPECT_EQ(run(Broken::both), -EIO);
  SetUp();
  EXPECT_EQ(run(Broken::none), 0);
  expect_right();
}

// A task that is not cut may be redone elsewhere or report its failure, but never passes for done.
TEST_F(Failure, WholeTaskThatFailsIsRedoneOrReported) {
  runtime.stop();
  Runtime whole(Environment{{"POAS_SPLIT", "never"}});
  for (const Broken how : {Broken::device, Broken::cpu, Broken::both}) {
    SetUp();
    const int status = run(how);
    if (status == 0) {
      expect_right();
    } else {
      EXPECT_EQ(status, -EIO);
      EXPECT_EQ(y[999], 999);  // as before
    }
    EXPECT_TRUE(how != Broken::both || status == -EIO);
  }
}

TEST(Declaration, WrongFieldsAreRefused) {
  static starpu_codelet codelet;
  starpu_codelet_init(&codelet);
  codelet.cpu_funcs[0] = axpy_cpu;
  codelet.nbuffers = 2;
  static poas_implementation cpu{};
  cpu.name = "cpu";
  poas_divisible divisible{};
  EXPECT_EQ(poas_divisible_register(&codelet, &divisible), -EINVAL);  // size and version are not set
  divisible.size = sizeof divisible;
  divisible.version = POAS_DIVISIBLE_VERSION + 1;
  divisible.name = "wrong";
  divisible.ndims = 1;
  divisible.dim_name[0] = "n";
  divisible.describe = describe;
  divisible.implementations = &cpu;
  divisible.nimplementations = 1;
  EXPECT_EQ(poas_divisible_register(&codelet, &divisible), -EINVAL);
  divisible.version = POAS_DIVISIBLE_VERSION;
  divisible.ndims = POAS_MAX_DIMS + 1;
  EXPECT_EQ(poas_divisible_register(&codelet, &divisible), -EINVAL);
  divisible.ndims = 1;
  EXPECT_EQ(poas_divisible_register(nullptr, &divisible), -EINVAL);
  EXPECT_EQ(poas_divisible_register(&codelet, nullptr), -EINVAL);
}

TEST(Declaration, TwiceTheSameIsFineAnotherIsNot) {
  ASSERT_NE(codelet(), nullptr);
  static poas::Divisible other("other", {"n"}, 1);
  poas_implementation cpu{};
  cpu.name = "cpu";
  other.describe(describe).implementation(cpu);
  EXPECT_THROW(other.attach(codelet()), poas::Error);
  EXPECT_EQ(poas_divisible_register(poas_gemm_codelet(), poas_gemm_divisible()), 0);
}

}  // namespace
}  // namespace poas_test
