// Environment variables that are wrong, folders that cannot be written, devices that are not there.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "poas/runtime.hpp"
#include "support.hpp"

namespace poas_test {
namespace {

const Shape shape{160, 200, 40, 'N', 'N', 1, 1};

// Multiplies `count` times and returns what was written to stderr meanwhile.
std::string multiply(Environment environment, unsigned count = 3) {
  testing::internal::CaptureStderr();
  {
    Runtime runtime(std::move(environment));
    EXPECT_EQ(runtime.status(), 0);
    Product<float> product(shape);
    for (unsigned i = 0; i < count; i++) EXPECT_EQ(product.submit(), 0);
    product.unregister();
    EXPECT_TRUE(product.right(count));
    EXPECT_EQ(runtime.records().size(), count);
  }
  return testing::internal::GetCapturedStderr();
}

TEST(Environment, UnknownObjectiveIsNamedOnceAndTheDefaultIsUsed) {
  const std::string log = multiply({{"POAS_OBJECTIVE", "fast"}});
  EXPECT_EQ(lines_with(log, "POAS_OBJECTIVE"), 1u) << log;
}

TEST(Environment, UnknownSplitModeIsNamedOnce) {
  const std::string log = multiply({{"POAS_SPLIT", "sometimes"}});
  EXPECT_EQ(lines_with(log, "POAS_SPLIT"), 1u) << log;
}

TEST(Environment, GuessedSplitIsSaidOnce) {
  const std::string log = multiply({});
  EXPECT_EQ(lines_with(log, "guess"), 1u) << log;
}

TEST(Environment, PlanSaysWhereItsModelsComeFrom) {
  Runtime runtime;
  Product<float> product(shape);
  ASSERT_EQ(product.submit(), 0);
  product.unregister();
  const auto records = runtime.records();
  ASSERT_EQ(records.size(), 1u);
  const auto& plan = records[0]["plan"];
  EXPECT_EQ(plan["source"], "default");
  for (const auto& unit : plan["units"]) {
    EXPECT_GT(unit["predicted_seconds"], 0) << unit;
    EXPECT_GT(unit["measured_seconds"], 0) << unit;
  }
}

TEST(Environment, ModelFolderThatCannotBeWrittenIsSaidOnce) {
  const std::string file = POAS_TEST_SCRATCH "/a-file";
  std::ofstream(file) << "not a folder\n";
  const std::string log = multiply({{"POAS_MODEL_DIR", file}});
  EXPECT_EQ(lines_with(log, file), 1u) << log;
}

TEST(Environment, BrokenModelFileIsSaidOnce) {
  const std::filesystem::path folder = POAS_TEST_SCRATCH "/broken-models";
  std::filesystem::create_directories(folder);
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::ofstream(poas::model_file(folder, host)) << "{\"times\": [";
  const std::string log = multiply({{"POAS_MODEL_DIR", folder.string()}});
  EXPECT_EQ(lines_with(log, folder.string()), 1u) << log;
}

TEST(Environment, RecordThatCannotBeWrittenIsSaidOnce) {
  testing::internal::CaptureStderr();
  {
    Runtime runtime(Environment{{"POAS_RECORD", "/nonexistent/folder/record"}});
    Product<float> product(shape);
    for (int i = 0; i < 3; i++) EXPECT_EQ(product.submit(), 0);
    product.unregister();
    EXPECT_TRUE(product.right(3));
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(lines_with(log, "/nonexistent/folder/record"), 1u) << log;
}

TEST(Environment, OnlyTheDevice) {
  Runtime runtime(Environment{{"STARPU_NCPU", "0"}});
  ASSERT_EQ(runtime.status(), 0);
  EXPECT_EQ(starpu_cpu_worker_get_count(), 0u);
  Product<float> product(shape);
  ASSERT_EQ(product.submit(), 0) << poas_last_error();
  product.unregister();
  EXPECT_TRUE(product.right());
  for (const auto& unit : poas::probe().units) EXPECT_EQ(unit.kind, poas::UnitKind::opencl);
}

TEST(Environment, OnlyTheCores) {
  Runtime runtime(Environment{{"STARPU_NOPENCL", "0"}, {"STARPU_NCUDA", "0"}, {"STARPU_NCPU", "2"}});
  ASSERT_EQ(runtime.status(), 0);
  Product<float> product(shape);
  ASSERT_EQ(product.submit(), 0) << poas_last_error();
  product.unregister();
  EXPECT_TRUE(product.right());
  const auto machine = poas::probe();
  ASSERT_EQ(machine.units.size(), 1u);
  EXPECT_EQ(machine.units[0].kind, poas::UnitKind::cpu);
  EXPECT_EQ(machine.units[0].workers, 2u);
}

// StarPU gives cores to the threads that drive devices; the CPU unit has what is left.
TEST(Environment, CpuUnitCountsWorkersNotCores) {
  Runtime runtime(Environment{{"STARPU_NCPU", ""}});
  ASSERT_EQ(runtime.status(), 0);
  unsigned workers = 0;
  for (const auto& unit : poas::probe().units)
    if (unit.kind == poas::UnitKind::cpu) workers = unit.workers;
  EXPECT_EQ(workers, starpu_cpu_worker_get_count());
}

TEST(Environment, UnitsThatMayBeUsed) {
  Runtime runtime(Environment{{"POAS_UNITS", "cpu"}, {"POAS_SPLIT", "auto"}});
  Product<float> product(shape);
  ASSERT_EQ(product.submit(), 0);
  product.unregister();
  EXPECT_TRUE(product.right());
  for (const auto& record : runtime.records())
    for (const auto& block : record["timeline"]) EXPECT_EQ(block["unit"], "cpu");
}

void cuda_never(void*[], void*) {}

TEST(Environment, OrdinaryCodeletWithoutUsableImplementation) {
  Runtime runtime;
  starpu_codelet codelet;
  starpu_codelet_init(&codelet);
  codelet.cuda_funcs[0] = cuda_never;  // no CUDA worker here
  codelet.name = "cuda_only";
  starpu_task* task = starpu_task_create();
  task->cl = &codelet;
  EXPECT_EQ(starpu_task_submit(task), -ENODEV);
  task->destroy = 0;
  starpu_task_destroy(task);
}

double cpu_seconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Share of one core that the process uses while the main thread sleeps.
double idle_load() {
  const double cpu = cpu_seconds(), begin = starpu_timing_now();
  usleep(500000);
  return (cpu_seconds() - cpu) / ((starpu_timing_now() - begin) * 1e-6);
}

TEST(Environment, PausedRuntimeLeavesTheCoresAlone) {
  Runtime runtime;
  Product<float> product(shape);
  ASSERT_EQ(product.submit(), 0);
  starpu_task_wait_for_all();
  starpu_pause();
  EXPECT_LT(idle_load(), 0.2);
  starpu_resume();
  ASSERT_EQ(product.submit(), 0);
  product.unregister();
  EXPECT_TRUE(product.right(2));
}

}  // namespace
}  // namespace poas_test
