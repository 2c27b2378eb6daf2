// The process-wide planner: models, request and a cache of plans.
#pragma once

#include <array>
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "poas/learn.hpp"
#include "poas/plan.hpp"
#include "starpu/installed.hpp"
#include "starpu/registry.hpp"
#include "starpu/view.hpp"

namespace poas::edge {

// Everything that a plan depends on, comparable without building an Operation.
struct PlanKey {
  const Registered* codelet = nullptr;
  poas_operation operation{};
  std::uint64_t view = 0;
  unsigned modes = 0;           // two bits for each operand
  unsigned always = 0;
  bool operator==(const PlanKey& other) const;
};
struct PlanKeyHash {
  std::size_t operator()(const PlanKey& key) const;
};

// A plan and the operation that it was made for; immutable once cached.
struct Planned {
  Operation operation;
  Plan plan;
  std::shared_ptr<const View> view;
  struct Whole {
    double seconds = 0;         // on one worker of the unit
    unsigned nimpl = 0;
  };
  std::vector<Whole> whole;     // per unit; seconds 0: not usable
  std::vector<double> factors;  // per unit: what learning had added to its model
};

// Seconds of a whole task on one device for each implementation of its codelet: NaN if nobody described it,
// infinite if it must not be used.
using ImplementationTimes = std::array<double, STARPU_MAXIMPLEMENTATIONS>;

class Planner {
 public:
  // Reads the environment again, and the model file if no models are known.  Wrong values: one error line,
  // then defaults.  Without it, under another policy, both are read at the first use.
  void reload();
  // With what was learned since; and without.
  std::shared_ptr<const Models> models();
  Models models_as_stored();
  std::string model_file();
  Request request();
  // Of a program, which keeps them: nothing that is learned is stored.
  void use(const Models& models);
  // Uses them, and writes what differs from those read into this host's file.  Throws Error(io).
  void store(Models models);
  // Writes what was learned since the last time into this host's file, if factors moved.  Says once if it cannot.
  void store_learned();
  // The devices of this node: models of another product in their place are dropped, those that came with poas are
  // used, and those measured here go before them.
  void meet(const std::vector<Device>& devices);
  // Of the installed models in use: what, when and who, and the file.
  std::vector<std::string> installed();
  std::shared_ptr<const Planned> find(const PlanKey& key);
  // From any thread, without a lock.
  void observe(const Observation& observation);
  // Learns what was observed; a task of that operation is about to be planned.
  void learn(const std::string& operation, Type type);
  // Plans and caches.  Throws Error(invalid).
  std::shared_ptr<const Planned> make(const PlanKey& key, Operation operation,
                                      std::shared_ptr<const View> view);
  // The times of a key whose view is a device; and keeps them while these models are in use.
  std::optional<ImplementationTimes> find_times(const PlanKey& key);
  void keep_times(const PlanKey& key, const ImplementationTimes& times,
                  const std::shared_ptr<const Models>& models);

 private:
  // All with the lock held.
  void read();
  // Of models or a request that are no longer in use.
  void forget();
  // Takes the models measured here, and forgets what was learned but what they hold.
  void take(Models models, const std::string& file);
  void combine();
  std::shared_ptr<const Models> with_installed() const;
  void load_models_of_host();
  bool drop_replaced(const Device& device);
  void learn_observed();

  struct Observed {
    Observation observation;
    Observed* next = nullptr;
  };

  std::mutex mutex_;
  // As read; of these what is used; with those installed; with what was learned.
  std::shared_ptr<const Models> as_read_ = std::make_shared<Models>(), stored_ = as_read_, base_ = as_read_,
                                models_ = as_read_;
  std::map<std::string, std::optional<Installed>> installed_;   // by product
  Learner learner_;
  std::atomic<Observed*> observed_{nullptr};  // the latest first
  std::string file_;             // that the models came from
  std::filesystem::path target_; // that what is learned goes to, empty: nowhere
  Request request_;
  bool loaded_ = false, read_ = false;   // models, environment
  std::set<std::string> guesses_told_;   // operations whose splits were said to be guesses
  std::unordered_map<PlanKey, std::shared_ptr<const Planned>, PlanKeyHash> cache_;
  std::unordered_map<PlanKey, ImplementationTimes, PlanKeyHash> times_;
};

// Of the unit's chosen implementation; an empty key if it has none.
ModelKey key_of(const Operation& operation, const Plan& plan, std::size_t unit);

Planner& planner();
std::string host_name();
std::string today();
// Whether another product has taken the place of a device that was measured.
bool is_replaced(const Device& measured, const Device& now);

}  // namespace poas::edge
