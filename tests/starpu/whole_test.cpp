// Tasks that cannot be cut soundly run whole, right, and with a reason.
#include <atomic>
#include <cstring>

#include "poas/runtime.hpp"
#include "support.hpp"

namespace poas_test {
namespace {

const Shape shape{160, 200, 40, 'N', 'N', 1, 1};

void expect_whole(const Runtime& runtime, const std::string& words, std::size_t count = 1) {
  const auto records = runtime.records();
  ASSERT_EQ(records.size(), count);
  for (const auto& record : records) EXPECT_TRUE(is_whole(record, words));
}

TEST(Whole, ResultWithoutHomeNode) {
  Runtime runtime;
  Product<float> product({160, 200, 40, 'N', 'N', 1, 0});
  starpu_data_handle_t scratch = nullptr;
  ASSERT_EQ(poas_matrix_register(&scratch, -1, 0, 160, 160, 200, sizeof(float)), 0);
  ASSERT_EQ(starpu_task_submit(Product<float>::task(product.shape, product.ha, product.hb, scratch)), 0);
  ASSERT_EQ(starpu_data_acquire(scratch, STARPU_R), 0);
  const auto ld = starpu_matrix_get_local_ld(scratch);
  const auto* values = reinterpret_cast<const float*>(starpu_matrix_get_local_ptr(scratch));
  for (std::size_t j = 0; j < 200; j++)
    std::memcpy(&product.c[j * 160], values + j * ld, 160 * sizeof(float));
  starpu_data_release(scratch);
  EXPECT_TRUE(product.right());
  starpu_data_unregister(scratch);
  expect_whole(runtime, "home");
}

TEST(Whole, CommutingResult) {
  Runtime runtime;
  Product<float> product(shape);
  for (int i = 0; i < 3; i++) {
    starpu_task* task = product.task();
    task->modes[2] = static_cast<starpu_data_access_mode>(STARPU_RW | STARPU_COMMUTE);
    ASSERT_EQ(starpu_task_submit(task), 0);
  }
  starpu_task_wait_for_all();
  product.unregister();
  EXPECT_TRUE(product.right(3));
  expect_whole(runtime, "COMMUTE", 3);
}

void add(void* buffers[], void*) {
  auto* to = reinterpret_cast<float*>(STARPU_MATRIX_GET_PTR(buffers[0]));
  const auto* from = reinterpret_cast<const float*>(STARPU_MATRIX_GET_PTR(buffers[1]));
  for (std::size_t i = 0; i < STARPU_MATRIX_GET_NX(buffers[0]) * STARPU_MATRIX_GET_NY(buffers[0]); i++)
    to[i] += from[i];
}

void clear(void* buffers[], void*) {
  std::memset(reinterpret_cast<void*>(STARPU_MATRIX_GET_PTR(buffers[0])), 0,
              STARPU_MATRIX_GET_NX(buffers[0]) * STARPU_MATRIX_GET_NY(buffers[0]) * sizeof(float));
}

starpu_codelet addition = [] {
  starpu_codelet codelet;
  starpu_codelet_init(&codelet);
  codelet.cpu_funcs[0] = add;
  codelet.nbuffers = 2;
  codelet.modes[0] = static_cast<starpu_data_access_mode>(STARPU_RW | STARPU_COMMUTE);
  codelet.modes[1] = STARPU_R;
  return codelet;
}();

starpu_codelet zero = [] {
  starpu_codelet codelet;
  starpu_codelet_init(&codelet);
  codelet.cpu_funcs[0] = clear;
  codelet.nbuffers = 1;
  codelet.modes[0] = STARPU_W;
  return codelet;
}();

TEST(Whole, ReducedResult) {
  Runtime runtime;
  Product<float> product(shape);
  starpu_data_set_reduction_methods(product.hc, &addition, &zero);
  for (int i = 0; i < 3; i++) {
    starpu_task* task = product.task();
    task->modes[2] = STARPU_REDUX;
    task->where = STARPU_CPU;  // StarPU needs the reduction methods on each worker that takes part
    ASSERT_EQ(starpu_task_submit(task), 0);
  }
  starpu_task_wait_for_all();
  product.unregister();
  EXPECT_TRUE(product.right(3));
  expect_whole(runtime, "REDUX", 3);
}

TEST(Whole, LimitedToProcessors) {
  Runtime runtime;
  Product<float> product(shape);
  starpu_task* task = product.task();
  task->where = STARPU_CPU;
  ASSERT_EQ(starpu_task_submit(task), 0);
  starpu_task_wait_for_all();
  product.unregister();
  EXPECT_TRUE(product.right(1));
  expect_whole(runtime, "where", 1);
}

struct Regeneration {
  starpu_task* task;
  std::atomic<int> ended{0};
};

TEST(Whole, RegeneratedTask) {
  Runtime runtime;
  Product<float> product(shape);
  Regeneration state{product.task()};
  state.task->regenerate = 1;
  state.task->detach = 1;
  state.task->destroy = 0;
  state.task->callback_func = [](void* argument) {
    auto* own = static_cast<Regeneration*>(argument);
    if (++own->ended == 3) own->task->regenerate = 0;
  };
  state.task->callback_arg = &state;
  ASSERT_EQ(starpu_task_submit(state.task), 0);
  starpu_task_wait_for_all();
  product.unregister();
  EXPECT_EQ(state.ended, 3);
  EXPECT_TRUE(product.right(3));
  for (const auto& record : runtime.records()) EXPECT_TRUE(is_whole(record, "regenerate"));
  starpu_task_destroy(state.task);
}

TEST(Whole, DetachedTaskIsSplit) {
  Runtime runtime;
  Product<float> product(shape);
  starpu_task* task = product.task();
  task->detach = 1;
  ASSERT_EQ(starpu_task_submit(task), 0);
  product.unregister();
  EXPECT_TRUE(product.right());
  ASSERT_EQ(runtime.records().size(), 1u);
  EXPECT_TRUE(is_split(runtime.records()[0]));
}

// The same task structure submitted again is the same work again.
TEST(Whole, TaskKeptByTheApplicationIsSplitEachTime) {
  Runtime runtime;
  Product<float> product(shape);
  starpu_task* task = product.task();
  task->destroy = 0;
  task->detach = 0;
  for (int i = 0; i < 2; i++) {
    ASSERT_EQ(starpu_task_submit(task), 0);
    ASSERT_EQ(starpu_task_wait(task), 0);
    EXPECT_EQ(poas_task_status(task), 0);
  }
  starpu_task_destroy(task);
  product.unregister();
  EXPECT_TRUE(product.right(2));
}

TEST(Whole, WithoutSequentialConsistency) {
  Runtime runtime;
  Product<float> product(shape);
  starpu_task* task = product.task();
  task->sequential_consistency = 0;
  ASSERT_EQ(starpu_task_submit(task), 0);
  starpu_task_wait_for_all();
  product.unregister();
  EXPECT_TRUE(product.right());
  expect_whole(runtime, "consistency");
}

TEST(Whole, OnASpecificWorker) {
  Runtime runtime;
  Product<float> product(shape);
  int cpu;
  ASSERT_EQ(starpu_worker_get_ids_by_type(STARPU_CPU_WORKER, &cpu, 1), 1);
  starpu_task* task = product.task();
  task->execute_on_a_specific_worker = 1;
  task->workerid = static_cast<unsigned>(cpu);
  ASSERT_EQ(starpu_task_submit(task), 0);
  starpu_task_wait_for_all();
  product.unregister();
  EXPECT_TRUE(product.right());
  expect_whole(runtime, "worker");
}

TEST(Whole, PartitionedByTheApplication) {
  Runtime runtime;
  Product<float> product({160, 200, 40, 'N', 'N', 1, 1});
  starpu_data_filter halves{};
  halves.filter_func = starpu_matrix_filter_vertical_block;
  halves.nchildren = 2;
  starpu_data_handle_t b[2], c[2];
  starpu_data_partition_plan(product.hb, &halves, b);
  starpu_data_partition_plan(product.hc, &halves, c);
  const Shape part{160, 100, 40, 'N', 'N', 1, 1};
  for (int i = 0; i < 2; i++)
    ASSERT_EQ(starpu_task_submit(Product<float>::task(part, product.ha, b[i], c[i])), 0);
  ASSERT_EQ(product.submit(), 0);  // whole again
  starpu_data_partition_clean(product.hb, 2, b);
  starpu_data_partition_clean(product.hc, 2, c);
  product.unregister();
  EXPECT_TRUE(product.right(2));
}

TEST(Whole, NeverMeansNever) {
  Runtime runtime(Environment{{"POAS_SPLIT", "never"}});
  Product<float> product(shape);
  ASSERT_EQ(product.submit(), 0);
  product.unregister();
  EXPECT_TRUE(product.right());
  const auto records = runtime.records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_FALSE(records[0].value("split", true));
  EXPECT_FALSE(records[0].value("reason", "").empty());
}

// The models change between submission and execution, and all plans are forgotten: the task keeps its own.
TEST(Whole, PlanOutlivesAChangeOfModels) {
  Runtime runtime(Environment{{"POAS_SPLIT", "never"}});
  poas::Models models;
  for (const char* unit : {"cpu", "opencl0"}) {
    poas::TimeModel model;
    model.samples = 5;
    model.seconds_per_flop = unit[0] == 'c' ? 1e-12 : 1e-6;
    models.times[{unit, "gemm", unit[0] == 'c' ? "openblas-fp32" : "clblast-fp32", poas::Type::fp32}] = model;
  }
  poas::use_models(models);
  starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
  for (int i = 0; i < 3; i++) {
    Product<float> product(shape);
    starpu_task* before = starpu_task_create();  // without a codelet: ends when it is submitted
    starpu_task* task = product.task();
    task->detach = 0;
    task->destroy = 0;
    starpu_task_declare_deps_array(task, 1, &before);
    ASSERT_EQ(starpu_task_submit(task), 0);
    poas::use_models(models);
    ASSERT_EQ(starpu_task_submit(before), 0);
    ASSERT_EQ(starpu_task_wait(task), 0);
    ASSERT_NE(task->profiling_info, nullptr);
    EXPECT_EQ(starpu_worker_get_type(task->profiling_info->workerid), STARPU_CPU_WORKER);
    starpu_task_destroy(task);
    product.unregister();
    EXPECT_TRUE(product.right());
  }
  starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
}

}  // namespace
}  // namespace poas_test
