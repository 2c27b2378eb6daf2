#include "starpu/perfmodel.hpp"

#include <algorithm>
#include <limits>

#include "starpu/blocks.hpp"
#include "starpu/split.hpp"

namespace poas::edge {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

double us_of(double seconds) { return seconds >= unusable_us * 1e-6 ? unusable_us : seconds * 1e6; }

// Where a whole task of one size runs: the key of its times on that device.
View place_of(const starpu_perfmodel_device& device) {
  View place;
  place.id = static_cast<std::uint64_t>(device.type) << 32 | static_cast<std::uint32_t>(device.devid);
  return place;
}

// The device alone as a machine.  StarPU numbers all devices of a kind 0 if it was told that they are
// alike.
View view_of_device(const starpu_perfmodel_device& device) {
  int worker = starpu_worker_get_by_devid(device.type, device.devid);
  if (worker < 0) worker = starpu_worker_get_by_type(device.type, 0);
  return worker < 0 ? View{} : make_view(&worker, 1);
}

// What one implementation of the codelet takes on the machine; infinite if it must not be used.
double seconds_on(const View& device, Operation operation, unsigned nimpl, const Models& models,
                  Request request) {
  const auto& units = device.machine.units;
  std::erase_if(operation.implementations, [&](const Implementation& one) {
    return one.nimpl != nimpl || std::none_of(units.begin(), units.end(),
                                              [&](const Unit& unit) { return unit.kind == one.kind; });
  });
  if (operation.implementations.empty()) return unknown;
  request.units.clear();  // what may be used is for the caller to say, here is what it would take
  const CostTable costs = predict(operation, device.machine, models, request);
  double best = std::numeric_limits<double>::infinity();
  for (const UnitCost& cost : costs.units)
    if (cost.usable()) best = std::min(best, evaluate(cost.model, operation, whole_box(operation)));
  return best;
}

double whole_us(const starpu_task* task, const Registered& codelet, const starpu_perfmodel_device& device,
                unsigned nimpl) {
  PlanKey key;
  if (describe(task, codelet, place_of(device), key) != 0) return unknown;
  const auto& extent = key.operation.extent;
  if (std::count(extent, extent + codelet.divisible->ndims, 0u)) return unknown;
  if (const auto known = planner().find_times(key)) return us_of((*known)[nimpl]);
  const View view = view_of_device(device);
  const Operation operation = make_operation(task, key, view);
  const auto models = planner().models();
  ImplementationTimes times;
  for (unsigned i = 0; i < times.size(); ++i)
    times[i] = seconds_on(view, operation, i, *models, planner().request());
  planner().keep_times(key, times, models);
  return us_of(times[nimpl]);
}

double block_us(const BlockRun& block, const starpu_perfmodel_device& device, unsigned nimpl) {
  if (!block.run) return unknown;
  const std::string name = device_name(device.type, device.devid);
  const auto is_there = [&name](const std::string& unit) { return unit.substr(0, unit.find('.')) == name; };
  const Planned& planned = *block.run->planned;
  const auto& units = planned.plan.units;
  // Whatever the implementation: there is but one that it can have, and StarPU also asks with that of
  // another task.
  if (is_there(units[static_cast<std::size_t>(block.unit)].name)) return us_of(block.predicted);
  for (std::size_t u = 0; u < units.size(); ++u) {
    const UnitCost& cost = planned.plan.costs.units[u];
    if (!cost.usable() || !is_there(units[u].name)) continue;
    if (planned.operation.implementations[static_cast<std::size_t>(cost.implementation)].nimpl == nimpl)
      return us_of(evaluate(cost.model, planned.operation, block.box));
  }
  return unusable_us;
}

// StarPU calls it from pushing and popping threads, also with a worker's lock held: nothing here takes a
// lock of StarPU.
double cost_us(starpu_task* task, starpu_perfmodel_arch* arch, unsigned nimpl) noexcept {
  try {
    const Registered* codelet = find_registered(task->cl);
    if (!codelet || arch->ndevices != 1 || nimpl >= STARPU_MAXIMPLEMENTATIONS) return unknown;
    if (const BlockRun* block = block_of(task)) return block_us(*block, arch->devices[0], nimpl);
    return whole_us(task, *codelet, arch->devices[0], nimpl);
  } catch (const std::exception&) {
    return unknown;  // the same fault is told when the task is decided about
  }
}

}  // namespace

// By architecture, not by worker: some policies of StarPU ask for an architecture, and that ends the
// process if the model is by worker.
starpu_perfmodel learned_perfmodel(const char* name) {
  starpu_perfmodel model{};
  model.type = STARPU_PER_ARCH;
  model.arch_cost_function = cost_us;
  model.symbol = name;
  return model;
}

}  // namespace poas::edge
