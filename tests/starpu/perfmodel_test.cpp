// What StarPU's own policies are told of divisible tasks: the times that plans rest on, or the user's own.
#include <cmath>
#include <mutex>
#include <vector>

#include "poas/divisible.hpp"
#include "poas/runtime.hpp"
#include "support.hpp"
#include "support/small_nodes.hpp"

namespace poas_test {
namespace {

// Powers of two, so that every product and sum is exact.
poas::TimeModel model(double seconds_per_flop) {
  poas::TimeModel model;
  model.fixed = 0x1p-12;
  model.seconds_per_flop = seconds_per_flop;
  model.seconds_per_byte = 0x1p-32;
  model.samples = 5;
  return model;
}

poas::Models gemm_models(double cpu, double opencl) {
  poas::Models models;
  models.times[{"cpu", "gemm", "openblas-fp32", poas::Type::fp32}] = model(cpu);
  models.times[{"opencl0", "gemm", "clblast-fp32", poas::Type::fp32}] = model(opencl);
  return models;
}

bool is_cpu(unsigned worker) {
  return starpu_worker_get_type(static_cast<int>(worker)) == STARPU_CPU_WORKER;
}

Environment under(const std::string& policy) { return {{"STARPU_SCHED", policy}, {"STARPU_NCPU", "2"}}; }

double length_of(starpu_task* task, unsigned worker, unsigned nimpl = 0) {
  return starpu_task_worker_expected_length(task, worker, 0, nimpl);
}

TEST(Perfmodel, AWholeTaskTakesWhatTheModelSays) {
  Runtime runtime(under("dmda"));
  Product<float> product({160, 224, 96, 'N', 'N', 1, 1});
  starpu_task* task = product.task();
  task->destroy = 0;
  const auto operation = poas::test::gemm(160, 224, 96);
  const double flop = 2.0 * 160 * 224 * 96, bytes = 4.0 * (160 * 96 + 96 * 224 + 160 * 224);
  for (const double cpu : {0x1p-30, 0x1p-28}) {  // models that are replaced are seen at once
    poas::use_models(gemm_models(cpu, 0x1p-34));
    ASSERT_EQ(starpu_worker_get_count(), 3u);
    for (unsigned worker = 0; worker < 3; worker++) {
      const auto here = model(is_cpu(worker) ? cpu : 0x1p-34);
      const double seconds = 0x1p-12 + flop * here.seconds_per_flop + bytes * 0x1p-32;
      EXPECT_EQ(length_of(task, worker), seconds * 1e6);
      EXPECT_EQ(length_of(task, worker), poas::evaluate(here, operation, poas::whole_box(operation)) * 1e6);
      // Some policies ask for an architecture; for PER_WORKER models StarPU ends the process.
      starpu_perfmodel_arch* arch = starpu_worker_get_perf_archtype(static_cast<int>(worker), 0);
      EXPECT_EQ(starpu_task_expected_length(task, arch, 0), seconds * 1e6);
      EXPECT_TRUE(std::isnan(length_of(task, worker, 1))) << "nobody described a second implementation";
    }
  }
  starpu_task_destroy(task);
}

TEST(Perfmodel, WrongArgumentsHaveNoLength) {
  Runtime runtime(under("dmda"));
  Product<float> product({160, 224, 96});
  starpu_task* task = Product<float>::task(product.shape, product.hc, product.hb, product.ha);
  task->destroy = 0;
  EXPECT_TRUE(std::isnan(length_of(task, 0)));
  starpu_task_destroy(task);
}

// The workers that ran `count` products one after the other in the queues.
std::vector<int> workers_of(Product<float>& product, unsigned count) {
  starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
  std::vector<starpu_task*> tasks;
  std::vector<int> workers;
  for (unsigned i = 0; i < count; i++) {
    tasks.push_back(product.task());
    tasks.back()->destroy = 0;
    EXPECT_EQ(starpu_task_submit(tasks.back()), 0);
  }
  starpu_task_wait_for_all();
  for (starpu_task* task : tasks) {
    workers.push_back(task->profiling_info ? task->profiling_info->workerid : -1);
    starpu_task_destroy(task);
  }
  return workers;
}

class PerfmodelPolicy : public testing::TestWithParam<const char*> {};

TEST_P(PerfmodelPolicy, TasksGoToTheUnitThatTheModelSaysIsFaster) {
  for (const bool cpu_is_faster : {true, false}) {
    Runtime runtime(under(GetParam()));
    Product<float> product({160, 224, 96});
    // A minute against a tenth of a second, whatever copies take.
    poas::use_models(cpu_is_faster ? gemm_models(0x1p-26, 0x1p-17) : gemm_models(0x1p-17, 0x1p-26));
    for (const int worker : workers_of(product, 6)) {
      ASSERT_GE(worker, 0);
      EXPECT_EQ(is_cpu(static_cast<unsigned>(worker)), cpu_is_faster) << "worker " << worker;
    }
    product.unregister();
    EXPECT_TRUE(product.right());
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, PerfmodelPolicy,
                         testing::Values("dm", "dmda", "dmdas", "dmdar", "dmdasd", "modular-heft"),
                         [](const auto& policy) {
                           std::string name = policy.param;
                           std::erase(name, '-');
                           return name;
                         });

// --- blocks of a codelet of one's own -------------------------------------------------------------

struct Seen {
  double items, cpu, opencl;  // of a block; what each kind of worker would take, us
  bool on_cpu;
};
std::mutex seen_mutex;
std::vector<Seen> seen;

void look(void* buffers[], void*) {
  starpu_task* task = starpu_task_get_current();
  Seen one{static_cast<double>(STARPU_VECTOR_GET_NX(buffers[0])), 0, 0,
           is_cpu(starpu_worker_get_id_check())};
  for (unsigned worker = 0; worker < starpu_worker_get_count(); worker++)
    (is_cpu(worker) ? one.cpu : one.opencl) = length_of(task, worker);
  const std::lock_guard lock(seen_mutex);
  seen.push_back(one);
}

int describe(const starpu_task* task, poas_operation* operation) {
  operation->extent[0] = starpu_vector_get_nx(task->handles[0]);
  operation->operand[0].naxes = 1;
  operation->operand[0].axis[0] = {POAS_SPLIT, 0, 0, 0};
  operation->work_per_point = 1;
  operation->type = POAS_FP32;
  return 0;
}

poas_implementation implementation(const char* name, poas_unit_kind unit) {
  poas_implementation one{};
  one.name = name;
  one.unit = unit;
  one.type = POAS_FP32;
  one.precision = POAS_CLASS_FP32;
  return one;
}

poas::Divisible divisible("look", {"n"}, 0b1);

void declare(starpu_codelet& codelet, starpu_perfmodel* perfmodel) {
  starpu_codelet_init(&codelet);
  codelet.cpu_funcs[0] = codelet.opencl_funcs[0] = look;
  codelet.nbuffers = 1;
  codelet.modes[0] = STARPU_RW;
  codelet.model = perfmodel;
  divisible.describe(describe);
  divisible.implementation(implementation("here", POAS_UNIT_CPU));
  divisible.implementation(implementation("there", POAS_UNIT_OPENCL));
  divisible.attach(&codelet);
}

// Splits one task on 4096 items under a policy of StarPU's; what its blocks saw is in `seen`.
void run_blocks(starpu_codelet& codelet) {
  poas::Models models;
  models.times[{"cpu", "look", "here", poas::Type::fp32}] = model(0x1p-20);
  models.times[{"opencl0", "look", "there", poas::Type::fp32}] = model(0x1p-22);
  poas::use_models(models);
  std::vector<float> values(4096);
  starpu_data_handle_t handle = nullptr;
  starpu_vector_data_register(&handle, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(values.data()), 4096,
                              sizeof(float));
  starpu_task* task = starpu_task_create();
  task->cl = &codelet;
  task->handles[0] = handle;
  ASSERT_EQ(poas_task_submit(task), 0);
  starpu_data_unregister(handle);
  bool on_cpu = false, elsewhere = false;
  for (const Seen& one : seen) (one.on_cpu ? on_cpu : elsewhere) = true;
  ASSERT_TRUE(on_cpu && elsewhere) << "not split";
}

void expect_learned_lengths() {
  for (const Seen& one : seen) {
    EXPECT_EQ(one.cpu, (0x1p-12 + one.items * 0x1p-20 + 4 * one.items * 0x1p-32) * 1e6);
    EXPECT_EQ(one.opencl, (0x1p-12 + one.items * 0x1p-22 + 4 * one.items * 0x1p-32) * 1e6);
  }
}

TEST(Perfmodel, BlocksTakeWhatTheModelSays) {
  Runtime runtime(Environment{{"STARPU_SCHED", "dmda"}});
  static starpu_codelet codelet;
  declare(codelet, nullptr);
  run_blocks(codelet);
  expect_learned_lengths();
}

TEST(Perfmodel, AHistoryIsKeptForWholeTasksAlone) {
  Runtime runtime(Environment{{"STARPU_SCHED", "dmda"}});
  static starpu_perfmodel history{};
  history.type = STARPU_HISTORY_BASED;
  history.symbol = "look_history";
  static starpu_codelet codelet;
  declare(codelet, &history);
  EXPECT_EQ(codelet.model, &history);
  run_blocks(codelet);
  expect_learned_lengths();
}

TEST(Perfmodel, AUsersCostFunctionIsKept) {
  Runtime runtime(Environment{{"STARPU_SCHED", "dmda"}});
  static starpu_perfmodel own{};
  own.type = STARPU_PER_WORKER;
  own.worker_cost_function = [](starpu_task*, unsigned worker, unsigned) {
    return is_cpu(worker) ? 1234.5 : 77.25;
  };
  own.symbol = "look_own";
  static starpu_codelet codelet;
  declare(codelet, &own);
  EXPECT_EQ(codelet.model, &own);
  run_blocks(codelet);
  for (const Seen& one : seen) {
    EXPECT_EQ(one.cpu, 1234.5);
    EXPECT_EQ(one.opencl, 77.25);
  }
}

}  // namespace
}  // namespace poas_test
