// `poas run`: replaces itself by the application, under the policy poas.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>

#include "command.hpp"
#include "settings.hpp"
#include "text.hpp"

namespace poas::tool {
namespace {

struct Options {
  Settings settings;
  std::vector<std::string> program;
  std::string json;
};

int run(Options& options) {
  const auto variables = variables_of(options.settings);
  if (!options.json.empty())
    write_file(options.json, Json{{"program", options.program}, {"environment", variables}}.dump(1));
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (std::string& argument : options.program) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  std::cout.flush();
  ::execvp(arguments[0], arguments.data());
  std::cerr << "poas: cannot start '" << options.program[0] << "': " << std::strerror(errno)
            << "; check the name, or give its path\n";
  return not_found;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("run", "run an application under poas");
  add_settings(*sub, options->settings);
  sub->add_option("program", options->program, "the application and its arguments, after --")->required();
  sub->add_option("--json", options->json, "write what is set and started to this file, - for stdout");
  sub->footer("Example: poas run --explain 1 -- ./app --its arguments");
  sub->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace poas::tool
