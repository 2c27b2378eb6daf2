// A closed loop: plans are made with the corrected models, and what their blocks take follows from a truth that the
// models do not know.
#pragma once

#include <functional>

#include "poas/learn.hpp"
#include "support/small_nodes.hpp"

namespace poas::test {

// By what factor the truth and the measurement make a unit slower than its model.
using Slower = std::function<double(unsigned unit)>;

class Loop {
 public:
  // A process that knows what earlier ones learned.
  explicit Loop(Node node, const std::map<ModelKey, Learned>& learned = {}) : node_(std::move(node)) {
    learner.resume(learned);
    corrected_ = learner.corrected(node_.models);
  }

  // Plans and runs one task; the share of unit 0.
  double task(const Slower& slower, const Operation& operation = pure_work(100000)) {
    learner.next_task("pure", Type::fp32);
    if (learner.moved()) corrected_ = learner.corrected(node_.models);
    const Plan plan = poas::plan(operation, node_.machine, corrected_, {}, {});
    for (unsigned u = 0; u < plan.units.size(); ++u) {
      if (plan.units[u].blocks == 0) continue;
      const ModelKey key{plan.units[u].name, "pure", "cpu", Type::fp32};
      const auto found = node_.models.times.find(key);
      const TimeModel base = found != node_.models.times.end() ? found->second
                                                               : default_model(node_.machine.units[u], Type::fp32, Precision::fp32);
      learner.add({key, base, slower(u)});
    }
    makespan = plan.makespan;
    return plan.units[0].share;
  }

  Learner learner;
  Seconds makespan = 0;

 private:
  Node node_;
  Models corrected_;
};

inline Node two_equal() { return node().host("one", 1, 100).host("other", 1, 100); }

inline const Slower as_modelled = [](unsigned) { return 1.0; };
inline const Slower first_thrice_slower = [](unsigned unit) { return unit == 0 ? 3.0 : 1.0; };

}  // namespace poas::test
