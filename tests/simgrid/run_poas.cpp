#include <starpu.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <vector>

#include "poas/divisible.hpp"
#include "poas/runtime.hpp"
#include "runs.hpp"

namespace gemm_node {
namespace {

enum Dim : unsigned { dim_m, dim_n, dim_k };

poas_operand operand(Dim rows, Dim columns) {
  return {2, {{POAS_SPLIT, rows, 0, 0}, {POAS_SPLIT, columns, 0, 0}}};
}

int describe(const starpu_task* task, poas_operation* operation) {
  operation->extent[dim_m] = starpu_matrix_get_nx(STARPU_TASK_GET_HANDLE(task, 2));
  operation->extent[dim_n] = starpu_matrix_get_ny(STARPU_TASK_GET_HANDLE(task, 2));
  operation->extent[dim_k] = starpu_matrix_get_ny(STARPU_TASK_GET_HANDLE(task, 0));
  operation->operand[0] = operand(dim_m, dim_k);
  operation->operand[1] = operand(dim_k, dim_n);
  operation->operand[2] = operand(dim_m, dim_n);
  operation->work_per_point = 2;
  operation->type = POAS_FP32;
  return 0;
}

// A sample task and the matrices that live as long as it does.
struct SampleTask {
  std::unique_ptr<Matrices> matrices;
  starpu_task* task;
};

starpu_task* make_sample(const std::uint64_t* extent, poas_type type) {
  if (type != POAS_FP32) return nullptr;
  auto matrices = std::make_unique<Matrices>(Shape{extent[dim_m], extent[dim_n], extent[dim_k]});
  starpu_task* task = matrices->task({0, extent[dim_m]}, {0, extent[dim_n]}, -1);
  task->detach = 0;
  task->destroy = 0;
  task->cl_arg = matrices.release();
  return task;
}

void free_sample(starpu_task* task) {
  const std::unique_ptr<Matrices> matrices(static_cast<Matrices*>(task->cl_arg));
  task->cl_arg = nullptr;
  starpu_task_destroy(task);
}

void declare_divisible() {
  static poas::Divisible divisible("node_gemm", {"m", "n", "k"}, 1u << dim_m | 1u << dim_n);
  poas_implementation cpu{"cpu", POAS_UNIT_CPU, POAS_FP32, POAS_CLASS_FP32, 0, {16, 8, 1}, {}, nullptr};
  poas_implementation cuda{"cuda", POAS_UNIT_CUDA, POAS_FP32, POAS_CLASS_FP32,
                           0,      {128, 128, 1},  {},        nullptr};
  divisible.describe(describe).samples(make_sample, free_sample).implementation(cpu).implementation(cuda);
  divisible.attach(codelet());
}

poas::Models models_of(const std::string& file) {
  if (!file.empty())
    if (auto stored = poas::load_models(file)) return *stored;
  poas::CalibrationOptions options;
  options.repetitions = 1;  // simulated times do not vary, and simulated cores cost time
  options.most_blocks = 60;
  const poas::Models models = poas::calibrate(codelet(), options);
  if (!file.empty()) poas::save_models(file, models);
  return models;
}

double run_whole(const Shape& shape) {
  Matrices matrices(shape);
  starpu_task* task = matrices.task({0, shape.m}, {0, shape.n}, -1);
  task->detach = 0;
  task->destroy = 0;
  const double start = starpu_timing_now();
  if (starpu_task_submit(task) != 0) throw std::runtime_error("StarPU refused the whole task");
  if (starpu_task_wait(task) != 0) throw std::runtime_error("the whole task cannot be waited for");
  matrices.bring_home();
  const double seconds = (starpu_timing_now() - start) * 1e-6;
  const int status = poas_task_status(task);
  starpu_task_destroy(task);
  if (status != 0) throw std::runtime_error(std::string("the task failed: ") + poas_last_error());
  return seconds;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// Seconds of real time, not of the simulation's.
double plan_seconds(starpu_task* task) {
  const auto begin = std::chrono::steady_clock::now();
  poas::plan_task(task);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

nlohmann::json time_planning(const Shape& shape, const std::string& models_file) {
  declare_divisible();
  const poas::Models models = models_of(models_file);
  Matrices matrices(shape);
  starpu_task* task = matrices.task({0, shape.m}, {0, shape.n}, -1);
  std::vector<double> cold, cached;
  for (int i = 0; i < 21; ++i) {
    poas::use_models(models);  // forgets all plans
    cold.push_back(plan_seconds(task));
    for (int j = 0; j < 10; ++j) cached.push_back(plan_seconds(task));
  }
  task->destroy = 0;
  starpu_task_destroy(task);
  return {{"cold", median(cold)}, {"cached", median(cached)}};
}

nlohmann::json run_drift(const Shape& shape, const std::string& models_file, const std::string& unit, double factor) {
  declare_divisible();
  poas::use_models(models_of(models_file));
  const auto after = [&shape](int tasks) {
    double makespan = 0;
    for (int i = 0; i < tasks; ++i) makespan = run_whole(shape);
    return makespan;
  };
  nlohmann::json json;
  json["before"] = after(10);
  slow_down(unit, factor);
  json["slowed at once"] = after(1);
  json["slowed"] = after(29);
  json["slowed, by a plan that knows"] = true_plan(shape).at("makespan");
  slow_down(unit, 1 / factor);
  json["back"] = after(60);
  return json;
}

nlohmann::json run_poas(const Shape& shape, const std::string& models_file) {
  declare_divisible();
  const double start = starpu_timing_now();
  poas::use_models(models_of(models_file));
  const double calibration = (starpu_timing_now() - start) * 1e-6;
  const double makespan = run_whole(shape);
  const poas::Plan plan = poas::last_plan();
  nlohmann::json json = nlohmann::json::parse(poas::to_json(plan));
  return {{"makespan", makespan}, {"predicted", plan.makespan}, {"bound", plan.bound},
          {"split", plan.split},  {"calibration", calibration}, {"plan", json}};
}

}  // namespace gemm_node
