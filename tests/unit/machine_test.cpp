// Machine descriptions: checks and JSON.
#include "poas/machine.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "poas/error.hpp"

namespace poas {
namespace {

Machine node() {
  Machine machine;
  machine.name = "node";
  machine.devices = {{"cuda0", 1e9 / 3, 12e9, 11e9, 1e-5, 0}};
  machine.units = {{"cpu", UnitKind::cpu, -1, 7}, {"cuda0", UnitKind::cuda, 0, 1}};
  machine.host_link_bytes_per_s = 16e9;
  machine.task_overhead = 1.1e-5;
  machine.split_overhead = 2e-4;
  machine.source = "measured";
  return machine;
}

TEST(Machine, JsonKeepsEveryField) {
  const Machine machine = node(), read = machine_from_json(to_json(machine));
  EXPECT_EQ(read.name, "node");
  EXPECT_EQ(read.source, "measured");
  EXPECT_EQ(read.host_link_bytes_per_s, 16e9);
  EXPECT_EQ(read.task_overhead, 1.1e-5);
  EXPECT_EQ(read.split_overhead, 2e-4);
  ASSERT_EQ(read.devices.size(), 1u);
  EXPECT_EQ(read.devices[0].name, "cuda0");
  EXPECT_EQ(read.devices[0].memory_bytes, 1e9 / 3);
  EXPECT_EQ(read.devices[0].h2d_bytes_per_s, 12e9);
  EXPECT_EQ(read.devices[0].d2h_bytes_per_s, 11e9);
  EXPECT_EQ(read.devices[0].latency, 1e-5);
  EXPECT_EQ(read.devices[0].peer_bytes_per_s, 0);
  ASSERT_EQ(read.units.size(), 2u);
  EXPECT_EQ(read.units[0].workers, 7u);
  EXPECT_EQ(read.units[0].device, -1);
  EXPECT_EQ(read.units[1].kind, UnitKind::cuda);
  EXPECT_EQ(to_json(read), to_json(machine));
}

TEST(Machine, ReadsWhatAPersonWrites) {
  const Machine machine = machine_from_json(R"({"version": 1, "name": "n", "comment": "ignored",
      "units": [{"name": "cpu", "kind": "cpu", "device": -1, "workers": 4, "colour": 3}], "devices": []})");
  EXPECT_EQ(machine.units.at(0).workers, 4u);
  EXPECT_EQ(machine.host_link_bytes_per_s, 0);
}

TEST(Machine, IdlePowersAreKeptAndMayBeMissing) {
  Machine machine = node();
  EXPECT_EQ(machine_from_json(to_json(machine)).devices[0].idle, Power{});
  EXPECT_EQ(machine_from_json(to_json(machine)).host_idle, Power{});
  machine.devices[0].idle = {75.5, 0.01, true};
  machine.host_idle = {1.0 / 3, 0.2, true};
  const Machine read = machine_from_json(to_json(machine));
  EXPECT_EQ(read.devices[0].idle, machine.devices[0].idle);
  EXPECT_EQ(read.host_idle, machine.host_idle);
}

void expect_refused(const std::string& text, Errc code, const std::string& words) {
  try {
    machine_from_json(text);
    ADD_FAILURE() << "accepted: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

std::string without(const std::string& line_start) {
  std::string text = to_json(node());
  const auto begin = text.find("\"" + line_start + "\"");
  return text.replace(begin, line_start.size() + 2, "\"other\"");
}

TEST(Machine, MissingFieldsAreNamed) {
  for (const char* field : {"version", "name", "units", "devices"})
    expect_refused(without(field), Errc::parse, std::string("file.") + field + " is missing");
  for (const char* field : {"kind", "device", "workers"})
    expect_refused(without(field), Errc::parse, std::string("units[0].") + field + " is missing");
  for (const char* field : {"memory_bytes", "h2d_bytes_per_s", "d2h_bytes_per_s", "latency"})
    expect_refused(without(field), Errc::parse, std::string("devices[0].") + field + " is missing");
}

TEST(Machine, BrokenTextIsRefused) {
  expect_refused("", Errc::parse, "not JSON");
  expect_refused("{", Errc::parse, "not JSON");
  expect_refused("[]", Errc::parse, "not a JSON object");
  expect_refused("{\"version\": 1e400}", Errc::parse, "not JSON");
  expect_refused("{\"version\": 2}", Errc::version, "format version 2");
  expect_refused("{\"version\": \"1\"}", Errc::parse, "file.version");
  expect_refused(R"({"version": 1, "name": "n", "units": {}, "devices": []})", Errc::parse, "file.units");
  expect_refused(R"({"version": 1, "name": "n", "units": [3], "devices": []})", Errc::parse, "units[0]");
  expect_refused(R"({"version": 1, "name": "n", "devices": [],
      "units": [{"name": "c", "kind": "cpu", "device": -1, "workers": -4}]})", Errc::invalid, "units[0].workers");
  expect_refused(R"({"version": 1, "name": "n", "devices": [],
      "units": [{"name": "c", "kind": "gpu", "device": -1, "workers": 1}]})", Errc::invalid, "unit kind \"gpu\"");
}

TEST(Machine, ValidateNamesTheField) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<const char*, std::function<double&(Machine&)>>> numbers = {
      {"devices[0].memory_bytes", [](Machine& m) -> double& { return m.devices[0].memory_bytes; }},
      {"devices[0].h2d_bytes_per_s", [](Machine& m) -> double& { return m.devices[0].h2d_bytes_per_s; }},
      {"devices[0].d2h_bytes_per_s", [](Machine& m) -> double& { return m.devices[0].d2h_bytes_per_s; }},
      {"devices[0].latency", [](Machine& m) -> double& { return m.devices[0].latency; }},
      {"devices[0].peer_bytes_per_s", [](Machine& m) -> double& { return m.devices[0].peer_bytes_per_s; }},
      {"devices[0].idle.watts", [](Machine& m) -> double& { return m.devices[0].idle.watts; }},
      {"devices[0].idle.relative_error", [](Machine& m) -> double& { return m.devices[0].idle.relative_error; }},
      {"host_idle.watts", [](Machine& m) -> double& { return m.host_idle.watts; }},
      {"host_link_bytes_per_s", [](Machine& m) -> double& { return m.host_link_bytes_per_s; }},
      {"task_overhead", [](Machine& m) -> double& { return m.task_overhead; }},
      {"split_overhead", [](Machine& m) -> double& { return m.split_overhead; }}};
  std::vector<std::pair<std::string, std::function<void(Machine&)>>> cases = {
      {"units is empty", [](Machine& m) { m.units.clear(); }},
      {"units[0].name", [](Machine& m) { m.units[0].name = ""; }},
      {"units[1].workers", [](Machine& m) { m.units[1].workers = 0; }},
      {"units[1].device", [](Machine& m) { m.units[1].device = 1; }},
      {"units[1].device", [](Machine& m) { m.units[1].device = -2; }},
      {"units has \"cpu\" twice", [](Machine& m) { m.units[1].name = "cpu"; }},
      {"devices[0].name", [](Machine& m) { m.devices[0].name = ""; }},
      {"devices[0].h2d_bytes_per_s is 0", [](Machine& m) { m.devices[0].h2d_bytes_per_s = 0; }}};
  for (const auto& [field, number] : numbers)
    for (const double value : {nan, infinite, -infinite, -1.0})
      cases.emplace_back(field, [&number = number, value](Machine& m) { number(m) = value; });
  EXPECT_NO_THROW(validate(node()));
  for (const auto& [field, spoil] : cases) {
    Machine machine = node();
    spoil(machine);
    try {
      validate(machine);
      ADD_FAILURE() << field << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid);
      EXPECT_NE(std::string(error.what()).find(field), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace poas
