// Checks of poas itself: library, policy, models.
#include "checks.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "node.hpp"
#include "poas/error.hpp"
#include "poas/poas.h"

namespace poas::tool {
namespace {

namespace fs = std::filesystem;

void check_version(Findings& findings) {
  int major = 0, minor = 0, release = 0;
  starpu_get_version(&major, &minor, &release);
  const std::string version = std::to_string(major) + "." + std::to_string(minor) + "." +
                              std::to_string(release) + ", for real hardware";
  if (major == STARPU_MAJOR_VERSION && minor == STARPU_MINOR_VERSION)
    findings.push_back({Health::ok, "StarPU", version, ""});
  else
    findings.push_back({Health::fail, "StarPU", version,
                        "poas was built for " + std::to_string(STARPU_MAJOR_VERSION) + "." +
                            std::to_string(STARPU_MINOR_VERSION) + ": build it against this StarPU"});
}

// Another copy has its own registry of codelets, so nothing would be split.
void check_one_copy(Findings& findings) {
  const char* given = std::getenv("STARPU_SCHED_LIB");
  if (!given || !*given) return;
  std::error_code error;
  const fs::path theirs = fs::canonical(given, error);
  if (error)
    findings.push_back({Health::fail, "STARPU_SCHED_LIB", std::string(given) + ": " + error.message(),
                        "set it to " + library().string() + " or use `poas run`"});
  else if (theirs != library())
    findings.push_back({Health::fail, "STARPU_SCHED_LIB",
                        theirs.string() + " is another copy than " + library().string(),
                        "let it name the copy that the application links: with two nothing is split"});
}

void count_workers(Findings& findings) {
  const unsigned cpu = starpu_cpu_worker_get_count(), cuda = starpu_cuda_worker_get_count(),
                 opencl = starpu_opencl_worker_get_count();
  const std::string found = std::to_string(cpu) + " CPU, " + std::to_string(cuda) + " CUDA, " +
                            std::to_string(opencl) + " OpenCL";
  if (cuda + opencl > 0)
    findings.push_back({Health::ok, "workers", found, ""});
  else
    findings.push_back(
        {Health::warn, "workers", found,
         "there is no device to share work with; if there should be one, look for STARPU_NCUDA, "
         "STARPU_NOPENCL and a StarPU built without CUDA"});
}

// The nearest directory above that exists must be writable.
bool can_write(fs::path directory) {
  std::error_code error;
  while (!directory.empty() && !fs::exists(directory, error) && directory.has_relative_path())
    directory = directory.parent_path();
  return fs::is_directory(directory, error) && ::access(directory.c_str(), W_OK | X_OK) == 0;
}

void check_model_file(Findings& findings, const fs::path& file) {
  try {
    const auto models = load_models(file);
    if (!models || models->times.empty())
      findings.push_back({Health::warn, "models", "none measured in " + file.string(),
                          "run `poas calibrate`: plans rest on guesses"});
    else
      findings.push_back(
          {Health::ok, "models",
           std::to_string(models->times.size()) + " of " + models->when + " in " + file.string(), ""});
  } catch (const Error& error) {
    findings.push_back(
        {Health::fail, "models", error.what(), "run `poas calibrate`, it replaces the file"});
  }
}

}  // namespace

void check_library(Findings& findings) {
  const std::string path = library().string();
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle || !::dlsym(handle, "starpu_get_sched_lib_policy"))
    findings.push_back(
        {Health::fail, "libpoas", path + " cannot be loaded: " + ::dlerror(), "install poas again"});
  else
    findings.push_back({Health::ok, "libpoas", std::string(poas_version()) + " in " + path, ""});
  check_version(findings);
  check_one_copy(findings);
}

void check_policy(Findings& findings) {
  if (const char* other = std::getenv("STARPU_SCHED"); other && *other && std::strcmp(other, "poas") != 0)
    findings.push_back({Health::warn, "STARPU_SCHED", std::string("is ") + other,
                        "applications use that policy; unset it, or start them by `poas run`"});
  ::setenv("STARPU_SCHED", "poas", 1);
  ::setenv("STARPU_SCHED_LIB", library().c_str(), 0);
  const int error = starpu_init(nullptr);
  if (error != 0) {
    findings.push_back({Health::fail, "policy",
                        std::string("StarPU does not start: ") + std::strerror(-error),
                        "look for STARPU_NCPU, STARPU_NCUDA and the like in the environment"});
    return;
  }
  if (poas_in_use())
    findings.push_back({Health::ok, "policy", "STARPU_SCHED=poas is in use", ""});
  else
    findings.push_back({Health::fail, "policy", "StarPU did not take poas, though asked by STARPU_SCHED",
                        "check that STARPU_SCHED_LIB names " + library().string()});
  count_workers(findings);
  starpu_shutdown();
}

void check_models(Findings& findings) {
  const fs::path directory = model_directory();
  if (directory.empty()) {
    findings.push_back({Health::warn, "model directory", "none can be named",
                        "set POAS_MODEL_DIR, XDG_DATA_HOME or HOME"});
    return;
  }
  if (can_write(directory))
    findings.push_back({Health::ok, "model directory", directory.string() + " can be written", ""});
  else
    findings.push_back({Health::fail, "model directory", directory.string() + " cannot be written",
                        "set POAS_MODEL_DIR to a directory that can"});
  check_model_file(findings, model_file_of_host());
}

}  // namespace poas::tool
