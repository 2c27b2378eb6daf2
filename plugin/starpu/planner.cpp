#include "starpu/planner.hpp"

#include <chrono>
#include <cstring>
#include <map>

#include "poas/runtime.hpp"
#include "starpu/environment.hpp"
#include "starpu/errors.hpp"

namespace poas::edge {
namespace {

constexpr std::size_t most_plans = 4096;

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  return hash;
}

std::vector<Planned::Whole> whole_times(const Operation& operation, const CostTable& costs) {
  std::vector<Planned::Whole> whole;
  const Box box = whole_box(operation);
  for (const UnitCost& unit : costs.units) {
    if (!unit.usable()) {
      whole.push_back({});
      continue;
    }
    whole.push_back({evaluate(unit.model, operation, box),
                     operation.implementations[static_cast<std::size_t>(unit.implementation)].nimpl});
  }
  return whole;
}

std::string guessed_units(const Plan& plan) {
  std::string names;
  for (std::size_t u = 0; u < plan.units.size(); ++u)
    if (plan.costs.units[u].usable() && plan.costs.units[u].model.samples == 0)
      names += (names.empty() ? "" : ", ") + plan.units[u].name;
  return names;
}

}  // namespace

ModelKey key_of(const Operation& operation, const Plan& plan, std::size_t unit) {
  const int implementation = plan.costs.units[unit].implementation;
  if (implementation < 0) return {};
  return {plan.units[unit].name, operation.name,
          operation.implementations[static_cast<std::size_t>(implementation)].name, operation.type};
}

bool PlanKey::operator==(const PlanKey& other) const {
  return codelet == other.codelet && view == other.view && modes == other.modes && always == other.always &&
         std::memcmp(&operation, &other.operation, sizeof operation) == 0;
}

std::size_t PlanKeyHash::operator()(const PlanKey& key) const {
  std::uint64_t hash = reinterpret_cast<std::uintptr_t>(key.codelet) ^ key.view ^ key.modes;
  for (std::uint64_t extent : key.operation.extent) hash = mix(hash, extent);
  hash = mix(hash, static_cast<std::uint64_t>(key.operation.type));
  hash = mix(hash, static_cast<std::uint64_t>(key.operation.precision));
  std::uint64_t variant = 0;
  std::memcpy(&variant, key.operation.variant, sizeof variant);
  return mix(hash, variant);
}

void Planner::read() {
  std::vector<std::string> faults;
  request_ = read_environment(faults);
  for (const std::string& fault : faults) log_once(fault + "; going on with the default");
  forget();
  if (!loaded_) load_models_of_host();
  loaded_ = read_ = true;
}

void Planner::reload() {
  std::lock_guard lock(mutex_);
  read();
}

std::shared_ptr<const Models> Planner::models() {
  std::lock_guard lock(mutex_);
  if (!read_) read();
  return models_;
}

Models Planner::models_as_stored() {
  std::lock_guard lock(mutex_);
  if (!read_) read();
  return *stored_;
}

std::string Planner::model_file() {
  std::lock_guard lock(mutex_);
  if (!read_) read();
  return file_;
}

Request Planner::request() {
  std::lock_guard lock(mutex_);
  if (!read_) read();
  return request_;
}

std::vector<std::string> Planner::installed() {
  std::lock_guard lock(mutex_);
  std::vector<std::string> words;
  for (const auto& [product, installed] : installed_)
    if (installed) words.push_back(product + ": " + installed->models.when + ", in " + installed->file);
  return words;
}

void Planner::observe(const Observation& observation) {
  auto* one = new Observed{observation, observed_.load(std::memory_order_relaxed)};
  while (!observed_.compare_exchange_weak(one->next, one, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

void Planner::learn_observed() {
  std::vector<std::unique_ptr<Observed>> latest_first;
  for (Observed* one = observed_.exchange(nullptr, std::memory_order_acquire); one != nullptr; one = one->next)
    latest_first.emplace_back(one);
  for (auto one = latest_first.rbegin(); one != latest_first.rend(); ++one) learner_.add((*one)->observation);
}

void Planner::learn(const std::string& operation, Type type) {
  std::vector<std::string> partings;
  {
    std::lock_guard lock(mutex_);
    learn_observed();
    learner_.next_task(operation, type);
    partings = learner_.partings();
    if (learner_.moved()) {
      combine();
      forget();
    }
  }
  for (const std::string& words : partings) log_once(words);
}

std::shared_ptr<const Planned> Planner::find(const PlanKey& key) {
  std::lock_guard lock(mutex_);
  const auto it = cache_.find(key);
  return it == cache_.end() ? nullptr : it->second;
}

std::shared_ptr<const Planned> Planner::make(const PlanKey& key, Operation operation,
                                             std::shared_ptr<const View> view) {
  Request request = this->request();
  std::shared_ptr<const Models> models;
  std::map<ModelKey, double> factors;
  {
    std::lock_guard lock(mutex_);
    models = models_;
    factors = learner_.factors();
  }
  if (key.always) request.split = SplitMode::always;
  auto planned = std::make_shared<Planned>();
  // Wall time for the report only; nothing is decided by it, so simulated runs stay exact.
  const auto begin = std::chrono::steady_clock::now();
  planned->plan = poas::plan(operation, view->machine, *models, {}, request);
  planned->plan.plan_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  planned->whole = whole_times(operation, planned->plan.costs);
  planned->operation = std::move(operation);
  planned->view = std::move(view);
  for (std::size_t u = 0; u < planned->plan.units.size(); ++u) {
    const auto factor = factors.find(key_of(planned->operation, planned->plan, u));
    planned->factors.push_back(factor == factors.end() ? 1 : factor->second);
  }
  std::lock_guard lock(mutex_);
  if (planned->plan.costs.guessed && guesses_told_.insert(planned->operation.name).second)
    log_once("the split of " + planned->operation.name + " is a guess: nobody measured it on " +
             guessed_units(planned->plan) + "; run `poas calibrate`");
  if (models != models_) return planned;  // replaced meanwhile: do not keep it
  if (cache_.size() >= most_plans) cache_.clear();
  cache_[key] = planned;
  return planned;
}

std::optional<ImplementationTimes> Planner::find_times(const PlanKey& key) {
  std::lock_guard lock(mutex_);
  const auto it = times_.find(key);
  return it == times_.end() ? std::nullopt : std::optional(it->second);
}

void Planner::keep_times(const PlanKey& key, const ImplementationTimes& times,
                         const std::shared_ptr<const Models>& models) {
  std::lock_guard lock(mutex_);
  if (models != models_) return;
  if (times_.size() >= most_plans) times_.clear();
  times_[key] = times;
}

void Planner::forget() {
  cache_.clear();
  times_.clear();
}

// Never destroyed: hooks may run while the process ends.
Planner& planner() {
  static Planner* const instance = new Planner;
  return *instance;
}

}  // namespace poas::edge

namespace poas {

Models current_models() { return *edge::planner().models(); }
std::string current_model_file() { return edge::planner().model_file(); }
std::vector<std::string> current_installed_models() { return edge::planner().installed(); }
void use_models(const Models& models) { edge::planner().use(models); }
void store_models(const Models& models) { edge::planner().store(models); }

}  // namespace poas
