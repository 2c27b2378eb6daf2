// This host: its model file, its library, a running StarPU.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "poas/models.hpp"

namespace poas::tool {

// The name that StarPU's own files of this node carry.
std::string host_name();
// Where this host's models belong; empty if no directory can be named.
std::filesystem::path model_file_of_host();
// The models in `file`, or this host's if it is empty; nullopt if this host has none.
// Throws Error(io) for a named file that is not there, and what load_models() throws.
std::optional<Models> stored_models(const std::string& file);
// The libpoas.so that this process runs.
std::filesystem::path library();

// StarPU with the policy poas, from construction to destruction.
class Session {
 public:
  Session();  // throws Error(no_unit)
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
};

}  // namespace poas::tool
