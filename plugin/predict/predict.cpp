// Chooses for each unit the implementation and time model that the other stages use.
#include <algorithm>
#include <optional>

#include "poas/error.hpp"
#include "poas/plan.hpp"

namespace poas {
namespace {

// A longer time than this is a broken model, not a slow unit.
constexpr Seconds longest_time = 1e12;

struct Candidate {
  int implementation = -1;
  TimeModel model;
  Seconds seconds = 0;
  bool measured() const { return model.samples > 0; }
};

// The request may allow less than the operation's own class, never demand more: a class that no
// implementation of the element type has would leave nothing to run.
Precision required_precision(const Operation& operation, const Request& request) {
  if (!request.precision || round_off(*request.precision) < round_off(operation.precision))
    return operation.precision;
  return *request.precision;
}

bool allowed(const Unit& unit, const Request& request) {
  return request.units.empty() ||
         std::find(request.units.begin(), request.units.end(), unit.name) != request.units.end();
}

const Refusal* refusal_of(const Implementation& one, const std::string& unit) {
  const auto found = std::find_if(one.refusals.begin(), one.refusals.end(),
                                  [&](const Refusal& refusal) { return refusal.unit == unit; });
  return found == one.refusals.end() ? nullptr : &*found;
}

// Why not, and how near the implementation came: the reason of the nearest one is told.
enum class Nearness { other_kind, less_precise, refused, no_model };
struct Reason {
  Nearness nearness;
  std::string words;
};

// Words if the whole operation is smaller than the least block.
std::string too_small(const Operation& operation, const Implementation& one) {
  for (std::size_t d = 0; d < operation.dims.size(); ++d)
    if (operation.dims[d].extent < one.least[d])
      return one.name + " needs at least " + std::to_string(one.least[d]) + " of " + operation.dims[d].name;
  return "";
}

std::optional<Reason> why_unsuitable(const Operation& operation, const Implementation& one, const Unit& unit,
                                     Precision required) {
  if (one.kind != unit.kind)
    return Reason{Nearness::other_kind, std::string("no implementation for units of kind ") + to_string(unit.kind)};
  if (round_off(one.precision) > round_off(required))
    return Reason{Nearness::less_precise, std::string("no implementation with ") + to_string(required) + " precision"};
  if (const Refusal* refusal = refusal_of(one, unit.name)) return Reason{Nearness::refused, refusal->why};
  const std::string small = too_small(operation, one);
  if (!small.empty()) return Reason{Nearness::refused, small};
  return std::nullopt;
}

// What is known of the unit itself, else of all devices of its product.
template <typename Known, typename Accepted>
const Known* known_of(const std::map<ModelKey, Known>& all, const Operation& operation, const Implementation& one,
                      const Unit& unit, const Machine& machine, Accepted accepted) {
  const std::string product = unit.device < 0 ? "" : machine.devices[static_cast<std::size_t>(unit.device)].product;
  for (const std::string& owner : {unit.name, product}) {
    const auto found = all.find({owner, operation.name, one.name, operation.type});
    if (found != all.end() && accepted(found->second)) return &found->second;
  }
  return nullptr;
}

Candidate candidate_of(const Operation& operation, int index, const Unit& unit, const Machine& machine,
                       const Models& models) {
  const Implementation& one = operation.implementations[static_cast<std::size_t>(index)];
  Candidate candidate;
  candidate.implementation = index;
  const TimeModel* const measured = known_of(
      models.times, operation, one, unit, machine, [](const TimeModel& model) { return model.samples > 0; });
  candidate.model = measured ? *measured : default_model(unit, operation.type, one.precision);
  candidate.seconds = evaluate(candidate.model, operation, whole_box(operation));
  return candidate;
}

// A measurement beats a guess, whatever the guess says.
bool better(const Candidate& a, const Candidate& b) {
  if (a.measured() != b.measured()) return a.measured();
  return a.seconds < b.seconds;
}

std::optional<Reason> why_unusable(const Candidate& candidate, const Implementation& one) {
  if (candidate.seconds >= 0 && candidate.seconds <= longest_time) return std::nullopt;
  return Reason{Nearness::no_model,
                "the time model of " + one.name + " gives no usable time: run poas calibrate again"};
}

UnitCost cost_of(const Operation& operation, const Unit& unit, const Machine& machine, const Models& models,
                 const Request& request) {
  if (!allowed(unit, request)) return {-1, {}, "not in POAS_UNITS"};
  const Precision required = required_precision(operation, request);
  Reason nearest{Nearness::other_kind, "the operation has no implementation"};
  Candidate best;
  for (std::size_t i = 0; i < operation.implementations.size(); ++i) {
    const Implementation& one = operation.implementations[i];
    std::optional<Reason> why = why_unsuitable(operation, one, unit, required);
    Candidate candidate;
    if (!why) {
      candidate = candidate_of(operation, static_cast<int>(i), unit, machine, models);
      why = why_unusable(candidate, one);
    }
    if (why) {
      if (why->nearness >= nearest.nearness) nearest = *why;
    } else if (best.implementation < 0 || better(candidate, best)) {
      best = candidate;
    }
  }
  if (best.implementation < 0) return {-1, {}, nearest.words};
  const Implementation& one = operation.implementations[static_cast<std::size_t>(best.implementation)];
  const Power* const power =
      known_of(models.powers, operation, one, unit, machine, [](const Power& known) { return known.measured; });
  return {best.implementation, best.model, "", power ? *power : default_power(unit.kind)};
}

}  // namespace

CostTable predict(const Operation& operation, const Machine& machine, const Models& models,
                  const Request& request) {
  CostTable table;
  for (const Unit& unit : machine.units) {
    table.units.push_back(cost_of(operation, unit, machine, models, request));
    const UnitCost& cost = table.units.back();
    table.guessed = table.guessed || (cost.usable() && cost.model.samples == 0);
  }
  return table;
}

}  // namespace poas
