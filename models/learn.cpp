#include "poas/learn.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "models/median.hpp"
#include "models/scaled.hpp"

namespace poas {
namespace {

constexpr std::size_t window = 9;                  // tasks that the median is taken over
constexpr double wild = 2.08;                      // logarithm of 8
constexpr unsigned enough_for_guesses = 3, enough_for_measured = 10;  // wild observations in a row
constexpr unsigned settled = 5;                    // observations that make a guess a measured model
constexpr unsigned first_patience = 5, quick_trials = 3, most_doublings = 8;
constexpr double clear_move = 0.05, parting = 0.7; // logarithms: 5 %, twice

}  // namespace

// Tasks without an observation until belief fades: after a few trials that changed nothing, each doubles it.
unsigned Learner::patience(const Entry& entry) {
  const unsigned more = entry.trials > quick_trials ? entry.trials - quick_trials : 0;
  return first_patience << std::min(more, most_doublings);
}

// Slowness alone fades, by half for every task beyond the patience: a unit that seems fast gets work anyway.
double Learner::faded(const Entry& entry) {
  if (entry.age <= patience(entry) || entry.believed <= 0) return entry.believed;
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
  const bool guess = entry.base.samples == 0 && entry.observations < settled;
  const bool first = guess && entry.recent.empty();
  if (first || std::abs(value - before) <= wild) return believe(entry, value);
  // Only those that agree count together.
  if (!entry.set_aside.empty() && std::abs(entry.set_aside.back() - value) > wild) entry.set_aside.clear();
  entry.set_aside.push_back(value);
  if (entry.set_aside.size() < (guess ? enough_for_guesses : enough_for_measured)) return;
  const std::vector<double> agreed = std::move(entry.set_aside);
  entry.recent.clear();
  for (const double one : agreed) believe(entry, one);
}

void Learner::next_task(const std::string& operation, Type type) {
  for (auto& [key, entry] : entries_)
    if (key.type == type && key.operation == operation) ++entry.age;
}

bool Learner::moved() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const auto& one) {
    return std::abs(faded(one.second) - one.second.used) > clear_move;
  });
}

Models Learner::corrected(const Models& base) {
  Models models = base;
  for (auto& [key, entry] : entries_) {
    if (entry.recent.empty()) continue;
    entry.used = faded(entry);
    const auto found = models.times.find(key);
    TimeModel model = scaled(found == models.times.end() ? entry.base : found->second, std::exp(entry.used));
    model.samples += entry.observations;
    models.times[key] = model;
  }
  return models;
}

std::map<ModelKey, double> Learner::factors() const {
  std::map<ModelKey, double> factors;
  for (const auto& [key, entry] : entries_) factors[key] = std::exp(entry.used);
  return factors;
}

std::vector<std::string> Learner::partings() {
  std::vector<std::string> words;
  for (auto& [key, entry] : entries_) {
    if (entry.told || entry.base.samples == 0 || entry.recent.size() < settled || std::abs(entry.believed) < parting)
      continue;
    entry.told = true;
    char text[64];
    std::snprintf(text, sizeof text, "%.1f times as long as", std::exp(entry.believed));
    words.push_back("blocks of " + key.operation + " on " + key.unit + " take " + text +
                    " their model says: plans follow; if that lasts, run `poas calibrate` again");
  }
  return words;
}

}  // namespace poas
