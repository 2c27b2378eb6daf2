// Units, links and models of a node, as tables and as JSON.
#pragma once

#include <string>

#include "command.hpp"
#include "poas/models.hpp"

namespace poas::tool {

std::string units_table(const Machine& machine);
std::string links_table(const Machine& machine);  // "" if there is no device
std::string models_table(const Models& models);   // "" if there is none
// What each unit draws: idle, and computing with each implementation that was measured, else by default.
std::string power_table(const Machine& machine, const Models& models);
std::string learned_table(const Models& models);  // what running tasks showed of the models, "" for nothing
// {"machine", "models", "powers", "learned", "when"}; powers that were not measured are not there.
Json report_json(const Machine& machine, const Models& models);

}  // namespace poas::tool
