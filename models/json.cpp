// Models as versioned JSON text.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "poas/error.hpp"
#include "poas/models.hpp"

namespace poas {
namespace {

using Json = nlohmann::json;

constexpr int format_version = 1;
constexpr int features_version = 1;  // of features_of()

[[noreturn]] void refuse(Errc code, const std::string& why) {
  throw Error(code, "cannot use the stored models: " + why + "; run `poas calibrate` to measure them anew");
}

double number(const Json& from, const char* name) {
  const Json& value = from.at(name);
  if (!value.is_number()) refuse(Errc::parse, std::string("field '") + name + "' is not a number");
  const double result = value.get<double>();
  if (!std::isfinite(result) || result < 0)
    refuse(Errc::invalid, std::string("field '") + name + "' is negative or not finite");
  return result;
}

std::uint64_t whole(const Json& value, const char* name, std::uint64_t most) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most)
    refuse(Errc::invalid,
           std::string("field '") + name + "' is not a whole number from 0 to " + std::to_string(most));
  return value.get<std::uint64_t>();
}

unsigned count(const Json& from, const char* name) {
  return static_cast<unsigned>(whole(from.at(name), name, std::numeric_limits<unsigned>::max()));
}

Extents tile_from(const Json& from) {
  const Json& array = from.at("tile");
  if (!array.is_array() || array.size() > max_dims)
    refuse(Errc::invalid, "field 'tile' is not a list of up to 8 sides");
  Extents tile = TimeModel{}.tile;
  for (std::size_t d = 0; d < array.size(); ++d) {
    tile[d] = whole(array[d], "tile", 1u << 30);
    if (tile[d] == 0) refuse(Errc::invalid, "field 'tile' holds a side of 0");
  }
  return tile;
}

std::shared_ptr<const Forest> forest_from(const Json& from) {
  if (from.at("features") != features_version)
    refuse(Errc::version, "its trees need features of version " + from.at("features").dump() +
                              ", this program has version " + std::to_string(features_version));
  return std::make_shared<Forest>(from.at("trees").get<std::vector<std::string>>(), count(from, "parallel"));
}

Json json_of(const Forest& forest) {
  return {{"features", features_version}, {"parallel", forest.parallel()}, {"trees", forest.trees()}};
}

TimeModel model_from(const Json& from) {
  TimeModel model;
  model.fixed = number(from, "fixed");
  model.seconds_per_flop = number(from, "seconds_per_flop");
  model.seconds_per_byte = number(from, "seconds_per_byte");
  model.tile = tile_from(from);
  model.parallel = count(from, "parallel");
  if (model.parallel == 0) refuse(Errc::invalid, "field 'parallel' is 0");
  model.relative_error = number(from, "relative_error");
  model.samples = count(from, "samples");
  if (from.contains("forest")) model.forest = forest_from(from.at("forest"));
  return model;
}

ModelKey key_from(const Json& from) {
  return {from.at("unit").get<std::string>(), from.at("operation").get<std::string>(),
          from.at("implementation").get<std::string>(),
          type_from_string(from.at("type").get<std::string>())};
}

std::string words(const ModelKey& key) {
  return key.unit + ", " + key.operation + ", " + key.implementation + ", " + to_string(key.type);
}

Learned learned_from(const Json& from) {
  Learned learned{model_from(from.at("model")), number(from, "factor"), count(from, "tasks"),
                  from.at("when").get<std::string>()};
  if (learned.factor == 0) refuse(Errc::invalid, "field 'factor' is 0");
  return learned;
}

void check(const ModelKey& key, const TimeModel& model) {
  for (const double value :
       {model.fixed, model.seconds_per_flop, model.seconds_per_byte, model.relative_error})
    if (!std::isfinite(value) || value < 0)
      throw Error(Errc::invalid, "cannot store the model of " + words(key) +
                                     ": a coefficient is negative or not finite; fit it again");
}

Json json_of(const ModelKey& key) {
  return {{"unit", key.unit},
          {"operation", key.operation},
          {"implementation", key.implementation},
          {"type", to_string(key.type)}};
}

Json json_of(const TimeModel& model) {
  Json json{{"fixed", model.fixed},
            {"seconds_per_flop", model.seconds_per_flop},
            {"seconds_per_byte", model.seconds_per_byte},
            {"tile", model.tile},
            {"parallel", model.parallel},
            {"relative_error", model.relative_error},
            {"samples", model.samples}};
  if (model.forest) json["forest"] = json_of(*model.forest);
  return json;
}

// Only what was measured is stored.
Power power_from(const Json& from) { return {number(from, "watts"), number(from, "relative_error"), true}; }

Json json_of(const ModelKey& key, const Power& power) {
  for (const double value : {power.watts, power.relative_error})
    if (!std::isfinite(value) || value < 0)
      throw Error(Errc::invalid, "cannot store the power of " + words(key) +
                                     ": it is negative or not finite; measure it again");
  return {{"unit", key.unit},
          {"operation", key.operation},
          {"implementation", key.implementation},
          {"type", to_string(key.type)},
          {"watts", power.watts},
          {"relative_error", power.relative_error}};
}

void read_powers(const Json& list, Models& models) {
  if (!list.is_array()) refuse(Errc::parse, "field 'powers' is not a list");
  for (const Json& one : list) {
    const ModelKey key = key_from(one);
    if (!models.powers.emplace(key, power_from(one)).second) refuse(Errc::invalid, "two powers of " + words(key));
  }
}

Json json_of(const ModelKey& key, const TimeModel& model) {
  check(key, model);
  Json json = json_of(key);
  json.update(json_of(model));
  return json;
}

Json json_of(const ModelKey& key, const Learned& learned) {
  check(key, learned.model);
  if (!std::isfinite(learned.factor) || learned.factor <= 0)
    throw Error(Errc::invalid, "cannot store what was learned of " + words(key) + ": the factor is not finite and positive");
  Json json = json_of(key);
  json.update({{"factor", learned.factor}, {"tasks", learned.tasks}, {"when", learned.when}, {"model", json_of(learned.model)}});
  return json;
}

Models read(const Json& root) {
  if (!root.is_object()) refuse(Errc::parse, "the text is not a JSON object");
  if (root.at("version") != format_version)
    refuse(Errc::version, "their format is version " + root.at("version").dump() +
                              ", this program reads version " + std::to_string(format_version));
  Models models;
  models.when = root.at("when").get<std::string>();
  models.version = count(root, "changes");
  if (!root.at("machine").is_null()) models.machine = machine_from_json(root.at("machine").dump());
  models.host = root.value("host", models.machine ? models.machine->name : "");
  if (!root.at("models").is_array()) refuse(Errc::parse, "field 'models' is not a list");
  for (const Json& one : root.at("models")) {
    const ModelKey key = key_from(one);
    if (!models.times.emplace(key, model_from(one)).second)
      refuse(Errc::invalid, "two models of " + words(key));
  }
  if (root.contains("powers")) read_powers(root.at("powers"), models);
  for (const Json& one : root.value("learned", Json::array()))
    if (!models.learned.emplace(key_from(one), learned_from(one)).second)
      refuse(Errc::invalid, "two factors of " + words(key_from(one)));
  return models;
}

}  // namespace

std::string to_json(const Models& models) {
  Json root{{"version", format_version}, {"host", models.host}, {"when", models.when}, {"changes", models.version}};
  root["machine"] = models.machine ? Json::parse(to_json(*models.machine)) : Json();
  root["models"] = Json::array();
  for (const auto& [key, model] : models.times) root["models"].push_back(json_of(key, model));
  root["powers"] = Json::array();
  for (const auto& [key, power] : models.powers) root["powers"].push_back(json_of(key, power));
  root["learned"] = Json::array();
  for (const auto& [key, learned] : models.learned) root["learned"].push_back(json_of(key, learned));
  try {
    return root.dump(1) + "\n";
  } catch (const Json::exception& error) {
    throw Error(Errc::invalid,
                std::string("cannot write the models as JSON: ") + error.what() + "; use names in UTF-8");
  }
}

Models models_from_json(std::string_view text) {
  try {
    return read(Json::parse(text));
  } catch (const Json::exception& error) {
    refuse(Errc::parse, error.what());
  }
}

}  // namespace poas
