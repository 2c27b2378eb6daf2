// A task that is split keeps its place: everything that waits for it finds the complete C, everything
// that it waits for has been done.
#include <atomic>
#include <cmath>

#include "support.hpp"

namespace poas_test {
namespace {

const Shape shape{300, 420, 64, 'N', 'N', 1, 1};

// Sees C as the application would: through a value written by the last element of each corner block.
struct Snapshot {
  const Product<float>* product;
  testing::AssertionResult result = testing::AssertionFailure() << "never looked";
  std::atomic<int> calls{0};
};

// C lies in host memory when T has ended: the callback may read it there after an acquire only, so
// it looks at the buffer itself, which the gather has filled.
void look(void* argument) {
  auto* snapshot = static_cast<Snapshot*>(argument);
  snapshot->result = snapshot->product->right();
  snapshot->calls++;
}

void look_codelet(void* buffers[], void* argument) {
  (void)buffers;
  look(*static_cast<Snapshot**>(argument));
}

starpu_codelet observer = [] {
  starpu_codelet codelet;
  starpu_codelet_init(&codelet);
  codelet.cpu_funcs[0] = look_codelet;
  codelet.name = "observer";
  return codelet;
}();

starpu_task* observer_task(Snapshot*& snapshot) {
  starpu_task* task = starpu_task_create();
  task->cl = &observer;
  task->cl_arg = &snapshot;
  task->cl_arg_size = sizeof snapshot;
  return task;
}

TEST(Order, CallbackComesAfterTheLastBlock) {
  Runtime runtime;
  Product<float> product(shape);
  Snapshot snapshot{&product};
  starpu_task* task = product.task();
  task->callback_func = look;
  task->callback_arg = &snapshot;
  ASSERT_EQ(starpu_task_submit(task), 0);
  starpu_task_wait_for_all();
  EXPECT_EQ(snapshot.calls, 1);
  EXPECT_TRUE(snapshot.result);
  expect_split(runtime);
}

TEST(Order, EpilogueCallbackComesAfterTheLastBlock) {
  Runtime runtime;
  Product<float> product(shape);
  Snapshot snapshot{&product};
  starpu_task* task = product.task();
  task->epilogue_callback_func = look;
  task->epilogue_callback_arg = &snapshot;
  ASSERT_EQ(starpu_task_submit(task), 0);
  starpu_task_wait_for_all();
  EXPECT_EQ(snapshot.calls, 1);
  EXPECT_TRUE(snapshot.result);
  expect_split(runtime);
}

TEST(Order, PrologueOfTheUserRunsOnceBeforeTheBlocks) {
  Runtime runtime;
  Product<float> product(shape);
  std::atomic<int> calls{0};
  starpu_task* task = product.task();
  task->prologue_callback_func = [](void* count) { ++*static_cast<std::atomic<int>*>(count); };
  task->prologue_callback_arg = &calls;
  ASSERT_EQ(starpu_task_submit(task), 0);
  starpu_task_wait_for_all();
  product.unregister();
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(product.right());
  expect_split(runtime);
}

TEST(Order, WaitReturnsAfterTheLastBlock) {
  Runtime runtime;
  Product<float> product(shape);
  starpu_task* task = product.task();
  task->detach = 0;
  ASSERT_EQ(starpu_task_submit(task), 0);
  ASSERT_EQ(starpu_task_wait(task), 0);
  EXPECT_TRUE(product.right());
  expect_split(runtime);
}

TEST(Order, SynchronousSubmissionReturnsAfterTheLastBlock) {
  Runtime runtime;
  Product<float> product(shape);
  starpu_task* task = product.task();
  task->synchronous = 1;
  ASSERT_EQ(starpu_task_submit(task), 0);
  EXPECT_TRUE(product.right());
  expect_split(runtime);
}

TEST(Order, WaitForAllIncludesTheBlocks) {
  Runtime runtime;
  Product<float> product(shape);
  ASSERT_EQ(product.submit(), 0);
  starpu_task_wait_for_all();
  EXPECT_TRUE(product.right());
  expect_split(runtime);
}

TEST(Order, TagSuccessorSeesTheCompleteResult) {
  Runtime runtime;
  Product<float> product(shape);
  Snapshot snapshot{&product};
  Snapshot* pointer = &snapshot;
  starpu_task *task = product.task(), *after = observer_task(pointer);
  task->use_tag = 1;
  task->tag_id = 41;
  after->use_tag = 1;
  after->tag_id = 42;
  starpu_tag_declare_deps(42, 1, starpu_tag_t{41});
  ASSERT_EQ(starpu_task_submit(after), 0);
  ASSERT_EQ(starpu_task_submit(task), 0);
  starpu_tag_wait(42);
  EXPECT_TRUE(snapshot.result);
  expect_split(runtime);
}

TEST(Order, ExplicitSuccessorSeesTheCompleteResult) {
  Runtime runtime;
  Product<float> product(shape);
  Snapshot snapshot{&product};
  Snapshot* pointer = &snapshot;
  starpu_task *task = product.task(), *after = observer_task(pointer);
  starpu_task_declare_deps(after, 1, task);
  ASSERT_EQ(starpu_task_submit(after), 0);
  ASSERT_EQ(starpu_task_submit(task), 0);
  starpu_task_wait_for_all();
  EXPECT_EQ(snapshot.calls, 1);
  EXPECT_TRUE(snapshot.result);
  expect_split(runtime);
}

void negate(void* buffers[], void*) {
  auto* a = reinterpret_cast<float*>(STARPU_MATRIX_GET_PTR(buffers[0]));
  starpu_usleep(20000);  // long enough for blocks that do not wait to be wrong
  for (std::size_t i = 0; i < STARPU_MATRIX_GET_NX(buffers[0]) * STARPU_MATRIX_GET_NY(buffers[0]); i++)
    a[i] = -a[i];
}

starpu_codelet negation = [] {
  starpu_codelet codelet;
  starpu_codelet_init(&codelet);
  codelet.cpu_funcs[0] = negate;
  codelet.nbuffers = 1;
  codelet.modes[0] = STARPU_RW;
  codelet.name = "negation";
  return codelet;
}();

TEST(Order, ImplicitPredecessorThatWritesAIsWaitedFor) {
  Runtime runtime;
  Product<float> product(shape);
  ASSERT_EQ(starpu_task_insert(&negation, STARPU_RW, product.ha, 0), 0);
  ASSERT_EQ(product.submit(), 0);
  product.unregister();
  EXPECT_TRUE(product.right());  // `a` in memory is the negated one now
  expect_split(runtime);
}

TEST(Order, PredecessorDeclaredBeforeSubmissionIsWaitedFor) {
  Runtime runtime;
  Product<float> product(shape);
  // Without sequential consistency on the predecessor, only the declared dependency orders the two.
  starpu_task *before = starpu_task_create(), *task = product.task();
  before->cl = &negation;
  before->handles[0] = product.ha;
  before->sequential_consistency = 0;
  starpu_task_declare_deps(task, 1, before);
  ASSERT_EQ(starpu_task_submit(task), 0);
  ASSERT_EQ(starpu_task_submit(before), 0);
  starpu_task_wait_for_all();
  product.unregister();
  EXPECT_TRUE(product.right());
  expect_split(runtime);
}

TEST(Order, TasksInARowOnOneResult) {
  Runtime runtime;
  Product<float> product(shape);
  for (int i = 0; i < 5; i++) ASSERT_EQ(product.submit(), 0);
  product.unregister();
  EXPECT_TRUE(product.right(5));
  expect_split(runtime, 5);
}

TEST(Order, OrdinaryTasksOnTheResultInBetween) {
  Runtime runtime;
  Product<float> product({300, 420, 64, 'N', 'N', 1, 0});
  for (int i = 0; i < 5; i++) {
    ASSERT_EQ(product.submit(), 0);
    ASSERT_EQ(starpu_task_insert(&negation, STARPU_RW, product.hc, 0), 0);
    ASSERT_EQ(starpu_task_insert(&negation, STARPU_RW, product.hc, 0), 0);
  }
  product.unregister();
  EXPECT_TRUE(product.right());
  expect_split(runtime, 5);
}

float first_of(starpu_data_handle_t handle) {
  return *static_cast<float*>(starpu_data_get_local_ptr(handle));
}

TEST(Order, ReaderOfAnInputBesideIt) {
  Runtime runtime;
  Product<float> product(shape);
  const float expected = product.a[0];
  for (int i = 0; i < 5; i++) {
    ASSERT_EQ(product.submit(), 0);
    ASSERT_EQ(starpu_data_acquire(product.ha, STARPU_R), 0);
    EXPECT_EQ(first_of(product.ha), expected);
    starpu_data_release(product.ha);
  }
  product.unregister();
  EXPECT_TRUE(product.right(5));
  expect_split(runtime, 5);
}

TEST(Order, AcquireRightAfterSubmission) {
  Runtime runtime;
  Product<float> product(shape);
  ASSERT_EQ(product.submit(), 0);
  ASSERT_EQ(starpu_data_acquire(product.hc, STARPU_R), 0);
  EXPECT_TRUE(product.right());
  starpu_data_release(product.hc);
  expect_split(runtime);
}

TEST(Order, UnregisterRightAfterSubmission) {
  Runtime runtime;
  Product<float> product(shape);
  ASSERT_EQ(product.submit(), 0);
  product.unregister();
  EXPECT_TRUE(product.right());
  expect_split(runtime);
}

TEST(Order, UnregisterSubmitRightAfterSubmission) {
  Runtime runtime;
  Product<float> product(shape);
  ASSERT_EQ(product.submit(), 0);
  for (auto* handle : {&product.ha, &product.hb, &product.hc}) {
    starpu_data_unregister_submit(*handle);
    *handle = nullptr;
  }
  starpu_task_wait_for_all();
  EXPECT_TRUE(product.right());
  expect_split(runtime);
}

TEST(Order, SubmissionFromACallback) {
  Runtime runtime;
  Product<float> first(shape), second(shape, 2);
  starpu_task* task = first.task();
  task->callback_func = [](void* next) { EXPECT_EQ(static_cast<Product<float>*>(next)->submit(), 0); };
  task->callback_arg = &second;
  ASSERT_EQ(starpu_task_submit(task), 0);
  starpu_task_wait_for_all();
  first.unregister();
  second.unregister();
  EXPECT_TRUE(first.right());
  EXPECT_TRUE(second.right());
  expect_split(runtime, 2);
}

TEST(Order, ResultThatIsOnlyWritten) {
  Runtime runtime;
  Product<float> product({300, 420, 64, 'N', 'N', 1, 0});
  std::fill(product.c.begin(), product.c.end(), NAN);
  ASSERT_EQ(product.submit(), 0);
  product.unregister();
  EXPECT_TRUE(product.right());
  expect_split(runtime);
}

TEST(Order, RawInsertionIsSplitUnderPoas) {
  Runtime runtime;
  Product<float> product(shape);
  poas_gemm_args args{POAS_GEMM_VERSION, POAS_FP32, 'N', 'N', 1, 1, POAS_CLASS_DEFAULT};
  ASSERT_EQ(starpu_task_insert(poas_gemm_codelet(), STARPU_R, product.ha, STARPU_R, product.hb, STARPU_RW,
                               product.hc, STARPU_CL_ARGS_NFREE, &args, sizeof args, 0),
            0);
  starpu_task_wait_for_all();
  product.unregister();
  EXPECT_TRUE(product.right());
  expect_split(runtime);
}

TEST(Order, RawInsertionIsWholeUnderDmdas) {
  Runtime runtime(Environment{{"STARPU_SCHED", "dmdas"}});
  ASSERT_STREQ(starpu_sched_get_sched_policy()->policy_name, "dmdas");
  Product<float> product(shape);
  ASSERT_EQ(starpu_task_submit(product.task()), 0);
  product.unregister();
  EXPECT_TRUE(product.right());
  for (const auto& record : runtime.records()) EXPECT_FALSE(record.value("split", true)) << record.dump();
}

class FrontEnd : public testing::TestWithParam<const char*> {};

TEST_P(FrontEnd, SplitsUnderEveryPolicy) {
  Runtime runtime(Environment{{"STARPU_SCHED", GetParam()}});
  ASSERT_STREQ(starpu_sched_get_sched_policy()->policy_name, GetParam());
  Product<float> product(shape);
  for (int i = 0; i < 3; i++) ASSERT_EQ(poas_task_submit(product.task()), 0) << poas_last_error();
  starpu_task_wait_for_all();
  product.unregister();
  EXPECT_TRUE(product.right(3));
  expect_split(runtime, 3);
}

// The environment counts under every policy, too.
TEST_P(FrontEnd, ObeysTheEnvironmentUnderEveryPolicy) {
  Runtime runtime(Environment{{"STARPU_SCHED", GetParam()}, {"POAS_SPLIT", "never"}});
  Product<float> product(shape);
  ASSERT_EQ(poas_task_submit(product.task()), 0) << poas_last_error();
  product.unregister();
  EXPECT_TRUE(product.right());
  const auto records = runtime.records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_TRUE(is_whole(records[0], "switched off"));
}

INSTANTIATE_TEST_SUITE_P(Policy, FrontEnd, testing::Values("poas", "dmda", "eager"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace poas_test
