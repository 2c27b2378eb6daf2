// What a calibration found, for people and programs, and what is left of one that was interrupted.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "command.hpp"
#include "poas/runtime.hpp"

namespace poas::tool {

using Calibrated = std::vector<CalibratedModel>;

// Errors on held-out blocks, one row a model.
std::string errors_table(const Calibrated& models);
Json json_of(const CalibratedModel& one);
// Predicted against measured times, one panel a model: an SVG document.
std::string error_plot(const Calibrated& models);

// The models that an unfinished run has measured and stored, kept in a file beside the models until it is done.
class Unfinished {
 public:
  // `what` says what is measured, and how: a run goes on only with the same, but for a smaller "budget".
  Unfinished(std::filesystem::path file, Json what);

  // Those of a run that was interrupted today; none if there was no such run.  `words` says what becomes of it.
  Calibrated take_up(std::string& words) const;
  // Throws Error(io).
  void keep(const Calibrated& models) const;
  void done() const;

 private:
  std::filesystem::path file_;
  Json what_;
};

}  // namespace poas::tool
