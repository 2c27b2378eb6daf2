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

struct CalibrationOptions {
  Seconds budget = 30;                       // for all units together
  std::vector<Type> types{Type::fp32};
  unsigned repetitions = 3;                  // the median counts
  std::vector<Extents> extents;              // blocks to measure, empty: chosen by the budget
  // Makes a model of the blocks measured on a unit, which computes `parallel` tiles at once (1: not known).  Empty:
  // fit(), and no more blocks are measured than it needs.
  std::function<TimeModel(const std::vector<Sample>& samples, int ndims, unsigned parallel)> fit{};
  std::function<void(double done, const std::string& what)> progress;
};

// Measures copies (alone and together), overheads, and blocks of the codelet on every unit, and fits the models.
// Blocks are tasks of StarPU (so also in simulation), but where the codelet measures them itself
// (poas_divisible::measure_block).  The caller saves the models.  Not thread safe; no other task may run.  Throws
// Error(no_unit) if nothing can be measured.
POAS_EXPORT Models calibrate(struct starpu_codelet* codelet, const CalibrationOptions& options);

// The plan for a task of a divisible codelet, without submitting it.  Throws Error(invalid).
POAS_EXPORT Plan plan_task(struct starpu_task* task);
// Plan and measurement of the last divisible task that ended in this process.
POAS_EXPORT Plan last_plan();

}  // namespace poas
