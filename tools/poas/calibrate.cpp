// `poas calibrate`: measures this node and stores the models.
#include <algorithm>
#include <iostream>
#include <memory>

#include "calibration.hpp"
#include "command.hpp"
#include "models/training/train.hpp"
#include "node.hpp"
#include "poas/gemm.h"
#include "progress.hpp"
#include "report.hpp"
#include "text.hpp"

namespace poas::tool {
namespace {

constexpr double much_spread = 0.2;  // of runs of the same block: the node was busy

struct Options {
  std::string budget = "30s", types = "fp32", json, report;
  std::uint64_t seed = 1;
  bool fresh = false;
};

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

CalibrationOptions calibration_of(const Options& options) {
  CalibrationOptions result;
  result.budget = duration_from(options.budget);
  result.seed = options.seed;
  result.types.clear();
  for (const std::string& word : split_list(options.types)) result.types.push_back(type_from_string(word));
  if (result.types.empty()) throw Error(Errc::invalid, "--types names no type; write for example fp32,fp64");
  if (!options.report.empty() && !ends_with(options.report, ".svg") && !ends_with(options.report, ".json"))
    throw Error(Errc::invalid, "--report " + options.report + " tells no format: let the name end in .svg or .json");
  result.fit = training::train;
  return result;
}

// What must be the same for a run to go on where another stopped.
Json purpose_of(const CalibrationOptions& calibration) {
  Json types = Json::array(), units = Json::array();
  for (const Type type : calibration.types) types.push_back(to_string(type));
  for (const Unit& unit : probe().units) units.push_back({unit.name, unit.workers});
  return {{"types", types}, {"budget", calibration.budget}, {"seed", calibration.seed}, {"units", units}};
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

// Models of the interrupted run that are still stored.
Calibrated taken_up(const Unfinished& unfinished, const Options& options, ProgressLine& progress) {
  std::string words;
  Calibrated before;
  if (!options.fresh) before = unfinished.take_up(words);
  const Models stored = current_models();
  std::erase_if(before,
                [&](const CalibratedModel& one) { return one.instead.empty() && !stored.times.count(one.key); });
  if (!words.empty()) progress.say(words);
  if (!before.empty())
    progress.say("going on with the calibration that was interrupted today: " + std::to_string(before.size()) +
                 (before.size() == 1 ? " model is" : " models are") + " not measured again (--fresh measures all)");
  return before;
}

// Each model is stored when it is fitted, so that an interruption loses only the one that is being measured.
Models measure(CalibrationOptions& calibration, const Options& options, Calibrated& found) {
  ProgressLine progress;
  const auto file = model_file_of_host();
  const Unfinished unfinished(file.empty() ? file : std::filesystem::path(file).replace_extension(".unfinished"),
                              purpose_of(calibration));
  found = taken_up(unfinished, options, progress);
  for (const CalibratedModel& one : found) calibration.done.push_back(one.key);
  calibration.progress = [&](const CalibrationProgress& now) { progress.show(now); };
  calibration.calibrated = [&](const CalibratedModel& one, const Models& models) {
    found.push_back(one);
    if (!one.instead.empty()) progress.say(one.instead);
    try {
      if (file.empty()) return;
      store_models(models);
      unfinished.keep(found);
    } catch (const Error&) {  // is told when all are to be stored
    }
  };
  const Models models = calibrate(poas_gemm_codelet(), calibration);
  unfinished.done();
  return models;
}

void warn_if_busy(const Calibrated& found) {
  double spread = 0;
  for (const CalibratedModel& one : found) spread = std::max(spread, one.spread);
  if (spread > much_spread)
    std::cerr << "poas: runs of the same block differ by " << percent(spread)
              << ": something else was running; calibrate again when nothing is\n";
}

Json report_of(const Calibrated& found) {
  Json json = Json::array();
  for (const CalibratedModel& one : found) json.push_back(json_of(one));
  return json;
}

int calibrate_node(const Options& options) {
  CalibrationOptions calibration = calibration_of(options);
  const Session session;
  Calibrated found;
  const Models models = measure(calibration, options, found);
  if (found.empty())
    throw Error(Errc::numerical,
                "no model was fitted: too few blocks ran in " + options.budget + "; give a longer --budget");
  const Machine machine = models.machine.value_or(Machine{});
  if (options.json != "-")
    std::cout << links_table(machine) << models_table(models) << power_table(machine, models) << "\n"
              << errors_table(found);
  warn_if_busy(found);
  const bool kept = stored(models);
  if (!options.json.empty()) {
    Json json = report_json(machine, models);
    json["ok"] = kept;
    json["model_file"] = kept ? model_file_of_host().string() : "";
    write_file(options.json, json.dump(1));
  }
  if (!options.report.empty())
    write_file(options.report, ends_with(options.report, ".svg") ? error_plot(found) : report_of(found).dump(1));
  return kept ? done : failed;
}

}  // namespace

void add_calibrate(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("calibrate", "measure this node and store the models");
  sub->add_option("--budget", options->budget,
                  "time for all units together, e.g. 30s, 2min: more of it measures more blocks");
  sub->add_option("--types", options->types, "element types to measure, e.g. fp32,fp64");
  sub->add_option("--seed", options->seed, "of the shapes that are measured");
  sub->add_flag("--fresh", options->fresh, "measure all anew instead of going on where today's run was interrupted");
  sub->add_option("--report", options->report,
                  "write predicted and measured times of all blocks to FILE.svg or FILE.json");
  sub->add_option("--json", options->json, "write machine and models to this file, - for stdout");
  sub->footer(
      "Let nothing else run meanwhile.  The models go to `poas doctor`'s model directory, each as soon as it is "
      "fitted:\n"
      "a run that was interrupted is taken up by the next one of that day with the same types and seed and no larger\n"
      "budget; a run that ended is not.  A fifth of the blocks takes no part in the fit and tells its error.");
  sub->callback([options, &action] { action = [options] { return calibrate_node(*options); }; });
}

}  // namespace poas::tool
