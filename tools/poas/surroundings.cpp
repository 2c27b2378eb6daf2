// Checks of what surrounds poas: StarPU's measurements, the system's limits, BLAS, the environment.
#include <dlfcn.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "checks.hpp"
#include "poas/poas.h"
#include "text.hpp"

namespace poas::tool {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// StarPU tells the name of its file only by printing it: "bandwidth: <NAME>".
std::string bandwidth_file() {
  char* text = nullptr;
  std::size_t size = 0;
  FILE* stream = ::open_memstream(&text, &size);
  if (!stream) return "";
  starpu_bus_print_filenames(stream);
  std::fclose(stream);
  const std::string all(text, size);
  std::free(text);
  const std::size_t begin = all.find('<'), end = all.find('>');
  return begin < end && end != std::string::npos ? all.substr(begin + 1, end - begin - 1) : "";
}

void check_bus(Findings& findings) {
  const std::string file = bandwidth_file();
  std::error_code error;
  if (std::filesystem::exists(file, error))
    findings.push_back({Health::ok, "bus calibration", file, ""});
  else
    findings.push_back({Health::warn, "bus calibration", "StarPU has not measured the links of this node",
                        "run starpu_calibrate_bus"});
}

void check_pinning(Findings& findings) {
  constexpr rlim_t little = rlim_t{1} << 30;
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  const bool unlimited = limit.rlim_cur == RLIM_INFINITY;
  const std::string found = unlimited ? "unlimited" : with_unit(static_cast<double>(limit.rlim_cur), "B");
  if (unlimited || limit.rlim_cur >= little)
    findings.push_back({Health::ok, "pinned memory", found, ""});
  else
    findings.push_back(
        {Health::warn, "pinned memory", found,
         "raise `ulimit -l`: copies to devices from memory that is not pinned are several times slower"});
}

void check_blas_threads(Findings& findings) {
  const std::string threads = environment("OPENBLAS_NUM_THREADS");
  if (threads == "1")
    findings.push_back({Health::ok, "OPENBLAS_NUM_THREADS", "1", ""});
  else
    findings.push_back({Health::warn, "OPENBLAS_NUM_THREADS", threads.empty() ? "not set" : threads,
                        "set it to 1 (`poas run` does): one block per core is enough"});
}

bool cpu_has(const std::string& flag) {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("flags", 0) == 0) return (line + " ").find(" " + flag + " ") != std::string::npos;
  return false;
}

// An OpenBLAS older than the processor falls back to kernels without AVX2: several times slower.
void check_blas_kernels(Findings& findings) {
  using CoreName = char* (*)();
  const auto core_name = reinterpret_cast<CoreName>(::dlsym(RTLD_DEFAULT, "openblas_get_corename"));
  if (!core_name) return;
  constexpr std::array old{"Prescott", "Core2", "Penryn",  "Dunnington",
                           "Nehalem",  "Atom",  "Generic", "Unknown"};
  const std::string name = core_name();
  if (!cpu_has("avx2") || std::find(old.begin(), old.end(), name) == old.end()) {
    findings.push_back({Health::ok, "OpenBLAS kernels", name, ""});
    return;
  }
  const std::string better = cpu_has("avx512dq") ? "SKYLAKEX" : "HASWELL";
  findings.push_back(
      {Health::warn, "OpenBLAS kernels", name + " on a processor that can do more",
       "set OPENBLAS_CORETYPE=" + better + ", or install an OpenBLAS that knows this processor"});
}

void check_variables(Findings& findings) {
  const std::string limit = environment("STARPU_LIMIT_MAX_SUBMITTED_TASKS");
  if (!limit.empty())
    findings.push_back({Health::warn, "STARPU_LIMIT_MAX_SUBMITTED_TASKS", "is " + limit,
                        "unset it: StarPU would wait inside a submission, so tasks are not split"});
}

void check_maps(Findings& findings) {
  constexpr long usual = 65530;
  long count = 0;
  if (!(std::ifstream("/proc/sys/vm/max_map_count") >> count)) return;
  if (count >= usual)
    findings.push_back({Health::ok, "vm.max_map_count", std::to_string(count), ""});
  else
    findings.push_back({Health::warn, "vm.max_map_count", std::to_string(count),
                        "raise it: sysctl vm.max_map_count=" + std::to_string(usual)});
}

}  // namespace

void check_surroundings(Findings& findings) {
  check_bus(findings);
  check_pinning(findings);
  check_blas_threads(findings);
  check_blas_kernels(findings);
  check_variables(findings);
  check_maps(findings);
}

}  // namespace poas::tool
