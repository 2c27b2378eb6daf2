// Checks of a plan against its operation and machine: plans may be written by hand.
#include <algorithm>
#include <numeric>

#include "poas/error.hpp"
#include "poas/plan.hpp"
#include "schedule/copies.hpp"

namespace poas {
namespace {

using Volume = unsigned __int128;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

[[noreturn]] void refuse(const std::string& problem, const std::string& hint) {
  throw Error(Errc::invalid, "plan: " + problem + ": " + hint);
}

std::string name_of(std::size_t block) { return "block " + std::to_string(block); }

void check_unit(const Plan& plan, const Operation& operation, const Machine& machine, int unit,
                const std::string& who) {
  if (unit < 0 || index(unit) >= machine.units.size())
    refuse(who + " names unit " + std::to_string(unit) + ", the machine has " +
               std::to_string(machine.units.size()),
           "use an index into Machine::units");
  const Unit& one = machine.units[index(unit)];
  if (index(unit) >= plan.costs.units.size() || !plan.costs.units[index(unit)].usable())
    refuse(who + " runs on " + one.name + ", which has no implementation", "give it to another unit");
  const int implementation = plan.costs.units[index(unit)].implementation;
  if (index(implementation) >= operation.implementations.size())
    refuse(one.name + " uses implementation " + std::to_string(implementation) + " of " +
               std::to_string(operation.implementations.size()),
           "use an index into Operation::implementations");
  const Implementation& how = operation.implementations[index(implementation)];
  if (how.kind != one.kind)
    refuse(one.name + " is of kind " + to_string(one.kind) + " but " + how.name + " is for " +
               to_string(how.kind),
           "choose an implementation of the unit's kind");
  const Precision asked = plan.allowed.value_or(operation.precision);
  if (round_off(how.precision) > std::max(round_off(asked), round_off(operation.precision)))
    refuse(how.name + " on " + one.name + " delivers " + to_string(how.precision) + ", less than the " +
               to_string(asked) + " asked for",
           "choose another implementation, or allow that class");
}

void check_box(const Plan& plan, const Operation& operation, std::size_t b) {
  const Block& block = plan.tasks.blocks[b];
  const Box whole = whole_box(operation);
  const Implementation& how =
      operation.implementations[index(plan.costs.units[index(block.unit)].implementation)];
  for (std::size_t d = 0; d < block.box.size(); ++d) {
    const Range& range = block.box[d];
    const std::string dim = d < operation.dims.size() ? operation.dims[d].name : std::to_string(d);
    if (range.begin >= range.end || range.end > whole[d].end)
      refuse(name_of(b) + " covers [" + std::to_string(range.begin) + ", " + std::to_string(range.end) +
                 ") of " + dim,
             "it must be a range within [0, " + std::to_string(whole[d].end) + ") and not empty");
    std::string why;
    if (range != whole[d] && !can_cut(operation, static_cast<int>(d), &why))
      refuse(name_of(b) + " cuts " + dim + ", which cannot be cut (" + why + ")",
             "take the whole dimension");
    if (d < operation.dims.size() && range.size() < std::min<std::uint64_t>(how.least[d], whole[d].end))
      refuse(name_of(b) + " has " + std::to_string(range.size()) + " of " + dim + ", " + how.name +
                 " needs " + std::to_string(how.least[d]),
             "make it larger");
  }
}

bool overlap(const Box& one, const Box& other) {
  for (std::size_t d = 0; d < one.size(); ++d)
    if (one[d].begin >= other[d].end || other[d].begin >= one[d].end) return false;
  return true;
}

Volume volume(const Box& box) {
  Volume points = 1;
  for (const Range& range : box) points *= range.size();
  return points;
}

// Without overlap, equal volumes mean that nothing is left out.  A sweep along the plan's dimension
// compares only blocks that share a slice of it.
void check_tiling(const Plan& plan, const Operation& operation) {
  const std::vector<Block>& blocks = plan.tasks.blocks;
  const std::size_t dim = plan.dim >= 0 && plan.dim < max_dims ? index(plan.dim) : 0;
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return blocks[a].box[dim].begin < blocks[b].box[dim].begin;
  });
  Volume covered = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Box& one = blocks[order[i]].box;
    covered += volume(one);
    for (std::size_t j = i + 1; j < order.size() && blocks[order[j]].box[dim].begin < one[dim].end; ++j)
      if (overlap(one, blocks[order[j]].box))
        refuse(name_of(order[i]) + " and " + name_of(order[j]) + " overlap",
               "every point must be computed once");
  }
  if (covered != volume(whole_box(operation)))
    refuse("the blocks leave a hole in the operation", "every point must be computed once");
}

void check_memory(const Plan& plan, const Operation& operation, const Machine& machine) {
  std::vector<Bytes> needed(machine.devices.size(), 0);
  if (plan.split) {
    needed = detail::working_sets(detail::copies_of(operation, machine, plan.tasks), machine, plan.tasks);
  } else if (machine.units[index(plan.whole_unit)].device >= 0) {
    needed[index(machine.units[index(plan.whole_unit)].device)] = bytes(operation, whole_box(operation));
  }
  for (std::size_t d = 0; d < needed.size(); ++d)
    if (needed[d] > machine.devices[d].memory_bytes)
      refuse("the blocks on " + machine.devices[d].name + " need " + std::to_string(needed[d]) +
                 " bytes at once, it has " + std::to_string(machine.devices[d].memory_bytes),
             "give it less, or smaller blocks");
}

}  // namespace

void validate(const Plan& plan, const Operation& operation, const Machine& machine) {
  if (!plan.split) {
    if (plan.whole_unit == -1 && plan.status == SolveStatus::infeasible) return;
    check_unit(plan, operation, machine, plan.whole_unit, "the whole task");
    return check_memory(plan, operation, machine);
  }
  if (plan.tasks.blocks.empty())
    refuse("it is split but has no blocks", "add blocks, or name a whole unit");
  for (std::size_t b = 0; b < plan.tasks.blocks.size(); ++b) {
    check_unit(plan, operation, machine, plan.tasks.blocks[b].unit, name_of(b));
    check_box(plan, operation, b);
  }
  check_tiling(plan, operation);
  check_memory(plan, operation, machine);
}

}  // namespace poas
