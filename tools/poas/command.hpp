// What the subcommands of `poas` share.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "poas/error.hpp"

namespace poas::tool {

using Json = nlohmann::ordered_json;

enum Exit { done = 0, failed = 1, bad_usage = 2, no_hardware = 77, not_found = 127 };

// What the chosen subcommand does; returns the exit code.
using Action = std::function<int()>;

// Each adds one subcommand; if the command line names it, `action` receives what to do.
void add_run(CLI::App& app, Action& action);
void add_env(CLI::App& app, Action& action);
void add_machine(CLI::App& app, Action& action);
void add_calibrate(CLI::App& app, Action& action);
void add_fit(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);

}  // namespace poas::tool
