#include "calibration.hpp"

#include <cstdlib>
#include <ctime>

#include "text.hpp"

namespace poas::tool {
namespace {

namespace fs = std::filesystem;

std::string today() {
  const std::time_t seconds = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::localtime(&seconds));
  return text;
}

Json json_of(const Errors& errors) {
  return {{"mean", errors.mean}, {"of_95_in_100", errors.of_95_in_100}, {"worst", errors.worst}, {"rmse", errors.rmse}};
}

CalibratedModel calibrated_from(const Json& json) {
  CalibratedModel one;
  one.key = {json.at("unit"), json.at("operation"), json.at("implementation"),
             type_from_string(json.at("type").get<std::string>())};
  one.slowest = json.at("slowest");
  one.spread = json.at("spread");
  one.instead = json.at("instead");
  const Json& errors = json.at("errors");
  one.errors = {errors.at("mean"), errors.at("of_95_in_100"), errors.at("worst"), errors.at("rmse")};
  for (const Json& block : json.at("blocks")) {
    one.samples.push_back(
        {block.at("extents").get<Extents>(), block.at("work"), block.at("bytes"), block.at("seconds")});
    one.predicted.push_back(block.at("predicted"));
    one.held_out.push_back(block.at("held_out"));
  }
  return one;
}

}  // namespace

std::string errors_table(const Calibrated& models) {
  std::vector<std::vector<std::string>> rows{{"unit", "implementation", "type", "blocks", "held out", "mean error",
                                              "95 of 100 within", "worst", "slowest worker", "runs differ by"}};
  for (const CalibratedModel& one : models)
    rows.push_back({one.key.unit, one.key.implementation, to_string(one.key.type), std::to_string(one.samples.size()),
                    std::to_string(std::count(one.held_out.begin(), one.held_out.end(), true)),
                    percent(one.errors.mean), percent(one.errors.of_95_in_100), percent(one.errors.worst),
                    percent(one.slowest), percent(one.spread)});
  return table(rows) +
         "Errors are those of blocks that took no part in the fit; the slowest worker's time is in the model, not in "
         "them.\n";
}

Json json_of(const CalibratedModel& one) {
  Json json{{"unit", one.key.unit},
            {"operation", one.key.operation},
            {"implementation", one.key.implementation},
            {"type", to_string(one.key.type)},
            {"slowest", one.slowest},
            {"spread", one.spread},
            {"instead", one.instead},
            {"errors", json_of(one.errors)},
            {"blocks", Json::array()}};
  for (std::size_t i = 0; i < one.samples.size(); ++i)
    json["blocks"].push_back({{"extents", one.samples[i].extents},
                              {"work", one.samples[i].work},
                              {"bytes", one.samples[i].bytes},
                              {"seconds", one.samples[i].seconds},
                              {"predicted", one.predicted[i]},
                              {"held_out", bool(one.held_out[i])}});
  return json;
}

Unfinished::Unfinished(fs::path file, Json what) : file_(std::move(file)), what_(std::move(what)) {
  what_["when"] = today();
}

Calibrated Unfinished::take_up(std::string& words) const {
  std::error_code error;
  if (file_.empty() || !fs::exists(file_, error)) return {};
  Calibrated models;
  try {
    const Json json = Json::parse(read_file(file_));
    Json theirs = json.at("what");
    if (theirs.at("budget") >= what_.at("budget")) theirs["budget"] = what_.at("budget");
    if (theirs != what_) {
      words =
          "an interrupted calibration is not taken up: it was of another day or seed, other types or units, or had a "
          "smaller budget";
      return {};
    }
    for (const Json& one : json.at("models")) models.push_back(calibrated_from(one));
  } catch (const std::exception& cause) {
    words = "an interrupted calibration is not taken up: '" + file_.string() + "' cannot be read: " + cause.what();
    return {};
  }
  return models;
}

void Unfinished::keep(const Calibrated& models) const {
  Json json{{"what", what_}, {"models", Json::array()}};
  for (const CalibratedModel& one : models) json["models"].push_back(json_of(one));
  const fs::path draft = file_.string() + ".new";  // so that whoever is killed leaves the old one or the new one
  write_file(draft, json.dump());
  std::error_code error;
  fs::rename(draft, file_, error);
  if (error) throw Error(Errc::io, "cannot write '" + file_.string() + "': " + error.message() + "; check its rights");
}

void Unfinished::done() const {
  std::error_code error;
  fs::remove(file_, error);
}

}  // namespace poas::tool
