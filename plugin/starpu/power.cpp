#include "starpu/power.hpp"

#include <numeric>

#include "meters/readings.hpp"
#include "starpu/errors.hpp"

namespace poas::edge {
namespace {

constexpr Seconds longest = 10;  // for counters that stand still

// Reads the meter after every call of `work`, which returns for how long workers computed in it, 0 if it
// failed.
template <typename Work>
std::optional<Power> measure_while(EnergyMeter& meter, Watts idle, Work work) {
  Readings readings;
  const Seconds begin = now_seconds();
  Seconds busy = 0;
  try {
    while (!readings.enough() && now_seconds() - begin < longest) {
      const Seconds more = work();
      if (more <= 0) return std::nullopt;
      busy += more;
      readings.add(now_seconds(), meter.read(), busy);
    }
  } catch (const Error& error) {
    log_once(error.what());
    return std::nullopt;
  }
  return readings.power(idle);
}

void measure_idle(EnergyMeter* meter, Power& idle) {
  if (!meter) return;
  const auto wait = [] {
    const Seconds begin = now_seconds();
    starpu_usleep(5000);
    return now_seconds() - begin;
  };
  if (const auto power = measure_while(*meter, 0, wait)) idle = *power;
}

// Of those that take so little memory: a codelet that measures itself has blocks that would take long to
// fill.
const Sample* longest_block(const Blocks& blocks, Bytes most) {
  const Sample* best = nullptr;
  for (const Sample& one : blocks.samples)
    if (one.bytes <= most && (!best || one.seconds > best->seconds)) best = &one;
  return best;
}

// The CUDA device of a memory, -1 if it is none.
int cuda_device_of(const View& view, std::size_t device) {
  for (std::size_t u = 0; u < view.units.size(); ++u)
    if (view.machine.units[u].device == static_cast<int>(device) &&
        view.machine.units[u].kind == UnitKind::cuda)
      for (std::size_t worker = 0; worker < STARPU_NMAXWORKERS; ++worker)
        if (view.units[u].workers.test(worker)) return starpu_worker_get_devid(static_cast<int>(worker));
  return -1;
}

}  // namespace

PowerMeters::PowerMeters(View& view) : host_(rapl_meter()) {
  measure_idle(host_.get(), view.machine.host_idle);
  for (std::size_t d = 0; d < view.machine.devices.size(); ++d) {
    const int cuda = cuda_device_of(view, d);
    const std::string id = cuda < 0 ? "" : pci_bus_id(cuda);
    devices_.push_back(id.empty() ? nullptr : nvml_meter(id));
    measure_idle(devices_.back().get(), view.machine.devices[d].idle);
  }
}

EnergyMeter* PowerMeters::meter_of(const Unit& unit) const {
  if (unit.kind == UnitKind::cpu) return host_.get();
  return unit.device < 0 ? nullptr : devices_[static_cast<std::size_t>(unit.device)].get();
}

std::optional<Power> PowerMeters::measure(const Target& target, const Blocks& blocks) {
  const Machine& machine = target.view->machine;
  const Unit& unit = machine.units[target.unit];
  EnergyMeter* const meter = meter_of(unit);
  const Sample* const block = longest_block(blocks, most_bytes / unit.workers);
  if (!meter || !block) return std::nullopt;
  const Power& idle = unit.kind == UnitKind::cpu
                          ? machine.host_idle
                          : machine.devices[static_cast<std::size_t>(unit.device)].idle;
  if (!idle.measured) return std::nullopt;
  const auto places = places_of(target.view->units[target.unit]);
  std::vector<std::unique_ptr<SampleTask>> samples;
  for (std::size_t i = 0; i < places.size(); ++i) {
    samples.push_back(std::make_unique<SampleTask>(*target.codelet, block->extents, target.type));
    if (!samples.back()->get()) return std::nullopt;
  }
  return measure_while(*meter, idle.watts, [&] {
    const auto times = run_once(target, samples, places);
    return std::accumulate(times.begin(), times.end(), 0.0);
  });
}

}  // namespace poas::edge
