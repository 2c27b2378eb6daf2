// CPU cores only: one GEMM under poas against cblas_sgemm with as many threads, in turn in one process.
#include <cblas.h>

#include <CLI/CLI.hpp>
#include <cmath>

#include "bench.hpp"
#include "poas/gemm.h"
#include "poas/runtime.hpp"

namespace {

struct Options {
  int n = 4096, workers = 2, repetitions = 7;
  double least = 0.90, budget = 5;
  bool assertion = false;
  std::string json;
};

class Product {
 public:
  explicit Product(const Options& options)
      : n_(options.n),
        a_(bench::random_matrix(elements(), 1)),
        b_(bench::random_matrix(elements(), 2)),
        by_poas_(elements()),
        by_blas_(elements()) {}

  // Seconds for one product through the runtime, from host memory to host memory.
  double poas() {
    starpu_data_handle_t a, b, c;
    add(&a, a_);
    add(&b, b_);
    add(&c, by_poas_);
    const double begin = bench::now();
    const int error = poas_gemm('N', 'N', 1, a, b, 0, c, POAS_FP32, POAS_CLASS_DEFAULT);
    starpu_task_wait_for_all();
    starpu_data_acquire(c, STARPU_R);
    const double seconds = bench::now() - begin;
    starpu_data_release(c);
    for (auto handle : {a, b, c}) starpu_data_unregister(handle);
    if (error != 0) throw std::runtime_error(std::string("the product was refused: ") + poas_last_error());
    return seconds;
  }

  double blas(int threads) {
    openblas_set_num_threads(threads);
    const double begin = bench::now();
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n_, n_, n_, 1, a_.data(), n_, b_.data(), n_, 0, by_blas_.data(),
                n_);
    return bench::now() - begin;
  }

  // Frobenius norm of the difference of both results over that of the result.
  double difference() const {
    double different = 0, all = 0;
    for (std::size_t i = 0; i < elements(); ++i) {
      different += std::pow(double{by_poas_[i]} - by_blas_[i], 2);
      all += std::pow(double{by_blas_[i]}, 2);
    }
    return std::sqrt(different / all);
  }

 private:
  std::size_t elements() const { return static_cast<std::size_t>(n_) * n_; }
  void add(starpu_data_handle_t* handle, std::vector<float>& values) const {
    starpu_matrix_data_register(handle, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(values.data()), n_, n_, n_,
                                sizeof(float));
  }
  int n_;
  std::vector<float> a_, b_, by_poas_, by_blas_;
};

bool report(const Options& options) {
  const bench::CpuRuntime runtime("poas", options.workers);
  poas::CalibrationOptions calibration;
  calibration.budget = options.budget;
  poas::use_models(poas::calibrate(poas_gemm_codelet(), calibration));
  Product product(options);
  std::vector<double> poas, blas, ratio;
  for (int i = -1; i < options.repetitions; ++i) {  // the first one warms up
    const double p = product.poas();
    starpu_pause();  // polling workers would take the cores from the BLAS threads
    const double b = product.blas(options.workers);
    starpu_resume();
    if (i < 0) continue;
    poas.push_back(p);
    blas.push_back(b);
    ratio.push_back(b / p);
  }
  const double flops = 2.0 * options.n * options.n * options.n, speed = bench::median(ratio);
  const double difference = product.difference(), tolerance = 4 * std::sqrt(options.n) * std::ldexp(1.0, -24);
  const bool right = difference <= tolerance, fast = speed >= options.least;
  std::printf("GEMM %d x %d x %d in fp32, %d CPU cores, medians of %d in turn\n", options.n, options.n, options.n,
              options.workers, options.repetitions);
  std::printf("%-22s %12s %10s\n", "", "seconds", "Gflop/s");
  std::printf("%-22s %12.4f %10.1f\n", "poas", bench::median(poas), flops / bench::median(poas) * 1e-9);
  std::printf("%-22s %12.4f %10.1f\n", "cblas_sgemm", bench::median(blas), flops / bench::median(blas) * 1e-9);
  std::printf("speed of poas over cblas_sgemm: %.3f; difference of the results %.2g (allowed %.2g): %s\n", speed, difference,
              tolerance, right ? "right" : "WRONG");
  bench::write(options.json, {{"ok", right && fast}, {"machine", bench::machine()}, {"n", options.n},
                              {"workers", options.workers}, {"poas_seconds", poas}, {"blas_seconds", blas},
                              {"speed_ratio", speed}, {"relative_difference", difference}});
  if (!fast) std::printf("below %.2f of plain BLAS\n", options.least);
  return right && (fast || !options.assertion);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("One GEMM on CPU cores under poas against cblas_sgemm with as many threads.");
  app.add_option("--size", options.n, "edge of the matrices")->transform(CLI::AsSizeValue(false))->check(CLI::Range(16, 32768));
  app.add_option("--workers", options.workers, "CPU workers, and threads of cblas_sgemm")->check(CLI::Range(1, 1024));
  app.add_option("--repetitions", options.repetitions, "timed runs of both")->check(CLI::Range(1, 1000));
  app.add_option("--budget", options.budget, "seconds for the calibration before");
  app.add_option("--least", options.least, "speed over cblas_sgemm that --assert asks for");
  app.add_flag("--assert", options.assertion, "fail if poas is slower");
  app.add_option("--json", options.json, "write everything to this file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    return report(options) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cpu_gemm: %s\n", error.what());
    return 1;
  }
}
