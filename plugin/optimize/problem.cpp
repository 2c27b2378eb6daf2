#include "optimize/problem.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "poas/error.hpp"

namespace poas::detail {
namespace {

constexpr Seconds most_seconds = 1e18;
constexpr double most_items = 0x1p53;
constexpr double rounding = 1e-9;   // relative

void check(const std::string& field, double value, double most) {
  if (std::isfinite(value) && value >= 0 && value <= most) return;
  throw Error(Errc::invalid, "division: " + field + " is " + std::to_string(value) +
                             ", not a number from 0 to " + std::to_string(most) +
                             ": check the machine's description and calibrate again");
}

void check_line(const std::string& field, const Line& line, double items) {
  check(field + ".fixed", line.fixed, most_seconds);
  check(field + ".slope", line.slope, most_seconds);
  check(field + ".slope times items", line.slope * items, most_seconds);
}

void check_unit(const std::string& field, const UnitTerms& unit, const DivisionProblem& problem) {
  check_line(field, {unit.fixed, unit.slope}, problem.items);
  check(field + ".least_slope", unit.least_slope, most_seconds);
  check(field + ".least", unit.least, most_items);
  if (unit.device < -1 || unit.device >= static_cast<int>(problem.devices.size()))
    throw Error(Errc::invalid, "division: " + field + ".device is " + std::to_string(unit.device) +
                               ": use an index into devices, or -1 for the host");
}

void check_device(const std::string& field, const DeviceTerms& device, double items) {
  check(field + ".lead", device.lead, most_seconds);
  check_line(field + ".tail", device.tail, items);
  check_line(field + ".in", device.in, items);
  check_line(field + ".out", device.out, items);
  check_line(field + ".host", device.host, items);
  check(field + ".most", device.most, most_items);
}

std::string entry(const char* list, std::size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

// What one device has to do for these items.
struct Load {
  double items = 0;
  Seconds compute = 0;
};

Seconds at(const Line& line, double items) { return line.fixed + line.slope * items; }

// The slowest forced unit of a device (or of all, device -2) whose forced units need more than `most`
// items together; -1 if they fit.
int overfull(const DivisionProblem& problem, int device, double most) {
  double least = 0;
  int slowest = -1;
  for (std::size_t u = 0; u < problem.units.size(); ++u) {
    const UnitTerms& unit = problem.units[u];
    if (!unit.forced || (device != -2 && unit.device != device)) continue;
    least += unit.least;
    if (slowest < 0 || unit.slope > problem.units[static_cast<std::size_t>(slowest)].slope)
      slowest = static_cast<int>(u);
  }
  return least > most ? slowest : -1;
}

int unit_to_release(const DivisionProblem& problem) {
  for (std::size_t d = 0; d < problem.devices.size(); ++d) {
    const int unit = overfull(problem, static_cast<int>(d), problem.devices[d].most);
    if (unit >= 0) return unit;
  }
  return overfull(problem, -2, problem.items);
}

}  // namespace

void validate(const DivisionProblem& problem) {
  check("items", problem.items, most_items);
  if (!(problem.items > 0))
    throw Error(Errc::invalid, "division: items is 0, there is nothing to divide: cut another dimension");
  if (problem.units.empty())
    throw Error(Errc::invalid, "division: units is empty, nothing can compute: allow more units");
  for (std::size_t u = 0; u < problem.units.size(); ++u)
    check_unit(entry("units", u), problem.units[u], problem);
  for (std::size_t d = 0; d < problem.devices.size(); ++d)
    check_device(entry("devices", d), problem.devices[d], problem.items);
}

Line compute_line(const DeviceTerms& device) {
  return {device.lead + device.tail.fixed, device.tail.slope};
}

Line in_line(const DeviceTerms& device) {
  return {device.in.fixed + device.tail.fixed, device.in.slope + device.tail.slope};
}

Seconds makespan_of(const DivisionProblem& problem, const std::vector<double>& items) {
  Seconds makespan = 0, host = 0;
  std::vector<Load> loads(problem.devices.size());
  for (std::size_t u = 0; u < problem.units.size(); ++u) {
    if (!(items[u] > 0)) continue;
    const UnitTerms& unit = problem.units[u];
    const Seconds seconds = unit.fixed + unit.slope * items[u];
    makespan = std::max(makespan, seconds);
    if (unit.device < 0) continue;
    Load& load = loads[static_cast<std::size_t>(unit.device)];
    load.items += items[u];
    load.compute += seconds;
  }
  for (std::size_t d = 0; d < loads.size(); ++d) {
    if (!(loads[d].items > 0)) continue;
    const DeviceTerms& device = problem.devices[d];
    makespan = std::max({makespan, loads[d].compute + at(compute_line(device), loads[d].items),
                         at(in_line(device), loads[d].items), at(device.out, loads[d].items)});
    host += at(device.host, loads[d].items);
  }
  return std::max(makespan, host);
}

bool allowed(const DivisionProblem& problem, const std::vector<double>& items) {
  double sum = 0;
  std::vector<double> held(problem.devices.size(), 0);
  for (std::size_t u = 0; u < problem.units.size(); ++u) {
    const UnitTerms& unit = problem.units[u];
    const bool used = items[u] > 0;
    if (used ? items[u] < unit.least * (1 - rounding) : unit.forced || items[u] < 0) return false;
    sum += items[u];
    if (unit.device >= 0) held[static_cast<std::size_t>(unit.device)] += items[u];
  }
  for (std::size_t d = 0; d < held.size(); ++d)
    if (held[d] > problem.devices[d].most * (1 + rounding)) return false;
  return std::abs(sum - problem.items) <= rounding * problem.items;
}

DivisionProblem relaxation(const DivisionProblem& problem) {
  DivisionProblem relaxed = problem;
  for (UnitTerms& unit : relaxed.units) {
    unit.fixed = 0;
    unit.slope = std::min(unit.slope, unit.least_slope);
    unit.least = 0;
    unit.forced = false;
  }
  for (DeviceTerms& device : relaxed.devices) {
    device.lead = 0;
    device.tail = {};
    device.in.fixed = device.out.fixed = device.host.fixed = 0;
  }
  return relaxed;
}

void relax_forcing(DivisionProblem& problem) {
  for (int unit = unit_to_release(problem); unit >= 0; unit = unit_to_release(problem))
    problem.units[static_cast<std::size_t>(unit)].forced = false;
}

}  // namespace poas::detail
