// What the units of a running node draw, as a part of calibration.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "meters/meter.hpp"
#include "starpu/measure.hpp"

namespace poas::edge {

// The meters of a node; none in simulation, where nothing draws power.
class PowerMeters {
 public:
  // Finds the meters and measures what the host and the devices draw while StarPU's workers wait for tasks,
  // a second each, into the view's machine.  No task may run.
  explicit PowerMeters(View& view);
  // Of one worker of the unit above idle: the longest of the blocks that do not take much memory runs on
  // all of them for a second or two.  nullopt, with a line on stderr if a meter failed, where the unit has
  // none.
  std::optional<Power> measure(const Target& target, const Blocks& blocks);

 private:
  EnergyMeter* meter_of(const Unit& unit) const;

  std::unique_ptr<EnergyMeter> host_;
  std::vector<std::unique_ptr<EnergyMeter>> devices_;  // as in the view's machine, null where there is none
};

}  // namespace poas::edge
