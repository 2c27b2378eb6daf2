// The `poas` command: runs applications under the policy, measures and shows the node, makes plans.
#include <iostream>

#include "command.hpp"
#include "poas/poas.h"

namespace {

using namespace poas::tool;

int exit_code(poas::Errc code) {
  switch (code) {
    case poas::Errc::invalid:
      return bad_usage;
    case poas::Errc::no_unit:
      return no_hardware;
    default:
      return failed;
  }
}

int perform(const Action& action) {
  try {
    return action();
  } catch (const poas::Error& error) {
    std::cerr << "poas: " << error.what() << "\n";
    return exit_code(error.code());
  } catch (const std::exception& error) {
    std::cerr << "poas: unexpected failure: " << error.what() << "\n";
    return failed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs big StarPU tasks on every device of this node at once.");
  app.set_version_flag("--version", poas_version());
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 failed, 2 bad usage, 77 hardware not there; `run` has those of the program,\n"
      "or 127 if it cannot be started.  `poas COMMAND --help` tells more.");
  Action action;
  for (const auto add : {add_run, add_env, add_machine, add_calibrate, add_fit, add_plan, add_doctor})
    add(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? done : bad_usage;
  }
  return perform(action);
}
