// What the timing programs share: a clock, medians, StarPU under a chosen policy, the report.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>
#include <starpu.h>

#include "poas/poas.h"

namespace bench {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

inline std::vector<float> random_matrix(std::size_t elements, std::uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> result(elements);
  for (float& x : result) x = uniform(generator);
  return result;
}

// A running StarPU with CPU workers only; policy "poas" is this library's own.
class CpuRuntime {
 public:
  CpuRuntime(const std::string& policy, int workers) {
    starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = workers;
    conf.ncuda = 0;
    conf.nopencl = 0;
    if (policy == "poas")
      poas_conf_init(&conf);
    else
      conf.sched_policy_name = policy.c_str();
    if (starpu_init(&conf) != 0)
      throw std::runtime_error("StarPU does not start with " + std::to_string(workers) +
                               " CPU workers: the machine or STARPU_NCPU allows fewer: use --workers");
  }
  CpuRuntime(const CpuRuntime&) = delete;
  CpuRuntime& operator=(const CpuRuntime&) = delete;
  ~CpuRuntime() { starpu_shutdown(); }
};

inline std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

inline nlohmann::json machine() {
  int version[3] = {};
  starpu_get_version(&version[0], &version[1], &version[2]);
  char starpu[48];
  std::snprintf(starpu, sizeof starpu, "%d.%d.%d", version[0], version[1], version[2]);
  return {{"processor", processor()},
          {"cores", std::thread::hardware_concurrency()},
          {"starpu", starpu},
          {"poas", poas_version()}};
}

// Writes the report, if a file is named.
inline void write(const std::string& file, const nlohmann::json& report) {
  if (file.empty()) return;
  std::ofstream stream(file);
  stream << report.dump(2) << "\n";
  if (!stream.flush()) throw std::runtime_error(file + " cannot be written: name another file with --json");
}

}  // namespace bench
