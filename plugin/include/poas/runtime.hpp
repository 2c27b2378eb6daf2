// Where the pure stages meet a running StarPU: probing, calibration, plans of tasks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "poas/models.hpp"
#include "poas/plan.hpp"
#include "poas/poas.h"

namespace poas {

// The node as StarPU sees it, with links from StarPU's bus calibration.  After starpu_init().
POAS_EXPORT Machine probe();

// The models that plans use now, with what running tasks showed of them (Models::learned), and the file they came from
// ("" for defaults).
POAS_EXPORT Models current_models();
POAS_EXPORT std::string current_model_file();
// The models in use that came with poas, one for each product of this node that has some: product, date and origin,
// file.  After probe() or the first task.
POAS_EXPORT std::vector<std::string> current_installed_models();
// Adds the models that came with poas for the products of a machine.
POAS_EXPORT void add_installed_models(Models& models, const Machine& machine);
// Replaces the models of this process; the plan cache forgets everything.  What is learned of them is not stored.
POAS_EXPORT void use_models(const Models& models);
// The same, and writes what differs from the models of this host that were read into their file: others may have
// written there meanwhile.  Throws Error(io), and then the models stay as they were.
POAS_EXPORT void store_models(const Models& models);

// The request that the environment asks for (POAS_OBJECTIVE, POAS_PRECISION, POAS_SPLIT, POAS_UNITS).
// Throws Error(invalid) naming the variable.
POAS_EXPORT Request request_from_environment();

struct CalibrationProgress {
  double done;       // from 0 to 1
  Seconds left;      // at most
  std::string what;  // that is being measured, or was found
};

// A model with what speaks for it.
struct CalibratedModel {
  ModelKey key;
  TimeModel model;                  // of the slowest worker; its relative_error is that of held-out blocks
  double slowest = 1;               // time of the slowest of the unit's workers over the median: a factor of the model
  double spread = 0;                // by how much the slow quarter of a block's runs took longer than the fast one
  std::vector<Sample> samples;      // median times of the workers
  std::vector<bool> held_out;       // for each sample, whether it took no part in the fit that `predicted` is of
  std::vector<Seconds> predicted;   // for each sample, not of the slowest worker
  Errors errors;                    // of the held-out samples
  std::string instead;              // words, if another model stays in its place
};

struct CalibrationOptions {
  Seconds budget = 30;                       // for all models together
  std::vector<Type> types{Type::fp32};
  std::uint64_t seed = 1;                    // of the shapes: the same one gives the same shapes on a machine of one speed
  std::size_t most_blocks = 500;             // of each model, if the budget allows
  unsigned repetitions = 8;                  // of each block, far apart: the median counts
  std::vector<Extents> extents;              // blocks to measure, empty: chosen by seed and budget
  std::vector<ModelKey> done;                // models that need not be measured
  // Makes a model of the blocks measured on a unit, which computes `parallel` tiles at once (1: not known).  Empty:
  // fit(), and no more blocks are measured than it needs.
  std::function<TimeModel(const std::vector<Sample>& samples, int ndims, unsigned parallel)> fit{};
  std::function<void(const CalibrationProgress&)> progress;
  // Called after each model with all models so far, so that they may be saved.
  std::function<void(const CalibratedModel&, const Models&)> calibrated;
};

// Measures copies (alone and together), overheads, power, and blocks of the codelet on every unit, and fits the models.
// Blocks are tasks of StarPU (so also in simulation), but where the codelet measures them itself
// (poas_divisible::measure_block).  They are spread over shapes and over short and long times, as many as the budget
// allows; a fifth of them takes no part in the fit and tells its error, then all are fitted.  The caller saves the models.
// Not thread safe; no other task may run.  Throws Error(no_unit) if nothing can be measured.
POAS_EXPORT Models calibrate(struct starpu_codelet* codelet, const CalibrationOptions& options);

// The plan for a task of a divisible codelet, without submitting it.  Throws Error(invalid).
POAS_EXPORT Plan plan_task(struct starpu_task* task);
// Plan and measurement of the last divisible task that ended in this process.
POAS_EXPORT Plan last_plan();

}  // namespace poas
