// Models that came with poas, for every device of a kind.
#pragma once

#include <optional>
#include <string>

#include "poas/models.hpp"

namespace poas::edge {

// The file that a symbol was loaded from, links resolved; "" if that cannot be told.
std::string file_of(const void* symbol);

struct Installed {
  std::string file;
  Models models;
};
// Those of a product, e.g. "NVIDIA H200"; nullopt if none are shipped.  A broken file is named once on stderr.
std::optional<Installed> installed_models(const std::string& product);
// Adds times and powers of what is not known yet.
void add_models(Models& models, const Models& others);

}  // namespace poas::edge
