// Units, links and models of a node, as tables and as JSON.
#pragma once

#include <string>

#include "command.hpp"
#include "poas/models.hpp"

namespace poas::tool {

std::string units_table(const Machine& machine);
std::string links_table(const Machine& machine);  // "" if there is no device
std::string models_table(const Models& models);   // "" if there is none
std::string learned_table(const Models& models);  // what running tasks showed of the models, "" for nothing
// {"machine", "models", "learned", "when"}.
Json report_json(const Machine& machine, const Models& models);

}  // namespace poas::tool
