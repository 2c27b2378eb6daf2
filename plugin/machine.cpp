// Checks and JSON form of a machine description.
#include "poas/machine.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "poas/error.hpp"

namespace poas {
namespace {

using Json = nlohmann::ordered_json;

constexpr int format_version = 1;

[[noreturn]] void refuse(const std::string& field, const std::string& why, const std::string& hint) {
  throw Error(Errc::invalid, "machine: " + field + " " + why + ": " + hint);
}

void check_number(const std::string& field, double value) {
  if (!std::isfinite(value)) refuse(field, "is not a finite number", "give a number >= 0 in SI units");
  if (value < 0) refuse(field, "is negative", "give a number >= 0 in SI units");
}

void check_rate(const std::string& field, double value) {
  check_number(field, value);
  if (value == 0) refuse(field, "is 0", "a link that copies nothing makes the device useless, measure it");
}

void check_power(const std::string& field, const Power& power) {
  check_number(field + ".watts", power.watts);
  check_number(field + ".relative_error", power.relative_error);
}

void check_device(const Device& device, const std::string& field) {
  if (device.name.empty()) refuse(field + ".name", "is empty", "name the device, e.g. cuda0");
  check_number(field + ".memory_bytes", device.memory_bytes);
  check_rate(field + ".h2d_bytes_per_s", device.h2d_bytes_per_s);
  check_rate(field + ".d2h_bytes_per_s", device.d2h_bytes_per_s);
  check_number(field + ".latency", device.latency);
  check_number(field + ".start_latency", device.start_latency);
  for (const auto& costs : device.line_costs)
    for (const Seconds cost : costs) check_number(field + ".line_costs", cost);
  check_number(field + ".peer_bytes_per_s", device.peer_bytes_per_s);
  check_power(field + ".idle", device.idle);
}

void check_unit(const Machine& machine, const Unit& unit, const std::string& field) {
  if (unit.name.empty()) refuse(field + ".name", "is empty", "name the unit, e.g. cpu or cuda0.tensor");
  if (unit.workers == 0) refuse(field + ".workers", "is 0", "a unit needs a worker, leave the unit out");
  if (unit.device < -1 || unit.device >= static_cast<int>(machine.devices.size()))
    refuse(field + ".device", "is " + std::to_string(unit.device),
           "use an index into devices, or -1 for the host's memory");
}

template <typename List>
void check_names_differ(const List& list, const std::string& field) {
  std::set<std::string> seen;
  for (const auto& entry : list)
    if (!seen.insert(entry.name).second)
      refuse(field, "has \"" + entry.name + "\" twice", "names must differ, models are kept by name");
}

// Only what was measured is written.
void add_power(Json& json, const char* key, const Power& power) {
  if (power.measured) json[key] = {{"watts", power.watts}, {"relative_error", power.relative_error}};
}

Json json_of(const Device& device) {
  Json json = {{"name", device.name},
          {"memory_bytes", device.memory_bytes},
          {"h2d_bytes_per_s", device.h2d_bytes_per_s},
          {"d2h_bytes_per_s", device.d2h_bytes_per_s},
          {"latency", device.latency},
          {"peer_bytes_per_s", device.peer_bytes_per_s},
          {"start_latency", device.start_latency},
          {"line_costs", device.line_costs},
          {"product", device.product}};
  add_power(json, "idle", device.idle);
  return json;
}

Json json_of(const Unit& unit) {
  return {{"name", unit.name},
          {"kind", to_string(unit.kind)},
          {"device", unit.device},
          {"workers", unit.workers}};
}

const Json& member(const Json& object, const char* key, const std::string& where) {
  if (!object.is_object())
    throw Error(Errc::parse, "machine: " + where + " is not a JSON object: write {...} there");
  const auto found = object.find(key);
  if (found == object.end())
    throw Error(Errc::parse, "machine: " + where + "." + key + " is missing: add it to the file");
  return *found;
}

[[noreturn]] void refuse_kind(const std::string& field, const char* wanted) {
  throw Error(Errc::parse, "machine: " + field + " has the wrong type: write " + wanted);
}

std::string text_of(const Json& object, const char* key, const std::string& where) {
  const Json& value = member(object, key, where);
  if (!value.is_string()) refuse_kind(where + "." + key, "a string");
  return value.get<std::string>();
}

double number_of(const Json& object, const char* key, const std::string& where) {
  const Json& value = member(object, key, where);
  if (!value.is_number()) refuse_kind(where + "." + key, "a number");
  return value.get<double>();
}

double number_or(const Json& object, const char* key, const std::string& where, double otherwise) {
  return object.contains(key) ? number_of(object, key, where) : otherwise;
}

Power power_or_default(const Json& object, const char* key, const std::string& where) {
  if (!object.contains(key)) return {};
  const std::string field = where + "." + key;
  return {number_of(object.at(key), "watts", field), number_of(object.at(key), "relative_error", field), true};
}

int integer_of(const Json& object, const char* key, const std::string& where) {
  const double value = number_of(object, key, where);
  if (value != std::floor(value) || std::abs(value) > 1e9) refuse_kind(where + "." + key, "a whole number");
  return static_cast<int>(value);
}

const Json& list_of(const Json& object, const char* key, const std::string& where) {
  const Json& value = member(object, key, where);
  if (!value.is_array()) refuse_kind(where + "." + key, "a list [...]");
  return value;
}

LineCosts line_costs_from(const Json& json, const std::string& where) {
  const Json& lengths = list_of(json, "line_costs", where);
  LineCosts costs{};
  bool right = lengths.size() == costs.size();
  for (std::size_t i = 0; right && i < costs.size(); ++i) {
    right = lengths[i].is_array() && lengths[i].size() == costs[i].size();
    for (std::size_t j = 0; right && j < costs[i].size(); ++j) {
      right = lengths[i][j].is_number();
      if (right) costs[i][j] = lengths[i][j].get<double>();
    }
  }
  if (!right) refuse_kind(where + ".line_costs", "6 lists of 6 numbers");
  return costs;
}

Device device_from(const Json& json, const std::string& where) {
  Device device;
  device.name = text_of(json, "name", where);
  device.memory_bytes = number_of(json, "memory_bytes", where);
  device.h2d_bytes_per_s = number_of(json, "h2d_bytes_per_s", where);
  device.d2h_bytes_per_s = number_of(json, "d2h_bytes_per_s", where);
  device.latency = number_of(json, "latency", where);
  device.peer_bytes_per_s = number_or(json, "peer_bytes_per_s", where, 0);
  device.start_latency = number_or(json, "start_latency", where, 0);
  if (json.contains("line_costs")) device.line_costs = line_costs_from(json, where);
  if (json.contains("product")) device.product = text_of(json, "product", where);
  device.idle = power_or_default(json, "idle", where);
  return device;
}

Unit unit_from(const Json& json, const std::string& where) {
  Unit unit;
  unit.name = text_of(json, "name", where);
  unit.kind = unit_kind_from_string(text_of(json, "kind", where));
  unit.device = integer_of(json, "device", where);
  const int workers = integer_of(json, "workers", where);
  if (workers < 1) refuse(where + ".workers", "is " + std::to_string(workers), "use at least 1");
  unit.workers = static_cast<unsigned>(workers);
  return unit;
}

std::string entry(const char* list, std::size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

Machine read_machine(const Json& json) {
  const int version = integer_of(json, "version", "file");
  if (version != format_version)
    throw Error(Errc::version, "machine: the file has format version " + std::to_string(version) +
                               ", this library reads " + std::to_string(format_version) +
                               ": run poas calibrate again, or update poas");
  Machine machine;
  machine.name = text_of(json, "name", "file");
  machine.host_link_bytes_per_s = number_or(json, "host_link_bytes_per_s", "file", 0);
  machine.task_overhead = number_or(json, "task_overhead", "file", 0);
  machine.split_overhead = number_or(json, "split_overhead", "file", 0);
  machine.block_overhead = number_or(json, "block_overhead", "file", 0);
  if (json.contains("source")) machine.source = text_of(json, "source", "file");
  machine.host_idle = power_or_default(json, "host_idle", "file");
  for (const Json& device : list_of(json, "devices", "file"))
    machine.devices.push_back(device_from(device, entry("devices", machine.devices.size())));
  for (const Json& unit : list_of(json, "units", "file"))
    machine.units.push_back(unit_from(unit, entry("units", machine.units.size())));
  return machine;
}

}  // namespace

void validate(const Machine& machine) {
  if (machine.units.empty()) refuse("units", "is empty", "a machine needs at least one unit");
  for (std::size_t d = 0; d < machine.devices.size(); ++d)
    check_device(machine.devices[d], entry("devices", d));
  for (std::size_t u = 0; u < machine.units.size(); ++u)
    check_unit(machine, machine.units[u], entry("units", u));
  check_names_differ(machine.devices, "devices");
  check_names_differ(machine.units, "units");
  check_number("host_link_bytes_per_s", machine.host_link_bytes_per_s);
  check_number("task_overhead", machine.task_overhead);
  check_number("split_overhead", machine.split_overhead);
  check_number("block_overhead", machine.block_overhead);
  check_power("host_idle", machine.host_idle);
}

std::string to_json(const Machine& machine) {
  Json json = {{"version", format_version},
               {"name", machine.name},
               {"source", machine.source},
               {"host_link_bytes_per_s", machine.host_link_bytes_per_s},
               {"task_overhead", machine.task_overhead},
               {"split_overhead", machine.split_overhead},
               {"block_overhead", machine.block_overhead},
               {"units", Json::array()},
               {"devices", Json::array()}};
  add_power(json, "host_idle", machine.host_idle);
  for (const Unit& unit : machine.units) json["units"].push_back(json_of(unit));
  for (const Device& device : machine.devices) json["devices"].push_back(json_of(device));
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

Machine machine_from_json(std::string_view text) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    throw Error(Errc::parse, std::string("machine: the text is not JSON (") + error.what() +
                             "): correct it, or run poas calibrate again");
  }
  Machine machine = read_machine(json);
  validate(machine);
  return machine;
}

}  // namespace poas
