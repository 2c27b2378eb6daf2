// `poas machine`: the node as poas sees it, and the models that plans would use.
#include <iostream>
#include <memory>

#include "command.hpp"
#include "node.hpp"
#include "poas/runtime.hpp"
#include "report.hpp"
#include "text.hpp"

namespace poas::tool {
namespace {

struct Options {
  bool json = false;
};

int show(const Options& options) {
  const Session session;
  const Machine machine = probe();
  const Models models = current_models();
  const std::string file = current_model_file();
  if (options.json) {
    Json json = report_json(machine, models);
    json["model_file"] = file;
    std::cout << json.dump(1) << "\n";
    return done;
  }
  std::cout << machine.name << " (" << machine.source << ")\n\n" << units_table(machine);
  if (const std::string links = links_table(machine); !links.empty()) std::cout << "\n" << links;
  std::cout << "\ntask overhead " << with_unit(machine.task_overhead, "s") << ", split overhead "
            << with_unit(machine.split_overhead, "s") << "\n\n";
  if (models.times.empty())
    std::cout << "no models: plans rest on guesses; run `poas calibrate`\n";
  else
    std::cout << models_table(models);
  std::cout << "\n" << power_table(machine, models) << "\n";
  if (!file.empty() && !models.when.empty())
    std::cout << "measured here: " << models.when << ", in " << file << "\n";
  if (const std::string learned = learned_table(models); !learned.empty())
    std::cout << "learned from tasks that ran, and counted above; in " << file << "\n" << learned;
  for (const std::string& words : current_installed_models()) std::cout << "came with poas: " << words << "\n";
  return done;
}

}  // namespace

void add_machine(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("machine", "show units, links and models of this node");
  sub->add_flag("--json", options->json, "as JSON");
  sub->callback([options, &action] { action = [options] { return show(*options); }; });
}

}  // namespace poas::tool
