#include "settings.hpp"

#include <cstdlib>
#include <filesystem>

#include "node.hpp"
#include "poas/error.hpp"
#include "poas/plan.hpp"
#include "text.hpp"

namespace poas::tool {
namespace {

template <class Check>
void check(const char* option, const std::string& value, Check parse) {
  if (value.empty()) return;
  try {
    parse(value);
  } catch (const Error& error) {
    throw Error(Errc::invalid, std::string(option) + " " + value + ": " + error.what());
  }
}

void check(const Settings& settings) {
  check("--objective", settings.objective, objective_from_string);
  check("--precision", settings.precision, precision_from_string);
  check("--split", settings.split, split_mode_from_string);
  check("--units", settings.units, [](const std::string& list) {
    if (split_list(list).empty()) throw Error(Errc::invalid, "no unit is named; `poas machine` lists them");
  });
}

}  // namespace

void add_settings(CLI::App& app, Settings& settings) {
  app.add_option("--units", settings.units, "units that may be used, e.g. cpu,cuda0 (default: all)");
  app.add_option("--objective", settings.objective, "what to make small: time");
  app.add_option("--precision", settings.precision,
                 "least class for tasks that do not say: fp64, fp32, tf32, fp16, bf16");
  app.add_option("--split", settings.split, "auto, never or always");
  app.add_option("--explain", settings.explain, "plans on stderr: 0 none, 1 short, 2 all")
      ->check(CLI::Range(0, 2));
  app.add_option("--record", settings.record, "file for plans and timelines as JSON lines");
}

std::map<std::string, std::string> variables_of(const Settings& settings) {
  check(settings);
  std::map<std::string, std::string> variables{{"STARPU_SCHED", "poas"}, {"STARPU_SCHED_LIB", library()}};
  const auto set = [&](const char* name, const std::string& value) {
    if (!value.empty()) variables[name] = value;
  };
  set("POAS_UNITS", settings.units);
  set("POAS_OBJECTIVE", settings.objective);
  set("POAS_PRECISION", settings.precision);
  set("POAS_SPLIT", settings.split);
  if (!settings.record.empty()) set("POAS_RECORD", std::filesystem::absolute(settings.record));
  if (settings.explain >= 0) set("POAS_EXPLAIN", std::to_string(settings.explain));
  // One block per core: a BLAS that starts threads of its own would crowd them.
  if (!std::getenv("OPENBLAS_NUM_THREADS")) set("OPENBLAS_NUM_THREADS", "1");
  return variables;
}

}  // namespace poas::tool
