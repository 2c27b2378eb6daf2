// The environment that puts an application under poas.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>

namespace poas::tool {

struct Settings {
  std::string units, objective, precision, split, record;
  int explain = -1;
};

void add_settings(CLI::App& app, Settings& settings);

// Variables to set, by name.  Leaves out what is not asked for, and OPENBLAS_NUM_THREADS if it is
// set already.  Throws Error(invalid) naming the option.
std::map<std::string, std::string> variables_of(const Settings& settings);

}  // namespace poas::tool
