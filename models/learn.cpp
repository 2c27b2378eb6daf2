#include "poas/learn.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "models/learned.hpp"
#include "models/median.hpp"
#include "models/scaled.hpp"

namespace poas {
namespace {

constexpr std::size_t window = 9;                  // tasks that the median is taken over
constexpr double wild = 2.08;                      // logarithm of 8
constexpr unsigned enough_for_guesses = 4, enough_for_measured = 10;  // wild observations in a row
constexpr unsigned settled = 5;                    // observations that make a guess a measured model
constexpr unsigned first_patience = 5, quick_trials = 3, most_doublings = 8;
constexpr double clear_move = 0.05, parting = 0.7; // logarithms: 5 %, twice
constexpr double least_believed = -0.22;           // logarithm of 0.8: a measured model is not sped up by more
constexpr unsigned most_resumed = 3;               // tasks that a stored factor counts as
constexpr double far_off = 6.9;                    // logarithm of 1000: a unit beyond gets nothing anyway

// The model that a stored factor tells of: the unit's own, that of its product, or a guess; nullptr if it is gone.
const TimeModel* find_model(const Models& base, const ModelKey& key, const Learned& learned) {
  if (const auto own = base.times.find(key); own != base.times.end())
    return tells_of(learned, own->second) ? &own->second : nullptr;
  if (learned.model.samples == 0) return &learned.model;
  for (const auto& [other, model] : base.times) {
    const bool same_code = ModelKey{key.unit, other.operation, other.implementation, other.type} == key;
    if (same_code && tells_of(learned, model)) return &model;
  }
  return nullptr;
}

}  // namespace

bool parted(const Learned& learned) {
  return learned.model.samples > 0 && std::abs(std::log(learned.factor)) >= parting;
}

// Whether a few observations are enough to give up what is believed.
bool Learner::yields(const Entry& entry) {
  return (entry.base.samples == 0 || entry.tasks_before > 0) && entry.observations < settled;
}

Learned Learner::learned_of(const Entry& entry, double value) {
  const unsigned room = std::numeric_limits<unsigned>::max() - entry.tasks_before;
  const unsigned tasks = entry.tasks_before + std::min(room, entry.observations);
  return {without_forest(entry.base), std::exp(value), tasks, entry.when};
}

Learner::Entry Learner::resumed(const TimeModel& base, const Learned& learned) {
  Entry entry;
  entry.base = base;
  entry.kept = std::log(learned.factor);
  entry.believed = std::clamp(entry.kept, -far_off, far_off);
  entry.tasks_before = std::max(learned.tasks, 1u);
  entry.recent.assign(std::min(entry.tasks_before, most_resumed), entry.believed);
  entry.when = learned.when;
  entry.told = parted(learned);
  return entry;
}

void Learner::resume(std::map<ModelKey, Learned> learned) { resumed_ = std::move(learned); }

// Models may come later than the factors: those of a product, when the device is seen.
void Learner::adopt(const Models& base) {
  for (auto it = resumed_.begin(); it != resumed_.end();) {
    const TimeModel* const model = find_model(base, it->first, it->second);
    if (model) entries_.try_emplace(it->first, resumed(*model, it->second));
    it = model ? resumed_.erase(it) : std::next(it);
  }
}

// Tasks without an observation until belief fades: after a few trials that changed nothing, each doubles it.
unsigned Learner::patience(const Entry& entry) {
  const unsigned more = entry.trials > quick_trials ? entry.trials - quick_trials : 0;
  return first_patience << std::min(more, most_doublings);
}

// Slowness alone fades, by half for every task beyond the patience: a unit that seems fast gets work anyway.  What makes
// short blocks faster than a measured model says need not make long ones faster, so that is believed in part only.
double Learner::faded(const Entry& entry) {
  if (entry.believed <= 0) return entry.base.samples > 0 ? std::max(entry.believed, least_believed) : entry.believed;
  if (entry.age <= patience(entry)) return entry.believed;
  return std::max(0.0, entry.believed - std::log(2.0) * (entry.age - patience(entry)));
}

void Learner::believe(Entry& entry, double value) {
  entry.recent.push_back(value);
  if (entry.recent.size() > window) entry.recent.erase(entry.recent.begin());
  entry.believed = median(entry.recent);
  entry.set_aside.clear();
  ++entry.observations;
}

void Learner::add(const Observation& observation) {
  if (!std::isfinite(observation.ratio) || observation.ratio <= 0) return;
  const auto [it, is_new] = entries_.try_emplace(observation.key);
  Entry& entry = it->second;
  if (is_new) entry.base = observation.base;
  const double value = std::log(observation.ratio), before = entry.believed;
  const bool trial = entry.age > patience(entry);
  entry.age = 0;
  if (trial) {
    const bool confirmed = std::abs(value - before) < std::log(2.0);
    entry.trials = confirmed ? entry.trials + 1 : 0;
    if (!confirmed) entry.recent.clear();
    return believe(entry, value);
  }
  const bool open = yields(entry);
  const bool first = open && entry.recent.empty();
  if (first || std::abs(value - before) <= wild) return believe(entry, value);
  // Only those that agree count together.
  if (!entry.set_aside.empty() && std::abs(entry.set_aside.back() - value) > wild) entry.set_aside.clear();
  entry.set_aside.push_back(value);
  if (entry.set_aside.size() < (open ? enough_for_guesses : enough_for_measured)) return;
  const std::vector<double> agreed = std::move(entry.set_aside);
  entry.recent.clear();
  for (const double one : agreed) believe(entry, one);
}

void Learner::next_task(const std::string& operation, Type type) {
  ++tasks_;
  for (auto& [key, entry] : entries_)
    if (key.type == type && key.operation == operation) ++entry.age;
}

// Planning anew takes milliseconds: at once after a great change, after some tasks for a small one, never for less than
// the model errs anyway.
bool Learner::moved() const {
  constexpr double great = 0.7, most_error = 0.2;
  return std::any_of(entries_.begin(), entries_.end(), [&](const auto& one) {
    const double error = std::clamp(one.second.base.relative_error, clear_move, most_error);
    return std::abs(faded(one.second) - one.second.used) > std::max(error, great / std::max(1u, tasks_));
  });
}

Models Learner::corrected(const Models& base) {
  adopt(base);
  tasks_ = 0;
  Models models = base;
  models.learned.clear();
  for (auto& [key, entry] : entries_) {
    if (entry.recent.empty()) continue;
    entry.used = faded(entry);
    const auto found = models.times.find(key);
    TimeModel model = scaled(found == models.times.end() ? entry.base : found->second, std::exp(entry.used));
    models.learned[key] = learned_of(entry, entry.used);
    model.samples += models.learned[key].tasks;
    models.times[key] = model;
  }
  return models;
}

std::map<ModelKey, Learned> Learner::changes(const std::string& today) const {
  std::map<ModelKey, Learned> changes;
  for (const auto& [key, entry] : entries_) {
    const bool guess_confirmed = entry.base.samples == 0 && entry.when.empty();
    const bool moved = std::abs(entry.believed - entry.kept) > clear_move;
    if (entry.recent.empty() || (!moved && !guess_confirmed)) continue;
    changes[key] = learned_of(entry, entry.believed);
    changes[key].when = today;
  }
  return changes;
}

void Learner::keep(const std::map<ModelKey, Learned>& stored) {
  for (const auto& [key, learned] : stored) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) continue;
    found->second.kept = std::log(learned.factor);
    found->second.when = learned.when;
  }
}

std::map<ModelKey, double> Learner::factors() const {
  std::map<ModelKey, double> factors;
  for (const auto& [key, entry] : entries_) factors[key] = std::exp(entry.used);
  return factors;
}

std::vector<std::string> Learner::partings() {
  std::vector<std::string> words;
  for (auto& [key, entry] : entries_) {
    if (entry.told || entry.recent.size() < settled || !parted(learned_of(entry, entry.believed))) continue;
    entry.told = true;
    char text[64];
    std::snprintf(text, sizeof text, "%.1f times as long as", std::exp(entry.believed));
    words.push_back("blocks of " + key.operation + " on " + key.unit + " take " + text +
                    " their model says: plans follow; if that lasts, run `poas calibrate` again");
  }
  return words;
}

}  // namespace poas
