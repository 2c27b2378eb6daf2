// Several submitting threads, priorities, several contexts.
#include <atomic>
#include <thread>

#include "support.hpp"

namespace poas_test {
namespace {

const Shape shape{200, 240, 48, 'N', 'T', 1, 1};

TEST(Concurrency, FourThreadsWithDifferentResults) {
  Runtime runtime;
  std::vector<std::unique_ptr<Product<float>>> products;
  for (unsigned t = 0; t < 4; t++) products.push_back(std::make_unique<Product<float>>(shape, t));
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < 4; t++)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; i++) EXPECT_EQ(products[t]->submit(), 0);
    });
  threads.clear();
  starpu_task_wait_for_all();
  for (auto& product : products) {
    product->unregister();
    EXPECT_TRUE(product->right(5));
  }
  const auto records = runtime.records();
  EXPECT_EQ(records.size(), 20u);
  for (const auto& record : records) EXPECT_TRUE(is_split(record));
}

TEST(Concurrency, FourThreadsOnOneResult) {
  Runtime runtime;
  Product<float> product(shape);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; i++) EXPECT_EQ(product.submit(), 0);
    });
  threads.clear();
  starpu_task_wait_for_all();
  product.unregister();
  EXPECT_TRUE(product.right(20));
  EXPECT_EQ(runtime.records().size(), 20u);
}

TEST(Concurrency, SplitTasksOfAnyPriority) {
  Runtime runtime;
  std::vector<std::unique_ptr<Product<float>>> products;
  const int priorities[] = {0, STARPU_MAX_PRIO, STARPU_MIN_PRIO, 1, -1};
  for (unsigned i = 0; i < 5; i++) {
    products.push_back(std::make_unique<Product<float>>(shape, i));
    starpu_task* task = products.back()->task();
    task->priority = priorities[i];
    ASSERT_EQ(starpu_task_submit(task), 0);
  }
  starpu_task_wait_for_all();
  for (auto& product : products) {
    product->unregister();
    EXPECT_TRUE(product->right());
  }
  for (const auto& record : runtime.records()) EXPECT_TRUE(is_split(record));
}

TEST(Concurrency, SecondContextWithPoas) {
  Runtime runtime;
  std::vector<int> workers(starpu_worker_get_count());
  for (unsigned w = 0; w < workers.size(); w++) workers[w] = static_cast<int>(w);
  const unsigned context = starpu_sched_ctx_create(workers.data(), static_cast<int>(workers.size()), "second",
                                                   STARPU_SCHED_CTX_POLICY_NAME, "poas", 0);
  ASSERT_NE(context, unsigned{STARPU_NMAX_SCHED_CTXS});
  Product<float> here(shape, 1), there(shape, 2);
  starpu_task* task = there.task();
  for (int i = 0; i < 3; i++) ASSERT_EQ(here.submit(), 0);
  ASSERT_EQ(starpu_task_submit_to_ctx(task, context), 0);
  starpu_task_wait_for_all();
  here.unregister();
  there.unregister();
  EXPECT_TRUE(here.right(3));
  EXPECT_TRUE(there.right());
  starpu_sched_ctx_delete(context);
  // The first context still works after the library was closed once.
  Product<float> after(shape, 3);
  ASSERT_EQ(after.submit(), 0);
  after.unregister();
  EXPECT_TRUE(after.right());
  const auto records = runtime.records();
  EXPECT_EQ(records.size(), 5u);
  for (const auto& record : records) EXPECT_TRUE(is_split(record));
}

TEST(Concurrency, ContextWithoutDeviceRunsOnItsOwnWorkers) {
  Runtime runtime(Environment{{"STARPU_NCPU", "2"}});
  int cpu[2];
  ASSERT_EQ(starpu_worker_get_ids_by_type(STARPU_CPU_WORKER, cpu, 2), 2);
  const unsigned context = starpu_sched_ctx_create(cpu, 2, "cpus", STARPU_SCHED_CTX_POLICY_NAME, "poas", 0);
  ASSERT_NE(context, unsigned{STARPU_NMAX_SCHED_CTXS});
  Product<float> product(shape);
  ASSERT_EQ(starpu_task_submit_to_ctx(product.task(), context), 0);
  starpu_task_wait_for_all();
  product.unregister();
  EXPECT_TRUE(product.right());
  for (const auto& record : runtime.records())
    for (const auto& block : record["timeline"]) EXPECT_EQ(block["unit"], "cpu");
  starpu_sched_ctx_delete(context);
}

}  // namespace
}  // namespace poas_test
