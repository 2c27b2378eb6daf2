// Calibration by codelets that measure their blocks themselves (poas_divisible::measure_block).
#include <atomic>
#include <cerrno>
#include <functional>
#include <thread>

#include "models/training/train.hpp"
#include "poas/divisible.hpp"
#include "poas/runtime.hpp"
#include "poas/shapes.hpp"
#include "support.hpp"

namespace poas_test {
namespace {

constexpr double fixed = 3e-6, per_flop = 2e-13, per_byte = 5e-12;

// What the codelet answers, and who asked.
struct Hook {
  std::function<int(const poas_block&, poas_measurement&)> answer;
  unsigned states = 0, calls = 0, ends = 0;
  bool on_worker = true;
  std::thread::id thread;
} hook;

// C of m x n elements, k is an argument: flop and bytes do not go together.
int describe(const starpu_task* task, poas_operation* operation) {
  const starpu_data_handle_t c = STARPU_TASK_GET_HANDLE(task, 0);
  operation->extent[0] = starpu_matrix_get_nx(c);
  operation->extent[1] = starpu_matrix_get_ny(c);
  operation->extent[2] = *static_cast<const std::uint64_t*>(task->cl_arg);
  operation->operand[0].naxes = 2;
  operation->operand[0].axis[0] = {POAS_SPLIT, 0, 0, 0};
  operation->operand[0].axis[1] = {POAS_SPLIT, 1, 0, 0};
  operation->work_per_point = 2;
  operation->type = POAS_FP32;
  return 0;
}

std::atomic<unsigned> blocks_run{0};
void compute(void*[], void*) { ++blocks_run; }

starpu_codelet* codelet();

starpu_task* make_sample(const std::uint64_t* extent, poas_type) {
  starpu_data_handle_t c;
  starpu_matrix_data_register(&c, -1, 0, static_cast<std::uint32_t>(extent[0]), static_cast<std::uint32_t>(extent[0]),
                              static_cast<std::uint32_t>(extent[1]), sizeof(float));
  starpu_task* task = starpu_task_create();
  task->cl = codelet();
  task->handles[0] = c;
  task->cl_arg = new std::uint64_t(extent[2]);
  task->cl_arg_size = sizeof extent[2];
  task->detach = task->destroy = 0;
  return task;
}

void free_sample(starpu_task* task) {
  starpu_data_unregister(task->handles[0]);
  delete static_cast<std::uint64_t*>(task->cl_arg);
  starpu_task_destroy(task);
}

int measure_block(void** state, const poas_block* block, poas_measurement* measurement) {
  if (!*state) {
    *state = &hook;
    hook.states++;
    hook.thread = std::this_thread::get_id();
  }
  hook.calls++;
  hook.on_worker = hook.on_worker && starpu_worker_get_id() >= 0 && hook.thread == std::this_thread::get_id();
  const double m = static_cast<double>(block->extent[0]), n = static_cast<double>(block->extent[1]);
  measurement->work = 2 * m * n * static_cast<double>(block->extent[2]);
  measurement->bytes = 4 * m * n;
  return hook.answer(*block, *measurement);
}

void end_measuring(void* state) {
  hook.ends++;
  hook.on_worker = hook.on_worker && state == &hook && hook.thread == std::this_thread::get_id();
}

poas_implementation implementation(const char* name) {
  poas_implementation one{};
  one.name = name;
  one.unit = POAS_UNIT_CPU;
  one.type = POAS_FP32;
  one.precision = POAS_CLASS_FP32;
  return one;
}

starpu_codelet* codelet() {
  static starpu_codelet raw = [] {
    starpu_codelet made{};
    starpu_codelet_init(&made);
    made.cpu_funcs[0] = compute;
    made.nbuffers = 1;
    made.modes[0] = STARPU_W;
    return made;
  }();
  static poas::Divisible divisible("outer", {"m", "n", "k"}, 0b11);
  [[maybe_unused]] static const bool attached = [] {
    divisible.describe(describe).samples(make_sample, free_sample).measuring(measure_block, end_measuring);
    divisible.implementation(implementation("loop")).attach(&raw);
    return true;
  }();
  return &raw;
}

const Environment two_cpus{{"STARPU_NCPU", "2"}, {"STARPU_NOPENCL", "0"}};

poas::TimeModel calibrated(const poas::CalibrationOptions& options) {
  Runtime runtime(two_cpus);
  hook.states = hook.calls = hook.ends = 0;
  blocks_run = 0;
  const poas::Models models = poas::calibrate(codelet(), options);
  return models.times.at({"cpu", "outer", "loop", poas::Type::fp32});
}

int closed_form(const poas_block&, poas_measurement& m) {
  m.seconds = fixed + m.work * per_flop + m.bytes * per_byte;
  return 0;
}

void expect_closed_form(const poas::TimeModel& model) {
  EXPECT_NEAR(model.fixed / fixed, 1, 1e-6);
  EXPECT_NEAR(model.seconds_per_flop / per_flop, 1, 1e-6);
  EXPECT_NEAR(model.seconds_per_byte / per_byte, 1, 1e-6);
  EXPECT_LT(model.relative_error, 1e-6);
}

TEST(MeasureBlock, ItsTimesAreFittedExactly) {
  hook.answer = closed_form;
  poas::CalibrationOptions options;
  options.budget = 5;
  const poas::TimeModel model = calibrated(options);
  expect_closed_form(model);
  EXPECT_EQ(model.samples, 600u);  // of which fit() needs no more
  EXPECT_FALSE(model.forest);
  EXPECT_EQ(hook.calls, 600u);
  EXPECT_EQ(hook.states, 1u);
  EXPECT_EQ(hook.ends, 1u);
  EXPECT_TRUE(hook.on_worker) << "not always on the thread of one worker";
  EXPECT_EQ(blocks_run, 0u) << "blocks ran as tasks";
}

TEST(MeasureBlock, BlocksThatDoNotFitAreLeftOut) {
  hook.answer = [](const poas_block& block, poas_measurement& m) {
    return block.extent[0] * block.extent[1] > 1 << 20 ? -ENOMEM : closed_form(block, m);
  };
  poas::CalibrationOptions options;
  options.budget = 5;
  expect_closed_form(calibrated(options));
  EXPECT_GT(hook.calls, 600u);
}

// How many of three blocks came out of a calibration; their times are this machine's, so nothing is asked of the model.
std::size_t measured_of_three(starpu_codelet* one) {
  Runtime runtime(two_cpus);
  hook.states = hook.calls = hook.ends = 0;
  blocks_run = 0;
  std::size_t count = 0;
  poas::CalibrationOptions options;
  options.extents = {{64, 64, 64, 1, 1, 1, 1, 1}, {128, 64, 32, 1, 1, 1, 1, 1}, {256, 256, 8, 1, 1, 1, 1, 1}};
  options.fit = [&](const std::vector<poas::Sample>& samples, int ndims, unsigned parallel) {
    EXPECT_EQ(parallel, 1u);
    count = samples.size();
    return poas::fit(samples, ndims);
  };
  EXPECT_FALSE(poas::calibrate(one, options).times.empty());
  return count;
}

TEST(MeasureBlock, OneThatCannotFallsBackToTasks) {
  hook.answer = [](const poas_block&, poas_measurement&) { return -ENOTSUP; };
  EXPECT_EQ(measured_of_three(codelet()), 3u);
  EXPECT_EQ(hook.calls, 1u);
  EXPECT_GE(blocks_run, 3u * 2 * 6) << "each block on each of 2 workers, in three rounds, once to warm up and then to count";
}

TEST(MeasureBlock, ResultsThatMakeNoSenseFallBackToTasks) {
  hook.answer = [](const poas_block&, poas_measurement& m) { return m.seconds = -1, 0; };
  EXPECT_EQ(measured_of_three(codelet()), 3u);
  EXPECT_NE(std::string(poas_last_error()).find("measure_block of 'outer'"), std::string::npos) << poas_last_error();
}

// Another kernel for narrow or unaligned blocks, as libraries have.
int jumping(const poas_block& block, poas_measurement& m) {
  const bool slow = block.extent[1] < 300 || (block.extent[0] % 8 != 0 && block.extent[2] > 500);
  m.seconds = fixed + m.work * per_flop * (slow ? 2.5 : 1);
  m.parallel = 132;
  return 0;
}

TEST(MeasureBlock, ManyBlocksGetTrees) {
  hook.answer = jumping;
  poas::CalibrationOptions options;
  poas::RandomShapes shapes(1, 3);
  for (int i = 0; i < 1500; ++i) options.extents.push_back(shapes.next());
  std::vector<poas::Sample> known;
  options.fit = [&](const std::vector<poas::Sample>& samples, int ndims, unsigned parallel) {
    EXPECT_EQ(ndims, 3);
    EXPECT_EQ(parallel, 132u);
    known = samples;
    return poas::training::train(samples, ndims, parallel);
  };
  const poas::TimeModel model = calibrated(options);
  ASSERT_TRUE(model.forest);
  EXPECT_EQ(known.size(), 1500u);
  poas::TimeModel of_all = poas::training::train(known, 3, 132);
  of_all.relative_error = model.relative_error;  // of blocks that calibration held out
  EXPECT_EQ(model, of_all);
  EXPECT_LT(model.relative_error, 0.08);
  EXPECT_LT(poas::mean_error(model, known, 3), 0.06);
}

// The GEMM codelet measures itself on CUDA workers only: here its blocks run as tasks.
TEST(MeasureBlock, GemmOnCpuIsMeasuredByTasks) { EXPECT_EQ(measured_of_three(poas_gemm_codelet()), 3u); }

poas_divisible descriptor(const poas_implementation& one) {
  poas_divisible d{};
  d.size = sizeof d;
  d.version = POAS_DIVISIBLE_VERSION;
  d.name = "half";
  d.ndims = 1;
  d.dim_name[0] = "n";
  d.nimplementations = 1;
  d.implementations = &one;
  d.describe = describe;
  return d;
}

TEST(MeasureBlock, HalfADescriptorIsRefused) {
  static starpu_codelet raw;
  const poas_implementation one = implementation("loop");
  poas_divisible d = descriptor(one);
  d.measure_block = measure_block;
  EXPECT_EQ(poas_divisible_register(&raw, &d), -EINVAL);
  EXPECT_NE(std::string(poas_last_error()).find("end_measuring"), std::string::npos) << poas_last_error();
  d = descriptor(one);
  d.end_measuring = end_measuring;
  EXPECT_EQ(poas_divisible_register(&raw, &d), -EINVAL);
  d = descriptor(one);
  d.size -= 2 * sizeof(void*);  // a program built before the functions were there
  EXPECT_EQ(poas_divisible_register(&raw, &d), -EINVAL);
  EXPECT_NE(std::string(poas_last_error()).find("size or version"), std::string::npos) << poas_last_error();
}

}  // namespace
}  // namespace poas_test
