// `poas calibrate`: measures this node and stores the models.
#include <iostream>
#include <memory>

#include "command.hpp"
#include "models/training/train.hpp"
#include "node.hpp"
#include "poas/gemm.h"
#include "poas/runtime.hpp"
#include "report.hpp"
#include "text.hpp"

namespace poas::tool {
namespace {

struct Options {
  std::string budget = "30s", types = "fp32", json;
};

CalibrationOptions calibration_of(const Options& options) {
  CalibrationOptions result;
  result.budget = duration_from(options.budget);
  result.types.clear();
  for (const std::string& word : split_list(options.types)) result.types.push_back(type_from_string(word));
  if (result.types.empty())
    throw Error(Errc::invalid, "--types names no type; write for example fp32,fp64");
  result.fit = training::train;
  result.progress = [](double part, const std::string& what) {
    std::cerr << "calibrating " << percent(part) << ": " << what << "\n";
  };
  return result;
}

// Whether later runs will find the models.
bool stored(const Models& models) {
  const auto file = model_file_of_host();
  if (file.empty()) {
    std::cerr << "poas: the models are not stored: none of POAS_MODEL_DIR, XDG_DATA_HOME and HOME is set; "
                 "set one\n";
    return false;
  }
  try {
    store_models(models);
  } catch (const Error& error) {
    std::cerr << "poas: the models are not stored: " << error.what() << "\n";
    return false;
  }
  std::cerr << "stored in " << file.string() << "\n";
  return true;
}

int calibrate_node(const Options& options) {
  const CalibrationOptions calibration = calibration_of(options);
  const Session session;
  const Models models = calibrate(poas_gemm_codelet(), calibration);
  if (models.times.empty())
    throw Error(Errc::numerical, "no model was fitted: too few blocks ran in " + options.budget +
                                     "; give a longer --budget");
  const Machine machine = models.machine.value_or(Machine{});
  if (options.json != "-") std::cout << links_table(machine) << models_table(models) << power_table(machine, models);
  const bool kept = stored(models);
  if (!options.json.empty()) {
    Json json = report_json(machine, models);
    json["ok"] = kept;
    json["model_file"] = kept ? model_file_of_host().string() : "";
    write_file(options.json, json.dump(1));
  }
  return kept ? done : failed;
}

}  // namespace

void add_calibrate(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("calibrate", "measure this node and store the models");
  sub->add_option("--budget", options->budget, "time for all units together, e.g. 30s, 2min");
  sub->add_option("--types", options->types, "element types to measure, e.g. fp32,fp64");
  sub->add_option("--json", options->json, "write machine and models to this file, - for stdout");
  sub->footer("Let nothing else run meanwhile.  The models go to `poas doctor`'s model directory.");
  sub->callback([options, &action] { action = [options] { return calibrate_node(*options); }; });
}

}  // namespace poas::tool
