#include "baseline.hpp"

#include <cblas.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::vector<std::string> command(const Options& o, const std::string& unit, const std::string& json) {
  std::vector<std::string> words{"gemm",
                                 "-m",
                                 std::to_string(o.m),
                                 "-n",
                                 std::to_string(o.n),
                                 "-k",
                                 std::to_string(o.k),
                                 "--transa",
                                 std::string(1, o.transa),
                                 "--transb",
                                 std::string(1, o.transb),
                                 "--alpha",
                                 number(o.alpha),
                                 "--beta",
                                 number(o.beta),
                                 "--type",
                                 poas::to_string(o.type),
                                 "--repetitions",
                                 std::to_string(o.repetitions),
                                 "--warmup",
                                 std::to_string(o.warmup),
                                 "--seed",
                                 std::to_string(o.seed),
                                 o.memory == Memory::pinned ? "--pinned" : "--pageable",
                                 "--units",
                                 unit,
                                 "--json",
                                 json};
  if (o.precision) words.insert(words.end(), {"--precision", poas::to_string(*o.precision)});
  return words;
}

// Exit status of this program with other words; its output is dropped, errors are shown.
int run_self(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child;
  int status = -1;
  const int error = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::optional<poas::Seconds> unit_alone(const Options& options, const std::string& unit) {
  const auto file = std::filesystem::temp_directory_path() / ("gemm-" + std::to_string(getpid()) + ".json");
  const int code = run_self(command(options, unit, file));
  std::optional<poas::Seconds> seconds;
  if (code == 0) {
    std::ifstream stream(file);
    const auto json = nlohmann::json::parse(stream, nullptr, false);
    if (json.is_object()) seconds = json["seconds"]["median"].get<double>();
  }
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  if (!seconds)
    std::fprintf(stderr, "gemm: no time for %s alone: its run ended with code %d: try --units %s\n",
                 unit.c_str(), code, unit.c_str());
  return seconds;
}

std::optional<poas::Seconds> plain_blas(const Options& o) {
  if (o.type != poas::Type::fp32 && o.type != poas::Type::fp64) return std::nullopt;
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) openblas_set_num_threads(CPU_COUNT(&cores));
  Matrix a(o.type, o.transa == 'N' ? o.m : o.k, o.transa == 'N' ? o.k : o.m, Memory::pageable, o.seed);
  Matrix b(o.type, o.transb == 'N' ? o.k : o.n, o.transb == 'N' ? o.n : o.k, Memory::pageable, o.seed + 1);
  Matrix c(o.type, o.m, o.n, Memory::pageable, o.seed + 2);
  a.fill(), b.fill(), c.fill();
  const auto ta = o.transa == 'N' ? CblasNoTrans : CblasTrans,
             tb = o.transb == 'N' ? CblasNoTrans : CblasTrans;
  const auto m = static_cast<int>(o.m), n = static_cast<int>(o.n), k = static_cast<int>(o.k);
  const auto lda = static_cast<int>(a.rows()), ldb = static_cast<int>(b.rows());
  std::vector<double> seconds;
  for (unsigned i = 0; i < o.warmup + o.repetitions; i++) {
    const auto begin = std::chrono::steady_clock::now();
    if (o.type == poas::Type::fp32)
      cblas_sgemm(CblasColMajor, ta, tb, m, n, k, static_cast<float>(o.alpha), static_cast<float*>(a.data()),
                  lda, static_cast<float*>(b.data()), ldb, static_cast<float>(o.beta),
                  static_cast<float*>(c.data()), m);
    else
      cblas_dgemm(CblasColMajor, ta, tb, m, n, k, o.alpha, static_cast<double*>(a.data()), lda,
                  static_cast<double*>(b.data()), ldb, o.beta, static_cast<double*>(c.data()), m);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    if (i >= o.warmup) seconds.push_back(time.count());
  }
  return median(seconds);
}
