// `poas env`: the same settings as `poas run`, for a shell or a program.
#include <iostream>
#include <memory>

#include "command.hpp"
#include "settings.hpp"

namespace poas::tool {
namespace {

struct Options {
  Settings settings;
  bool json = false;
};

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

int print(const Options& options) {
  const auto variables = variables_of(options.settings);
  if (options.json) {
    std::cout << Json(variables).dump(1) << "\n";
    return done;
  }
  for (const auto& [name, value] : variables)
    std::cout << "export " << name << "=" << quoted(value) << "\n";
  return done;
}

}  // namespace

void add_env(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("env", "print what `run` would set, for a shell");
  add_settings(*sub, options->settings);
  sub->add_flag("--json", options->json, "as JSON");
  sub->footer("Example: eval \"$(poas env)\"");
  sub->callback([options, &action] { action = [options] { return print(*options); }; });
}

}  // namespace poas::tool
