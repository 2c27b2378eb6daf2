#include "poas/learn.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace poas {
namespace {

constexpr std::size_t window = 9;                  // tasks that the median is taken over
constexpr double wild = 2.08;                      // logarithm of 8
constexpr unsigned enough_for_guesses = 3, enough_for_measured = 10;  // wild observations in a row
constexpr unsigned settled = 5;                    // observations that make a guess a measured model
constexpr unsigned first_patience = 5, quick_trials = 3, most_doublings = 8;
constexpr double clear_move = 0.05, parting = 0.7; // logarithms: 5 %, twice

double median(std::deque<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

double Learner::believed(const Entry& entry) { return entry.recent.empty() ? 0 : median(entry.recent); }

// Tasks without an observation until belief fades: doubled by every trial that changed nothing after the first.
unsigned Learner::patience(const Entry& entry) {
  const unsigned more = entry.trials > quick_trials ? entry.trials - quick_trials : 0;
  return first_patience << std::min(more, most_doublings);
}

// Slowness alone fades, by half for every task beyond the patience: a unit that seems fast gets work anyway.
double Learner::faded(const Entry& entry) {
  const double value = believed(entry);
  if (entry.age <= patience(entry) || value <= 0) return value;
  return std::max(0.0, value - std::log(2.0) * (entry.age - patience(entry)));
}

void Learner::believe(Entry& entry, double value) {
  entry.recent.push_back(value);
  if (entry.recent.size() > window) entry.recent.pop_front();
  entry.set_aside.clear();
  ++entry.observations;
}

void Learner::add(const Observation& observation) {
  if (!std::isfinite(observation.ratio) || observation.ratio <= 0) return;
  const auto [it, is_new] = entries_.try_emplace(observation.key);
  Entry& entry = it->second;
  if (is_new) entry.base = observation.base;
  const double value = std::log(observation.ratio), before = believed(entry);
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
    TimeModel model = found == models.times.end() ? entry.base : found->second;
    const double factor = std::exp(entry.used);
    model.fixed *= factor;
    model.seconds_per_flop *= factor;
    model.seconds_per_byte *= factor;
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
    const double value = believed(entry);
    if (entry.told || entry.base.samples == 0 || entry.recent.size() < settled || std::abs(value) < parting) continue;
    entry.told = true;
    char text[64];
    std::snprintf(text, sizeof text, "%.1f times as long as", std::exp(value));
    words.push_back("blocks of " + key.operation + " on " + key.unit + " take " + text +
                    " their model says: plans follow; if that lasts, run `poas calibrate` again");
  }
  return words;
}

}  // namespace poas
