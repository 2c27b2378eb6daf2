// What a small task costs: many GEMMs of 64 x 64 x 64 under poas, under dmda and as plain BLAS calls,
// independent of each other and as the graph of a tiled product.
#include <cblas.h>

#include <CLI/CLI.hpp>
#include <cmath>

#include "bench.hpp"
#include "poas/gemm.h"

namespace {

constexpr int tile = 64;
constexpr std::size_t elements = tile * tile;

struct Options {
  int calls = 1000, rounds = 7, workers = 2;
  double most = 10;
  bool assertion = false;
  std::string json;
};

struct Cost {
  double submit, total;  // microseconds for each call
};

// Tiles in one array, with a handle for each.
class Tiles {
 public:
  Tiles(int count, std::uint32_t seed) : values_(bench::random_matrix(elements * count, seed)), handles_(count) {
    for (std::size_t i = 0; i < handles_.size(); ++i)
      starpu_matrix_data_register(&handles_[i], STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(values_.data() + i * elements),
                                  tile, tile, tile, sizeof(float));
  }
  Tiles(const Tiles&) = delete;
  ~Tiles() {
    for (auto handle : handles_) starpu_data_unregister(handle);
  }
  starpu_data_handle_t operator[](int i) const { return handles_[i]; }

 private:
  std::vector<float> values_;
  std::vector<starpu_data_handle_t> handles_;
};

void insert(starpu_data_handle_t a, starpu_data_handle_t b, starpu_data_handle_t c) {
  static const poas_gemm_args args = {POAS_GEMM_VERSION, POAS_FP32, 'N', 'N', 1, 1, POAS_CLASS_DEFAULT};
  if (starpu_task_insert(poas_gemm_codelet(), STARPU_R, a, STARPU_R, b, STARPU_RW, c, STARPU_CL_ARGS_NFREE, &args,
                         sizeof args, 0) != 0)
    throw std::runtime_error(std::string("a task was refused: ") + poas_last_error());
}

// Every call on a C of its own, or as the graph of a tiled product: C_ij += A_il B_lj, chains over l.
Cost run(const std::string& policy, bool graph, const Options& options) {
  const bench::CpuRuntime runtime(policy, options.workers);
  const int edge = static_cast<int>(std::ceil(std::cbrt(options.calls)));
  const Tiles a(edge * edge, 1), b(edge * edge, 2), c(graph ? edge * edge : options.calls, 3);
  insert(a[0], b[0], c[0]);
  starpu_task_wait_for_all();
  const double begin = bench::now();
  for (int call = 0; call < options.calls; ++call) {
    const int ij = call % (edge * edge), i = ij / edge, j = ij % edge, l = call / (edge * edge);
    insert(a[i * edge + l], b[l * edge + j], c[graph ? ij : call]);
  }
  const double submitted = bench::now();
  starpu_task_wait_for_all();
  return {(submitted - begin) / options.calls * 1e6, (bench::now() - begin) / options.calls * 1e6};
}

double plain_blas(int calls) {
  const auto a = bench::random_matrix(elements, 1), b = bench::random_matrix(elements, 2);
  auto c = bench::random_matrix(elements, 3);
  openblas_set_num_threads(1);
  const double begin = bench::now();
  for (int call = 0; call < calls; ++call)
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, tile, tile, tile, 1, a.data(), tile, b.data(), tile, 1,
                c.data(), tile);
  return (bench::now() - begin) / calls * 1e6;
}

struct Comparison {
  std::vector<double> poas, dmda, difference, poas_submit, dmda_submit;
};

// Both policies in turn, so that a drift of the machine meets both.
Comparison compare(bool graph, const Options& options) {
  Comparison result;
  for (int round = 0; round < options.rounds; ++round) {
    const Cost dmda = run("dmda", graph, options), poas = run("poas", graph, options);
    result.poas.push_back(poas.total);
    result.dmda.push_back(dmda.total);
    result.difference.push_back(poas.total - dmda.total);
    result.poas_submit.push_back(poas.submit);
    result.dmda_submit.push_back(dmda.submit);
  }
  return result;
}

bool report(const Options& options) {
  const double blas = plain_blas(options.calls);
  std::printf("%d GEMMs of 64 x 64 x 64 in fp32, %d CPU workers, medians of %d rounds, us for each call\n", options.calls,
              options.workers, options.rounds);
  std::printf("%-12s %10s %10s %12s %14s %14s\n", "tasks", "poas", "dmda", "poas - dmda", "poas, submit", "dmda, submit");
  bool good = true;
  nlohmann::json out = {{"machine", bench::machine()}, {"calls", options.calls}, {"workers", options.workers},
                        {"plain_blas_us", blas}};
  for (const bool graph : {false, true}) {
    const char* name = graph ? "graph" : "independent";
    const Comparison c = compare(graph, options);
    const double difference = bench::median(c.difference);
    std::printf("%-12s %10.2f %10.2f %12.2f %14.2f %14.2f\n", name, bench::median(c.poas), bench::median(c.dmda), difference,
                bench::median(c.poas_submit), bench::median(c.dmda_submit));
    out[name] = {{"poas_us", c.poas}, {"dmda_us", c.dmda}, {"difference_us", difference},
                 {"poas_submit_us", c.poas_submit}, {"dmda_submit_us", c.dmda_submit}};
    good = good && difference < options.most;
  }
  std::printf("plain cblas_sgemm on one core: %.2f us\n", blas);
  out["ok"] = good;
  bench::write(options.json, out);
  if (!good) std::printf("poas costs %.3g us or more than dmda for each call\n", options.most);
  return good || !options.assertion;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Cost of a small task under poas, beside dmda and plain BLAS.");
  app.add_option("--calls", options.calls, "tasks in a round")->check(CLI::Range(1, 1000000));
  app.add_option("--rounds", options.rounds, "rounds, both policies in each")->check(CLI::Range(1, 1000));
  app.add_option("--workers", options.workers, "CPU workers")->check(CLI::Range(1, 1024));
  app.add_option("--most", options.most, "allowed cost over dmda in us");
  app.add_flag("--assert", options.assertion, "fail if poas costs more");
  app.add_option("--json", options.json, "write everything to this file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    return report(options) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "task_cost: %s\n", error.what());
    return 1;
  }
}
