// Tasks that nobody declared divisible: poas is a full policy for them too.
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "support.hpp"

namespace poas_test {
namespace {

std::atomic<unsigned> executed{0}, called_back{0};

void count_execution(void*[], void*) { executed++; }

starpu_codelet make_codelet(const char* name, starpu_cpu_func_t cpu, starpu_opencl_func_t opencl) {
  starpu_codelet codelet;
  starpu_codelet_init(&codelet);
  codelet.cpu_funcs[0] = cpu;
  codelet.opencl_funcs[0] = opencl;
  codelet.name = name;
  return codelet;
}

starpu_codelet anywhere = make_codelet("anywhere", count_execution, count_execution);

int submit_one(starpu_codelet* codelet, void (*callback)(void*)) {
  starpu_task* task = starpu_task_create();
  task->cl = codelet;
  task->callback_func = callback;
  return starpu_task_submit(task);
}

// Workers pop while four threads and the callbacks push.
TEST(Ordinary, HundredThousandEmptyTasks) {
  Runtime runtime;
  constexpr unsigned threads = 4, tasks = 12500;
  std::vector<std::jthread> pool;
  for (unsigned t = 0; t < threads; t++)
    pool.emplace_back([] {
      for (unsigned i = 0; i < tasks; i++)
        EXPECT_EQ(submit_one(&anywhere,
                             [](void*) {
                               called_back++;
                               EXPECT_EQ(submit_one(&anywhere, nullptr), 0);
                             }),
                  0);
    });
  pool.clear();
  starpu_task_wait_for_all();
  EXPECT_EQ(called_back, threads * tasks);
  EXPECT_EQ(executed, 2 * threads * tasks);
}

std::mutex order_mutex;
std::vector<int> order;

void note_priority(void*[], void* argument) {
  std::lock_guard lock(order_mutex);
  order.push_back(*static_cast<int*>(argument));
}

// One worker, a gate that holds all tasks back until each has been submitted.
TEST(Ordinary, PrioritiesAreRespected) {
  Runtime runtime(Environment{{"STARPU_NOPENCL", "0"}, {"STARPU_NCPU", "1"}, {"STARPU_NCUDA", "0"}});
  static starpu_codelet codelet = make_codelet("priority", note_priority, nullptr);
  static int priorities[] = {0, 5, -3, 2, 1000000, -1000000, 5, 0};
  static std::atomic<bool> open{false}, started{false};
  static starpu_codelet gate = make_codelet(
      "gate",
      [](void*[], void*) {
        started = true;
        while (!open) starpu_usleep(100);
      },
      nullptr);
  ASSERT_EQ(submit_one(&gate, nullptr), 0);
  while (!started) starpu_usleep(100);
  for (int& priority : priorities) {
    starpu_task* task = starpu_task_create();
    task->cl = &codelet;
    task->cl_arg = &priority;
    task->cl_arg_size = sizeof priority;
    task->priority = priority;
    ASSERT_EQ(starpu_task_submit(task), 0);
  }
  open = true;
  starpu_task_wait_for_all();
  EXPECT_EQ(order, (std::vector<int>{1000000, 5, 5, 2, 0, 0, -3, -1000000}));
}

std::atomic<int> by_kind[2];

TEST(Ordinary, CodeletsForOneKindOfWorkerRunThere) {
  Runtime runtime;
  static starpu_codelet cpu = make_codelet(
      "cpu_only",
      [](void*[], void*) {
        EXPECT_EQ(starpu_worker_get_type(starpu_worker_get_id_check()), STARPU_CPU_WORKER);
        by_kind[0]++;
      },
      nullptr);
  static starpu_codelet opencl = make_codelet("opencl_only", nullptr, [](void*[], void*) {
    EXPECT_EQ(starpu_worker_get_type(starpu_worker_get_id_check()), STARPU_OPENCL_WORKER);
    by_kind[1]++;
  });
  for (int i = 0; i < 50; i++) {
    ASSERT_EQ(submit_one(&cpu, nullptr), 0);
    ASSERT_EQ(submit_one(&opencl, nullptr), 0);
  }
  starpu_task_wait_for_all();
  EXPECT_EQ(by_kind[0], 50);
  EXPECT_EQ(by_kind[1], 50);
}

TEST(Ordinary, WhereOfTheTaskIsHonoured) {
  Runtime runtime;
  static starpu_codelet codelet = make_codelet(
      "where", [](void*[], void*) { ADD_FAILURE() << "ran on a core"; }, count_execution);
  executed = 0;
  for (int i = 0; i < 20; i++) {
    starpu_task* task = starpu_task_create();
    task->cl = &codelet;
    task->where = STARPU_OPENCL;
    ASSERT_EQ(starpu_task_submit(task), 0);
  }
  starpu_task_wait_for_all();
  EXPECT_EQ(executed, 20u);
}

TEST(Ordinary, OnlyImplementationsThatCanExecuteRun) {
  Runtime runtime;
  static starpu_codelet codelet = make_codelet(
      "second", [](void*[], void*) { ADD_FAILURE() << "implementation 0"; }, nullptr);
  codelet.cpu_funcs[1] = count_execution;
  codelet.can_execute = [](unsigned, starpu_task*, unsigned implementation) {
    return implementation == 1 ? 1 : 0;
  };
  executed = 0;
  for (int i = 0; i < 20; i++) ASSERT_EQ(submit_one(&codelet, nullptr), 0);
  starpu_task_wait_for_all();
  EXPECT_EQ(executed, 20u);
}

TEST(Ordinary, NoImplementationThatCanExecuteIsNoDevice) {
  Runtime runtime;
  static starpu_codelet codelet = make_codelet("never", count_execution, count_execution);
  codelet.can_execute = [](unsigned, starpu_task*, unsigned) { return 0; };
  starpu_task* task = starpu_task_create();
  task->cl = &codelet;
  EXPECT_EQ(starpu_task_submit(task), -ENODEV);
  task->destroy = 0;
  starpu_task_destroy(task);
}

void expect_worker(void*[], void* argument) {
  EXPECT_EQ(starpu_worker_get_id_check(), *static_cast<unsigned*>(argument));
  executed++;
}

TEST(Ordinary, SpecificWorker) {
  Runtime runtime;
  static starpu_codelet codelet = make_codelet("specific", expect_worker, expect_worker);
  executed = 0;
  std::vector<unsigned> workers(starpu_worker_get_count());
  for (unsigned w = 0; w < workers.size(); w++) {
    workers[w] = w;
    for (int i = 0; i < 20; i++) {
      starpu_task* task = starpu_task_create();
      task->cl = &codelet;
      task->cl_arg = &workers[w];
      task->cl_arg_size = sizeof workers[w];
      task->execute_on_a_specific_worker = 1;
      task->workerid = w;
      ASSERT_EQ(starpu_task_submit(task), 0);
    }
  }
  starpu_task_wait_for_all();
  EXPECT_EQ(executed, 20 * workers.size());
}

TEST(Ordinary, ListOfWorkers) {
  Runtime runtime;
  static starpu_codelet codelet = make_codelet("list", expect_worker, expect_worker);
  executed = 0;
  for (unsigned w = 0; w < starpu_worker_get_count(); w++) {
    static unsigned expected[STARPU_NMAXWORKERS];
    expected[w] = w;
    auto* mask =
        static_cast<std::uint32_t*>(std::calloc((STARPU_NMAXWORKERS + 31) / 32, sizeof(std::uint32_t)));
    mask[w / 32] = 1u << w % 32;
    starpu_task* task = starpu_task_create();
    task->cl = &codelet;
    task->cl_arg = &expected[w];
    task->cl_arg_size = sizeof expected[w];
    task->workerids = mask;
    task->workerids_len = (STARPU_NMAXWORKERS + 31) / 32;
    task->synchronous = 1;
    ASSERT_EQ(starpu_task_submit(task), 0);
    std::free(mask);
  }
  EXPECT_EQ(executed, starpu_worker_get_count());
}

void increment(void* buffers[], void*) { ++*reinterpret_cast<int*>(STARPU_VARIABLE_GET_PTR(buffers[0])); }

TEST(Ordinary, ChainOnOneDatum) {
  Runtime runtime;
  static starpu_codelet codelet = make_codelet("increment", increment, nullptr);
  codelet.nbuffers = 1;
  codelet.modes[0] = STARPU_RW;
  int value = 0;
  starpu_data_handle_t handle;
  starpu_variable_data_register(&handle, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(&value), sizeof value);
  for (int i = 0; i < 1000; i++) ASSERT_EQ(starpu_task_insert(&codelet, STARPU_RW, handle, 0), 0);
  starpu_data_unregister(handle);
  EXPECT_EQ(value, 1000);
}

TEST(Ordinary, WorkIsSpreadOverTheWorkers) {
  Runtime runtime(Environment{{"STARPU_NCPU", "2"}, {"STARPU_NOPENCL", "0"}});
  static std::atomic<unsigned> by_worker[STARPU_NMAXWORKERS];
  static starpu_codelet codelet = make_codelet(
      "spread",
      [](void*[], void*) {
        by_worker[starpu_worker_get_id_check()]++;
        starpu_usleep(2000);
      },
      nullptr);
  for (int i = 0; i < 100; i++) ASSERT_EQ(submit_one(&codelet, nullptr), 0);
  starpu_task_wait_for_all();
  EXPECT_GT(by_worker[0], 0u);
  EXPECT_GT(by_worker[1], 0u);
  EXPECT_EQ(by_worker[0] + by_worker[1], 100u);
}

TEST(Ordinary, ContextsInTurn) {
  Runtime runtime(Environment{{"STARPU_NCPU", "2"}});
  int cpu[2];
  ASSERT_EQ(starpu_worker_get_ids_by_type(STARPU_CPU_WORKER, cpu, 2), 2);
  executed = 0;
  for (int round = 0; round < 3; round++) {
    const unsigned context = starpu_sched_ctx_create(cpu, 2, "cpus", STARPU_SCHED_CTX_POLICY_NAME, "poas", 0);
    for (int i = 0; i < 100; i++) {
      starpu_task* task = starpu_task_create();
      task->cl = &anywhere;
      ASSERT_EQ(starpu_task_submit_to_ctx(task, context), 0);
      ASSERT_EQ(submit_one(&anywhere, nullptr), 0);
    }
    starpu_task_wait_for_all();
    starpu_sched_ctx_delete(context);
  }
  EXPECT_EQ(executed, 600u);
}

}  // namespace
}  // namespace poas_test
