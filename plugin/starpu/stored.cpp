// The planner's models on disk: read when the process starts, written when StarPU ends.
#include <unistd.h>

#include <ctime>

#include "poas/error.hpp"
#include "starpu/errors.hpp"
#include "starpu/planner.hpp"

namespace poas::edge {
namespace {

namespace fs = std::filesystem;

// A simulation says nothing of the node that it runs on.
constexpr bool simulated = POAS_SIMULATED;

// Warns once if models could not be saved there, without making anything.
bool can_be_written(const fs::path& directory) {
  std::error_code ignored;
  auto there = directory;
  while (!there.empty() && !fs::exists(there, ignored) && there != there.parent_path()) there = there.parent_path();
  if (fs::is_directory(there, ignored) && access(there.c_str(), W_OK) == 0) return true;
  log_once("models cannot be saved: " + directory.string() +
           " is not a folder that can be written; set POAS_MODEL_DIR to one that is");
  return false;
}

bool is_of(const std::string& unit, const std::string& device) {
  return unit == device || unit.starts_with(device + ".");
}

}  // namespace

std::string today() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

bool is_replaced(const Device& measured, const Device& now) {
  return measured.name == now.name && !measured.product.empty() && !now.product.empty() &&
         measured.product != now.product;
}

void Planner::load_models_of_host() {
  const auto directory = model_directory();
  if (directory.empty()) {
    log_once("models cannot be saved: no HOME, XDG_DATA_HOME or POAS_MODEL_DIR is set");
    return;
  }
  const auto file = poas::model_file(directory, host_name());
  if (can_be_written(directory) && !simulated) target_ = file;
  try {
    auto found = load_models(file);
    if (!found) return;
    if (!found->host.empty() && found->host != host_name())
      throw Error(Errc::invalid, "the models in '" + file.string() + "' are not used: they were measured on '" +
                                     found->host + "', this is '" + host_name() + "'");
    take(std::move(*found), file.string());
  } catch (const Error& error) {
    // A newer poas may still want its own.
    if (error.code() == Errc::version) target_.clear();
    log_once(std::string(error.what()) + "; measure again with `poas calibrate`");
  }
}

void Planner::use(const Models& models) {
  std::lock_guard lock(mutex_);
  take(models, "");
  target_.clear();
  loaded_ = true;
  forget();
}

void Planner::take(Models models, const std::string& file) {
  as_read_ = stored_ = std::make_shared<Models>(std::move(models));
  learn_observed();  // of the models before
  learner_ = {};
  learner_.resume(stored_->learned);
  file_ = file;
  combine();
}

void Planner::combine() {
  base_ = with_installed();
  models_ = std::make_shared<Models>(learner_.corrected(*base_));
}

std::shared_ptr<const Models> Planner::with_installed() const {
  auto all = std::make_shared<Models>(*stored_);
  all->version = models_->version + 1;
  for (const auto& [product, installed] : installed_)
    if (installed) add_models(*all, installed->models);
  return all;
}

// What was measured of another product in the device's place says nothing of this one.
bool Planner::drop_replaced(const Device& device) {
  if (!stored_->machine) return false;
  for (const Device& known : stored_->machine->devices) {
    if (!is_replaced(known, device)) continue;
    auto rest = std::make_shared<Models>(*stored_);
    const auto its_own = [&](const auto& one) { return is_of(one.first.unit, device.name); };
    if (std::erase_if(rest->times, its_own) + std::erase_if(rest->powers, its_own) == 0) return false;
    log_once("the models of " + device.name + " are not used: they were measured on '" + known.product + "', it is '" +
             device.product + "' now; measure again with `poas calibrate`");
    stored_ = std::move(rest);
    learner_ = {};
    learner_.resume(stored_->learned);
    return true;
  }
  return false;
}

void Planner::meet(const std::vector<Device>& devices) {
  std::lock_guard lock(mutex_);
  bool changed = false;
  for (const Device& device : devices) {
    changed |= drop_replaced(device);
    if (device.product.empty() || installed_.count(device.product)) continue;
    changed |= (installed_[device.product] = installed_models(device.product)).has_value();
  }
  if (!changed) return;
  combine();
  forget();
}

void Planner::store(Models models) {
  const auto directory = model_directory();
  if (directory.empty())
    throw Error(Errc::io, "none of POAS_MODEL_DIR, XDG_DATA_HOME and HOME is set; set one");
  const auto file = poas::model_file(directory, host_name());
  models.host = host_name();
  std::lock_guard lock(mutex_);
  save_changes(file, *as_read_, models);
  take(std::move(models), file.string());
  forget();
}

void Planner::store_learned() {
  std::map<ModelKey, Learned> changes;
  std::shared_ptr<const Models> before;
  Models after;
  fs::path target;
  {
    std::lock_guard lock(mutex_);
    learn_observed();
    changes = learner_.changes(today());
    if (target_.empty() || changes.empty()) return;
    target = target_;
    before = as_read_;
    after = *stored_;
  }
  after.host = host_name();
  for (const auto& [key, learned] : changes) after.learned[key] = learned;
  try {
    save_changes(target, *before, after);
  } catch (const Error& error) {
    log_once(std::string("what was learned is not stored: ") + error.what());
    return;
  }
  std::lock_guard lock(mutex_);
  if (as_read_ != before) return;  // replaced meanwhile
  as_read_ = stored_ = std::make_shared<Models>(std::move(after));
  learner_.keep(changes);
}

}  // namespace poas::edge
