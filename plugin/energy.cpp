// The energy of blocks and plans: power times time, and what the node draws anyway.
#include <algorithm>
#include <cmath>

#include "poas/plan.hpp"

namespace poas {
namespace {

// The host's guess counts the cores that compute.
Power host_idle(const Machine& machine) {
  if (machine.host_idle.measured) return machine.host_idle;
  Power power = default_idle(UnitKind::cpu);
  unsigned cores = 0;
  for (const Unit& unit : machine.units)
    if (unit.kind == UnitKind::cpu) cores += unit.workers;
  power.watts *= cores;
  return power;
}

Power device_idle(const Machine& machine, std::size_t device) {
  if (machine.devices[device].idle.measured) return machine.devices[device].idle;
  const auto unit = std::find_if(machine.units.begin(), machine.units.end(), [device](const Unit& one) {
    return one.device == static_cast<int>(device);
  });
  return unit == machine.units.end() ? Power{0, 0, true} : default_idle(unit->kind);
}

}  // namespace

Energy energy(const UnitCost& cost, Seconds seconds) {
  return {cost.power.watts * seconds, std::hypot(cost.power.relative_error, cost.model.relative_error)};
}

Power idle_power(const Machine& machine) {
  Power all{0, 0, true};
  Watts error = 0;
  const auto add = [&](const Power& one) {
    all.watts += one.watts;
    error += one.watts * one.relative_error;
    all.measured = all.measured && one.measured;
  };
  add(host_idle(machine));
  for (std::size_t d = 0; d < machine.devices.size(); ++d) add(device_idle(machine, d));
  all.relative_error = all.watts > 0 ? error / all.watts : 0;
  return all;
}

void predict_energy(Plan& plan, const Machine& machine) {
  const Power idle = idle_power(machine);
  bool measured = idle.measured;
  plan.joules = plan.idle_joules = idle.watts * plan.makespan;
  for (std::size_t u = 0; u < plan.units.size(); ++u) {
    const UnitCost& cost = plan.costs.units[u];
    const bool computes = cost.usable() && plan.units[u].compute > 0;
    const Energy own = computes ? energy(cost, plan.units[u].compute) : Energy{};
    plan.units[u].joules = own.joules;
    plan.units[u].joules_error = own.relative_error;
    plan.joules += own.joules;
    measured = measured && (!computes || cost.power.measured);
  }
  plan.power_source = measured ? "measured" : "default";
}

}  // namespace poas
