// The results, for people and as JSON.
#pragma once

#include <optional>

#include "baseline.hpp"
#include "check.hpp"
#include "poas/plan.hpp"

struct Report {
  std::string policy;
  poas::Plan plan;  // of the last repetition, with its measurement
  poas::Machine machine;
  std::vector<double> seconds;
  std::optional<CheckResult> check;
  Baselines baselines;
  std::string starpu_version;
  bool ok() const { return !check || check->ok(); }
};

void print(const Options& options, const Report& report);
// Throws std::runtime_error if the file cannot be written.
void write_json(const Options& options, const Report& report);
