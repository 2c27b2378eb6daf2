// Time of a cold plan: nothing cached, all four stages, decision included.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>

#include "poas/learn.hpp"
#include "support/small_nodes.hpp"

namespace poas::test {
namespace {

// Tile, multiprocessors and speed of a GEMM on one large GPU.
void set_gpu_model(Node& node, const std::string& unit, const std::string& implementation, double rate) {
  node.speed(unit, implementation, rate, 8e-6);
  TimeModel& model = node.models.times[{unit, "gemm", implementation, Type::fp32}];
  model.tile[0] = 128;
  model.tile[1] = 256;
  model.parallel = 132;
}

// `gpus` GPUs with CUDA and tensor cores (a little unlike each other) and one CPU unit.
Node node_of(int gpus, unsigned cores) {
  Node made = node().host("cpu", cores, 1e11);
  made.machine.host_link_bytes_per_s = 101e9 * gpus;
  made.machine.task_overhead = 5e-6;
  made.machine.split_overhead = 1e-4;
  for (int g = 0; g < gpus; ++g) {
    const std::string name = "cuda" + std::to_string(g);
    const double speed = g % 2 == 0 ? 1 : 0.97;
    made.device(name, 51e12, 55e9, 1e-5);
    set_gpu_model(made, name, "cuda", 51e12 * speed);
    made.machine.units.push_back({name + ".tensor", UnitKind::tensor, g, 1});
    set_gpu_model(made, name + ".tensor", "tensor", 390e12 * speed);
  }
  return made;
}

void cold_plan(benchmark::State& state, const std::string& solver, std::optional<Precision> precision) {
  const auto gpus = static_cast<int>(state.range(0));
  const auto n = static_cast<std::uint64_t>(state.range(1));
  const Node node = node_of(gpus, gpus == 8 ? 112 : 15);
  const Operation operation = gemm(n, n, n);
  Request request;
  request.solver = solver;
  request.precision = precision;
  Plan plan;
  for (auto _ : state) benchmark::DoNotOptimize(plan = node.plan(operation, request));
  validate(plan, operation, node.machine);
  state.counters["blocks"] = static_cast<double>(plan.tasks.blocks.size());
  state.counters["gap"] = plan.gap;
}

void simulation(benchmark::State& state) {
  const Node node = node_of(8, 112);
  const Operation operation = gemm(16384, 16384, 16384);
  const Plan plan = node.plan(operation);
  for (auto _ : state) benchmark::DoNotOptimize(simulate(operation, node.machine, plan.costs, plan.tasks));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(plan.tasks.blocks.size()));
}

// One block by a model with tiles and waves; to be under 1 us.
void prediction(benchmark::State& state) {
  const Node node = node_of(1, 15);
  const Operation operation = gemm(16384, 16384, 16384);
  const TimeModel& model = node.models.times.at({"cuda0", "gemm", "cuda", Type::fp32});
  Box box = whole_box(operation);
  for (auto _ : state) {
    box[0].end = box[0].end % 16384 + 1;
    benchmark::DoNotOptimize(evaluate(model, operation, box));
  }
}

// The same by trees, of the shipped model of an H200; the shapes change, as they do in a plan.
void prediction_with_trees(benchmark::State& state) {
  const auto models = load_models(POAS_MODELS "/nvidia-h200.json");
  const TimeModel& model = models->times.at({"NVIDIA H200", "gemm", "cublas-tf32", Type::fp32});
  const Operation operation = gemm(16384, 16384, 16384);
  Box box = whole_box(operation);
  for (auto _ : state) {
    for (int d = 0; d < 3; ++d) box[d].end = box[d].end * 2862933555777941757u % 16384 + 1;
    benchmark::DoNotOptimize(evaluate(model, operation, box));
  }
}

// Reading a model file with the trees of four implementations.
void loading(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(load_models(POAS_MODELS "/nvidia-h200.json"));
}

// Reading the largest file that learning makes, beside the models of a node of eight GPUs; to be under 10 ms.
void loading_learned(benchmark::State& state) {
  Models models = node_of(8, 112).models;
  const TimeModel guess{1.0 / 3, 1e-13 / 7, 2e-12 / 3, TimeModel{}.tile, 1, 0, 0};
  for (std::size_t i = 0; i < most_learned; ++i)
    models.learned[{"cuda" + std::to_string(i), "gemm", "cublas-fp32", Type::fp32}] = {guess, 4.0 / 3, 999, "2024-01-01"};
  const auto file = std::filesystem::temp_directory_path() / ("poas-bench-" + std::to_string(getpid()) + ".json");
  save_models(file, models);
  state.counters["bytes"] = static_cast<double>(std::filesystem::file_size(file));
  for (auto _ : state) benchmark::DoNotOptimize(load_models(file));
  std::filesystem::remove(file);
}

// What one observation costs where 40 models are known; to be under 2 us.
void learning(benchmark::State& state) {
  Learner learner;
  std::vector<Observation> observations;
  for (int unit = 0; unit < 40; ++unit)
    observations.push_back({{"cuda" + std::to_string(unit), "gemm", "cuda", Type::fp32}, {}, 1.0 + unit % 7});
  std::size_t next = 0;
  for (auto _ : state) learner.add(observations[next++ % observations.size()]);
}

void sizes(benchmark::internal::Benchmark* bench) {
  for (const int gpus : {1, 2, 8})
    for (const int n : {1024, 4096, 16384}) bench->Args({gpus, n});
  // The solver runs in a thread of its own.
  bench->Unit(benchmark::kMicrosecond)->MeasureProcessCPUTime()->UseRealTime();
}

BENCHMARK_CAPTURE(cold_plan, glpk_fp32, "glpk", std::nullopt)->Apply(sizes);
BENCHMARK_CAPTURE(cold_plan, glpk_tf32, "glpk", Precision::tf32)->Apply(sizes);
BENCHMARK_CAPTURE(cold_plan, enumerate_fp32, "enumerate", std::nullopt)->Apply(sizes);
BENCHMARK(prediction);
BENCHMARK(prediction_with_trees);
BENCHMARK(loading)->Unit(benchmark::kMillisecond);
BENCHMARK(loading_learned)->Unit(benchmark::kMillisecond);
BENCHMARK(learning);
BENCHMARK(simulation)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace poas::test

BENCHMARK_MAIN();
