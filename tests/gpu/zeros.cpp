// How much faster than on data a GPU is on zeros, and which of both the models predict.
#include <algorithm>
#include <set>
#include <vector>

#include "gpu_conformance.hpp"
#include "poas/gemm.h"
#include "poas/runtime.hpp"

namespace {

using poas::Extents;

constexpr double most_error = 0.12;
const std::vector<Extents> shapes = {{4096, 4096, 4096, 1, 1, 1, 1, 1},  {8192, 8192, 8192, 1, 1, 1, 1, 1},
                                     {16384, 4096, 4096, 1, 1, 1, 1, 1}, {4096, 16384, 8192, 1, 1, 1, 1, 1},
                                     {8192, 8192, 2048, 1, 1, 1, 1, 1},  {12288, 12288, 12288, 1, 1, 1, 1, 1}};

// What the task on the worker does: all shapes, on random values and on zeros.
struct Job {
  unsigned implementation;
  std::vector<poas::Sample> of_random{}, of_zeros{};
  unsigned megahertz[2]{}, watts[2]{};  // with the last shape
  int error = 0;
};

void measure(void* argument) {
  auto& job = *static_cast<Job*>(argument);
  const poas_divisible& divisible = *poas_gemm_divisible();
  for (const int zero : {0, 1}) {
    void* state = nullptr;
    for (const Extents& extents : shapes) {
      poas_block block{};
      std::copy(extents.begin(), extents.end(), block.extent);
      block.implementation = job.implementation;
      block.zeros = zero;
      poas_measurement m{};
      job.error = divisible.measure_block(&state, &block, &m);
      if (job.error != 0) break;
      (zero ? job.of_zeros : job.of_random).push_back({extents, m.work, m.bytes, m.seconds});
      job.megahertz[zero] = m.megahertz;
      job.watts[zero] = m.watts;
    }
    if (state) divisible.end_measuring(state);
    if (job.error != 0) return;
  }
}

// The unit's own model, else that of its product; null if there is none.
const poas::TimeModel* model_of(const poas::Models& models, const poas::Machine& machine,
                                const poas_implementation& one) {
  const auto kind = static_cast<poas::UnitKind>(one.unit);
  const auto unit = std::ranges::find_if(machine.units, [&](const poas::Unit& u) { return u.kind == kind; });
  if (unit == machine.units.end() || unit->device < 0) return nullptr;
  const std::string& product = machine.devices[static_cast<std::size_t>(unit->device)].product;
  for (const std::string& name : {unit->name, product})
    if (const auto found = models.times.find({name, "gemm", one.name, static_cast<poas::Type>(one.type)});
        found != models.times.end())
      return &found->second;
  return nullptr;
}

void judge(const Job& job, const poas_implementation& one, const poas::TimeModel* model) {
  const double random = job.of_random.back().seconds, zero = job.of_zeros.back().seconds;
  std::printf("%-18s n = 12288: random %8.2f ms (%u MHz, %u W), zeros %8.2f ms (%u MHz, %u W), %+.1f %%\n", one.name,
              1e3 * random, job.megahertz[0], job.watts[0], 1e3 * zero, job.megahertz[1], job.watts[1],
              100 * (zero / random - 1));
  if (!model) {
    std::printf("%-18s no model: run poas calibrate to have it judged\n", one.name);
    return;
  }
  const double of_random = poas::mean_error(*model, job.of_random, 3);
  const double of_zeros = poas::mean_error(*model, job.of_zeros, 3);
  std::printf("%-18s mean error of the model over %zu shapes: random %.1f %%, zeros %.1f %%\n", one.name, shapes.size(),
              100 * of_random, 100 * of_zeros);
  expect(of_random <= most_error, std::string("the model of ") + one.name + " errs by more than 12 % on random values");
}

// The tasks that calibration times where the codelet does not measure itself.
void expect_random_operands(poas_type type) {
  constexpr std::uint64_t extent[POAS_MAX_DIMS] = {64, 64, 64, 1, 1, 1, 1, 1};
  starpu_task* task = poas_gemm_divisible()->make_sample(extent, type);
  for (unsigned i = 0; task && i < 2; ++i) {
    const starpu_data_handle_t handle = STARPU_TASK_GET_HANDLE(task, i);
    const std::size_t size = starpu_matrix_get_elemsize(handle);
    starpu_data_acquire(handle, STARPU_R);
    const auto* bytes = reinterpret_cast<const char*>(starpu_matrix_get_local_ptr(handle));
    std::set<std::string> values;
    for (std::size_t j = 0; j < 64 * 64; ++j) values.insert(std::string(bytes + j * size, size));
    starpu_data_release(handle);
    expect(values.size() > 64, "calibration's operands are nearly constant");
  }
  expect(task != nullptr, "calibration has no operands");
  if (task) poas_gemm_divisible()->free_sample(task);
}

}  // namespace

void zeros() {
  StarPU starpu;
  const poas::Machine machine = poas::probe();
  poas::Models models = poas::current_models();
  poas::add_installed_models(models, machine);
  int id = -1;
  starpu_worker_get_ids_by_type(STARPU_CUDA_WORKER, &id, 1);
  auto worker = static_cast<unsigned>(id);
  const poas_divisible& divisible = *poas_gemm_divisible();
  for (unsigned i = 0; i < divisible.nimplementations; ++i) {
    const poas_implementation& one = divisible.implementations[i];
    if (one.unit != POAS_UNIT_CUDA && one.unit != POAS_UNIT_TENSOR) continue;
    expect_random_operands(one.type);
    Job job{i};
    starpu_execute_on_specific_workers(measure, &job, 1, &worker, "zeros");
    if (job.error == -ENOTSUP || job.error == -ENOMEM)
      std::printf("%-18s not judged: not on this GPU, or too little memory\n", one.name);
    else if (job.error != 0)
      expect(false, poas_last_error());
    else
      judge(job, one, model_of(models, machine, one));
  }
}
