#include "starpu/installed.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <set>

#include "poas/error.hpp"
#include "poas/runtime.hpp"
#include "starpu/errors.hpp"

namespace poas::edge {

std::string file_of(const void* symbol) {
  Dl_info info{};
  if (!symbol || !dladdr(symbol, &info) || !info.dli_fname) return {};
  std::error_code ignored;
  const auto path = std::filesystem::canonical(info.dli_fname, ignored);
  return path.empty() ? info.dli_fname : path.string();
}

// <prefix>/lib/libpoas.so, on some systems <prefix>/lib/<triple>/libpoas.so.
std::optional<Installed> installed_models(const std::string& product) {
  const auto library = std::filesystem::path(file_of(reinterpret_cast<const void*>(&file_of))).parent_path();
  for (const auto& prefix : {library.parent_path(), library.parent_path().parent_path()}) {
    const auto file = product_file(prefix / "share/poas/models", product);
    try {
      if (auto models = load_models(file)) return Installed{file.string(), std::move(*models)};
    } catch (const Error& error) {
      log_once(std::string(error.what()) + "; going on without them");
    }
  }
  return std::nullopt;
}

void add_models(Models& models, const Models& others) {
  models.times.insert(others.times.begin(), others.times.end());
  models.powers.insert(others.powers.begin(), others.powers.end());
}

}  // namespace poas::edge

namespace poas {

void add_installed_models(Models& models, const Machine& machine) {
  std::set<std::string> products;  // each file is read once, however many devices there are
  for (const Device& device : machine.devices)
    if (!device.product.empty()) products.insert(device.product);
  for (const std::string& product : products)
    if (const auto installed = edge::installed_models(product))
      edge::add_models(models, installed->models);
}

}  // namespace poas
