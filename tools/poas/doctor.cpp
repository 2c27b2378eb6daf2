// `poas doctor`: tells what keeps poas from working well here, and what to do.
#include <algorithm>
#include <iostream>
#include <memory>

#include "checks.hpp"
#include "command.hpp"

namespace poas::tool {
namespace {

struct Options {
  bool json = false;
};

const char* word(Health health) {
  switch (health) {
    case Health::ok:
      return "ok";
    case Health::warn:
      return "warn";
    default:
      return "fail";
  }
}

void print(const Findings& findings) {
  for (const Finding& one : findings) {
    std::cout << word(one.health) << "\t" << one.what << ": " << one.found << "\n";
    if (!one.advice.empty()) std::cout << "\t-> " << one.advice << "\n";
  }
}

Json json_of(const Findings& findings) {
  Json list = Json::array();
  for (const Finding& one : findings)
    list.push_back(
        {{"health", word(one.health)}, {"what", one.what}, {"found", one.found}, {"advice", one.advice}});
  return list;
}

int examine(const Options& options) {
  Findings findings;
  check_library(findings);
  check_policy(findings);
  check_models(findings);
  check_surroundings(findings);
  const bool sound = std::none_of(findings.begin(), findings.end(),
                                  [](const Finding& one) { return one.health == Health::fail; });
  if (options.json)
    std::cout << Json{{"ok", sound}, {"findings", json_of(findings)}}.dump(1) << "\n";
  else
    print(findings);
  return sound ? done : failed;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("doctor", "look for what keeps poas from working well here");
  sub->add_flag("--json", options->json, "as JSON");
  sub->footer("Exit code 1 if a line says fail; warn lines cost speed or information only.");
  sub->callback([options, &action] { action = [options] { return examine(*options); }; });
}

}  // namespace poas::tool
