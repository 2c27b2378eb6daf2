#include "node.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>

#include "poas/error.hpp"
#include "poas/poas.h"

namespace poas::tool {

std::string host_name() {
  const char* given = std::getenv("STARPU_HOSTNAME");
  if (given && *given) return given;
  char buffer[HOST_NAME_MAX + 1] = "localhost";
  gethostname(buffer, sizeof buffer - 1);
  const std::string name = buffer;
  return name.substr(0, name.find('.'));
}

std::filesystem::path model_file_of_host() {
  const auto directory = model_directory();
  return directory.empty() ? directory : model_file(directory, host_name());
}

std::optional<Models> stored_models(const std::string& file) {
  const std::filesystem::path path = file.empty() ? model_file_of_host() : std::filesystem::path(file);
  if (path.empty()) return std::nullopt;
  auto models = load_models(path);
  if (!models && !file.empty())
    throw Error(Errc::io,
                "cannot read the models in '" + file + "': there is no such file; check the name");
  return models;
}

std::filesystem::path library() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void*>(&poas_version), &info) || !info.dli_fname)
    throw Error(Errc::io, "cannot find libpoas.so: the loader does not tell its path; reinstall poas");
  return std::filesystem::canonical(info.dli_fname);
}

Session::Session() {
  starpu_conf conf;
  starpu_conf_init(&conf);
  if (poas_conf_init(&conf) != 0) throw Error(Errc::version, poas_last_error());
  const int error = starpu_init(&conf);
  if (error != 0)
    throw Error(Errc::no_unit, std::string("StarPU does not start: ") + std::strerror(-error) +
                                   "; look for STARPU_NCPU, STARPU_NCUDA and the like in the environment, "
                                   "or run `poas doctor`");
}

Session::~Session() { starpu_shutdown(); }

}  // namespace poas::tool
