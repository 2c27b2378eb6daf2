#include "report.hpp"

#include <algorithm>
#include <cstdio>

#include "poas/learn.hpp"
#include "text.hpp"

namespace poas::tool {
namespace {

std::string tile_words(const TimeModel& model) {
  std::string words;
  for (const std::uint64_t side : model.tile)
    if (side > 1) words += (words.empty() ? "" : "x") + std::to_string(side);
  if (words.empty()) return "-";
  return model.parallel > 1 ? words + " by " + std::to_string(model.parallel) : words;
}

// Rate for large blocks: nothing counts but the work.
std::string rate(double seconds_per_one, const std::string& unit) {
  return seconds_per_one > 0 ? with_unit(1 / seconds_per_one, unit) : "-";
}

// At what rate the copies run whose lines cost most.
std::string slowest_lines(const Device& device) {
  Seconds most = 0;
  for (const auto& costs : device.line_costs) most = std::max(most, *std::max_element(costs.begin(), costs.end()));
  return with_unit(1 / (1 / device.h2d_bytes_per_s + most), "B/s");
}

std::string power_words(const Power& power) {
  const std::string words = with_unit(power.watts, "W");
  return power.measured ? words + ", measured within " + percent(power.relative_error) : words + ", default";
}

// Of the memory that the unit works in; units that share it share its idle power.
std::string idle_words(const Machine& machine, const Unit& unit) {
  const Power& idle = unit.device < 0 ? machine.host_idle : machine.devices[static_cast<std::size_t>(unit.device)].idle;
  if (idle.measured) return power_words(idle);
  Power guess = default_idle(unit.kind);
  if (unit.device < 0) guess.watts *= unit.workers;
  return power_words(guess);
}

}  // namespace

std::string units_table(const Machine& machine) {
  std::vector<std::vector<std::string>> rows{{"unit", "kind", "workers", "memory"}};
  for (const Unit& unit : machine.units) {
    const Device* device =
        unit.device < 0 ? nullptr : &machine.devices[static_cast<std::size_t>(unit.device)];
    rows.push_back({unit.name, to_string(unit.kind), std::to_string(unit.workers),
                    device ? device->name + ", " + with_unit(device->memory_bytes, "B") : "host"});
  }
  return table(rows);
}

std::string links_table(const Machine& machine) {
  if (machine.devices.empty()) return "";
  std::vector<std::vector<std::string>> rows{{"device", "to it", "from it", "latency", "slowest lines", "a task", "to its peers"}};
  for (const Device& device : machine.devices)
    rows.push_back({device.name, with_unit(device.h2d_bytes_per_s, "B/s"),
                    with_unit(device.d2h_bytes_per_s, "B/s"), with_unit(device.latency, "s"), slowest_lines(device), with_unit(device.start_latency, "s"),
                    device.peer_bytes_per_s > 0 ? with_unit(device.peer_bytes_per_s, "B/s") : "-"});
  std::string text = table(rows);
  if (machine.host_link_bytes_per_s > 0)
    text += "all links together: " + with_unit(machine.host_link_bytes_per_s, "B/s") + "\n";
  return text;
}

std::string models_table(const Models& models) {
  if (models.times.empty()) return "";
  std::vector<std::vector<std::string>> rows{{"unit", "operation", "implementation", "type", "rate",
                                              "memory", "launch", "tile", "error", "samples"}};
  for (const auto& [key, model] : models.times)
    rows.push_back({key.unit, key.operation, key.implementation, to_string(key.type),
                    rate(model.seconds_per_flop, "flop/s"), rate(model.seconds_per_byte, "B/s"),
                    with_unit(model.fixed, "s"), tile_words(model), percent(model.relative_error),
                    std::to_string(model.samples)});
  return table(rows);
}

std::string power_table(const Machine& machine, const Models& models) {
  std::vector<std::vector<std::string>> rows{{"unit", "idle", "computing", "", "above idle, one worker"}};
  for (const Unit& unit : machine.units) {
    const std::string idle = idle_words(machine, unit);
    const std::size_t before = rows.size();
    for (const auto& [key, power] : models.powers)
      if (key.unit == unit.name)
        rows.push_back({unit.name, idle, key.operation + " " + key.implementation, to_string(key.type), power_words(power)});
    if (rows.size() == before) rows.push_back({unit.name, idle, "anything", "", power_words(default_power(unit.kind))});
  }
  return table(rows);
}

std::string learned_table(const Models& models) {
  if (models.learned.empty()) return "";
  std::vector<std::vector<std::string>> rows{
      {"unit", "operation", "implementation", "type", "takes", "by tasks", "last", ""}};
  for (const auto& [key, learned] : models.learned) {
    char factor[32];
    std::snprintf(factor, sizeof factor, "%.2f times", learned.factor);
    rows.push_back({key.unit, key.operation, key.implementation, to_string(key.type), factor,
                    std::to_string(learned.tasks), learned.when, parted(learned) ? "run `poas calibrate`" : ""});
  }
  return table(rows);
}

Json report_json(const Machine& machine, const Models& models) {
  const Json stored = Json::parse(to_json(models));
  Json learned = Json::array();
  for (const auto& [key, one] : models.learned)
    learned.push_back({{"unit", key.unit},
                       {"operation", key.operation},
                       {"implementation", key.implementation},
                       {"type", to_string(key.type)},
                       {"factor", one.factor},
                       {"tasks", one.tasks},
                       {"when", one.when},
                       {"parted", parted(one)}});
  return {{"machine", Json::parse(to_json(machine))},
          {"models", stored.at("models")},
          {"powers", stored.at("powers")},
          {"learned", learned},
          {"when", models.when}};
}

}  // namespace poas::tool
