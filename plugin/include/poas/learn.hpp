// Corrections of time models by what blocks really took.  Pure; not thread safe: one user at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "poas/models.hpp"

namespace poas {

// What the blocks of one task on one unit took, as measured / predicted by the model without corrections.
struct Observation {
  ModelKey key;
  TimeModel base;         // that model
  double ratio = 1;
};

// Whether a model that was measured is off by more than twice.
bool parted(const Learned& learned);

// Keeps for each model the factor by which blocks are slower than it says: the median over the last tasks.
// - An observation more than `wild` times off what is believed is set aside, and believed when several in a
//   row agree that the world has changed: a few for models that nobody measured, more for measured ones.
// - A model that was measured is not made faster by more than a fifth: blocks that are short show nothing of long ones.
// - A unit that gets no work is believed less and less after some tasks, until plans give it a little; what that
//   shows counts alone.  After a few such trials that change nothing, each doubles the time until the next.
// - What earlier processes learned is believed at once, but counts as three tasks only, and gives way to a few wild
//   observations, as a model that nobody measured does.
class Learner {
 public:
  // Before anything else: factors that were stored.  Each is used where corrected() finds the model that it tells of.
  void resume(std::map<ModelKey, Learned> learned);
  // Under 2 us.  Ratios that are not finite and positive are dropped.
  void add(const Observation& observation);
  // A task of that operation is about to be planned.
  void next_task(const std::string& operation, Type type);
  // Whether a factor has moved, since corrected() was called last, by over twice, or after some tasks by over 5 % and the
  // error of its model.
  bool moved() const;
  // The models with all factors applied, and these factors; models that nobody measured are added.
  Models corrected(const Models& base);
  // The factors that differ by over 5 % from what was resumed or kept last, 1 if nothing was; and, whatever they are,
  // those of models that nobody measured and nobody kept: a guess that holds is known to hold.
  std::map<ModelKey, Learned> changes(const std::string& today) const;
  // These are stored now.
  void keep(const std::map<ModelKey, Learned>& stored);
  // By how much blocks are slower than the models without corrections say, as corrected() last applied it.
  std::map<ModelKey, double> factors() const;
  // In words, models that were measured and are off by more than twice; each is named once.
  std::vector<std::string> partings();

 private:
  struct Entry {
    TimeModel base;
    std::vector<double> recent;     // logarithms of ratios, the oldest first
    double believed = 0;            // their median
    std::vector<double> set_aside;  // wild ones in a row
    unsigned observations = 0;
    unsigned age = 0;               // tasks since the last observation
    unsigned trials = 0;            // in a row that changed nothing
    double used = 0;                // logarithm of the factor in the models handed out
    double kept = 0;                // logarithm of the factor that is stored
    unsigned tasks_before = 0;      // of earlier processes
    std::string when;               // date of the stored factor
    bool told = false;
  };

  static bool yields(const Entry& entry);
  static Learned learned_of(const Entry& entry, double value);
  static Entry resumed(const TimeModel& base, const Learned& learned);
  void adopt(const Models& base);
  static unsigned patience(const Entry& entry);
  static double faded(const Entry& entry);
  static void believe(Entry& entry, double value);

  std::map<ModelKey, Entry> entries_;
  unsigned tasks_ = 0;                   // since corrected() was called last
  std::map<ModelKey, Learned> resumed_;  // whose model has not been seen yet
};

}  // namespace poas
