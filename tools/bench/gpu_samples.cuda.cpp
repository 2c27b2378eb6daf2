// Times of single GEMMs and copies on a GPU, as tables that models are fitted to and judged by.
//   gpu_samples gemm --type fp32 --shapes 300 --seed 1 [--limit 60] [--zeros]
//   gpu_samples copies --count 240 --seed 1 [--direction both] [--memory pageable]
// GEMMs are measured by the codelet's own measure_block, as `poas calibrate` does.
// Ends with 0 (done), 1 (failed), 2 (bad usage) or 77 (no GPU).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "gpu_samples.hpp"
#include "poas/gemm.h"
#include "poas/shapes.hpp"

namespace {

struct Kind {
  std::string type;
  const char* implementation;
};

const Kind kinds[] = {{"fp32", "cublas-fp32"},
                      {"tf32", "cublas-tf32"},
                      {"fp64", "cublas-fp64-tensor"},
                      {"bf16", "cublas-bf16"},
                      {"fp16", "cublas-fp16"}};

// StarPU with one worker, that of GPU 0: no other polls beside it.
class Runtime {
 public:
  Runtime() {
    starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 0;
    conf.ncuda = 1;
    conf.nopencl = 0;
    if (const int error = starpu_init(&conf); error != 0 || starpu_cuda_worker_get_count() == 0)
      throw std::runtime_error(std::string("StarPU does not start a worker for the GPU: ") + std::strerror(-error) +
                               "; look for STARPU_NCUDA and the like in the environment");
  }
  ~Runtime() { starpu_shutdown(); }
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  void run(void (*function)(void*), void* argument) {
    int worker = -1;
    starpu_worker_get_ids_by_type(STARPU_CUDA_WORKER, &worker, 1);
    auto id = static_cast<unsigned>(worker);
    starpu_execute_on_specific_workers(function, argument, 1, &id, "gpu_samples");
  }
};

// What the task on the worker does.
struct Job {
  const Options& options;
  const Kind& kind;
  int error = 0;
};

unsigned index_of(const poas_divisible& divisible, const char* implementation) {
  unsigned i = 0;
  while (i < divisible.nimplementations && std::strcmp(divisible.implementations[i].name, implementation) != 0) ++i;
  return i;  // the codelet refuses one that it has not
}

void measure(void* argument) {
  auto& job = *static_cast<Job*>(argument);
  const poas_divisible& divisible = *poas_gemm_divisible();
  poas_block block{};
  block.implementation = index_of(divisible, job.kind.implementation);
  block.zeros = job.options.zeros ? 1 : 0;
  poas::RandomShapes shapes(job.options.seed, static_cast<int>(divisible.ndims));
  void* state = nullptr;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(job.options.limit);
  for (unsigned i = 0; i < job.options.count && std::chrono::steady_clock::now() < end; ++i) {
    const poas::Extents extents = shapes.next();
    std::copy(extents.begin(), extents.end(), block.extent);
    poas_measurement m{};
    const int error = divisible.measure_block(&state, &block, &m);
    if (error == -ENOMEM) continue;
    if ((job.error = error) != 0) break;
    std::printf("%s\t%s\t%llu\t%llu\t%llu\t%.6g\t%.3f\t%u\t%u\t%u\n", job.kind.type.c_str(), job.kind.implementation,
                static_cast<unsigned long long>(extents[0]), static_cast<unsigned long long>(extents[1]),
                static_cast<unsigned long long>(extents[2]), m.seconds, m.spread, m.launches, m.megahertz, m.watts);
  }
  if (state) divisible.end_measuring(state);
}

void gemms(const Options& options, const Kind& kind) {
  header("type\timplementation\tm\tn\tk\tseconds\tspread\tlaunches\tMHz\tW");
  Runtime runtime;
  Job job{options, kind};
  runtime.run(measure, &job);
  if (job.error == -ENOTSUP) throw std::runtime_error(std::string("this GPU does not run ") + kind.implementation);
  if (job.error != 0) throw std::runtime_error(poas_last_error());
}

bool has_gpu() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

int run(const Options& options, bool of_gemms) {
  if (!has_gpu()) {
    std::fprintf(stderr, "gpu_samples: nothing measured: CUDA sees no GPU here; run it on a machine that has one\n");
    return 77;
  }
  try {
    if (!of_gemms) return copies(options), 0;
    gemms(options, *std::ranges::find(kinds, options.type, &Kind::type));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_samples: %s\n", error.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Times of single GEMMs and copies on GPU 0, tab separated on stdout"};
  Options options;
  auto* gemm = app.add_subcommand("gemm", "GEMMs of random shapes, 64 to 16384 in each direction");
  gemm->add_option("--type", options.type, "what is multiplied, and how")
      ->check(CLI::IsMember({"fp32", "tf32", "fp64", "bf16", "fp16"}));
  gemm->add_option("--shapes", options.count, "how many");
  gemm->add_option("--seed", options.seed, "of the shapes");
  gemm->add_option("--limit", options.limit, "seconds after which no further shape is measured");
  gemm->add_flag("--zeros", options.zeros, "operands all zero, to see by how much that is too fast");
  auto* copy = app.add_subcommand("copies", "copies of random sizes between host and device");
  copy->add_option("--count", options.count, "how many");
  copy->add_option("--seed", options.seed, "of the sizes");
  copy->add_option("--direction", options.direction, "only this one; both: at once")
      ->check(CLI::IsMember({"h2d", "d2h", "both"}));
  copy->add_option("--memory", options.memory, "only this kind of host memory")
      ->check(CLI::IsMember({"pinned", "pageable"}));
  app.require_subcommand(1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return run(options, gemm->parsed());
}
