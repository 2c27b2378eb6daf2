// Where models are kept, and reading and writing them so that a reader never sees half a file.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <tuple>
#include <utility>
#include <vector>

#include "models/learned.hpp"
#include "poas/error.hpp"
#include "poas/models.hpp"

namespace poas {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what, const fs::path& path, const std::string& why) {
  throw Error(Errc::io, "cannot " + what + " '" + path.string() + "': " + why +
                            "; check the path and its rights, or set POAS_MODEL_DIR to another directory");
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

void make_directory_of(const fs::path& file) {
  std::error_code error;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
  if (error) fail("make the directory of", file, error.message());
}

// A new file beside its final name; removed again unless published.
class Draft {
 public:
  explicit Draft(const fs::path& target) : target_(target), name_(target.string() + ".XXXXXX") {
    descriptor_ = ::mkstemp(name_.data());
    if (descriptor_ < 0) fail("create a file beside", target_, std::strerror(errno));
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!published_) ::unlink(name_.c_str());
  }

  void write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t done = ::write(descriptor_, text.data(), text.size());
      if (done < 0 && errno != EINTR) fail("write", target_, std::strerror(errno));
      if (done > 0) text.remove_prefix(static_cast<std::size_t>(done));
    }
  }

  void publish() {
    const mode_t readable_by_all = S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;
    if (::fchmod(descriptor_, readable_by_all) != 0 || ::fsync(descriptor_) != 0)
      fail("write", target_, std::strerror(errno));
    const int closed = ::close(std::exchange(descriptor_, -1));
    if (closed != 0 || ::rename(name_.c_str(), target_.c_str()) != 0)
      fail("write", target_, std::strerror(errno));
    published_ = true;
  }

 private:
  fs::path target_;
  std::string name_;
  int descriptor_ = -1;
  bool published_ = false;
};

// Held by one process at a time, and by none once it is dead.  The lock's file stays: who removes it may do so under a
// process that waits for it.
class Lock {
 public:
  explicit Lock(const fs::path& file)
      : descriptor_(::open((file.string() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0) fail("make a lock beside", file, std::strerror(errno));
    // About a second in all; the pauses are short beside the gaps that a process leaves that saves again and again.
    constexpr int tries = 3000;
    constexpr useconds_t pause = 250;  // us
    for (int i = 0; i < tries; ++i) {
      // A file system without locks is written without: the file is whole all the same.
      if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR)) return;
      ::usleep(pause);
    }
    ::close(descriptor_);
    fail("write", file, "another process has held its lock for a second");
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { ::close(descriptor_); }

 private:
  int descriptor_;
};

template <class Map>
void carry_changes(const Map& before, const Map& after, Map& now) {
  for (const auto& [key, value] : after) {
    const auto old = before.find(key);
    if (old == before.end() || !(old->second == value)) now[key] = value;
  }
  for (const auto& [key, value] : before)
    if (!after.count(key)) now.erase(key);
}

std::string text_of(const std::optional<Machine>& machine) { return machine ? to_json(*machine) : ""; }

// The latest stay; of one day, those from most tasks.
void drop_oldest(std::map<ModelKey, Learned>& learned) {
  if (learned.size() <= most_learned) return;
  std::vector<std::tuple<std::string, unsigned, ModelKey>> order;
  for (const auto& [key, one] : learned) order.emplace_back(one.when, one.tasks, key);
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(learned.size() - most_learned);
  std::nth_element(order.begin(), end, order.end());
  std::for_each(order.begin(), end, [&](const auto& one) { learned.erase(std::get<ModelKey>(one)); });
}

std::optional<Models> readable(const fs::path& file) {
  try {
    return load_models(file);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

fs::path model_directory() {
  if (const std::string chosen = environment("POAS_MODEL_DIR"); !chosen.empty()) return chosen;
  // The XDG rules say to ignore a path that is not absolute.
  if (const fs::path data = environment("XDG_DATA_HOME"); data.is_absolute()) return data / "poas";
  if (const std::string home = environment("HOME"); !home.empty())
    return fs::path(home) / ".local/share/poas";
  return {};
}

fs::path model_file(const fs::path& directory, const std::string& host) {
  return directory / (host + ".json");
}

fs::path product_file(const fs::path& directory, const std::string& product) {
  std::string name;
  for (const unsigned char letter : product)
    name += std::isalnum(letter) ? static_cast<char>(std::tolower(letter)) : '-';
  return directory / (name + ".json");
}

std::optional<Models> load_models(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found) return std::nullopt;
  if (!fs::is_regular_file(status))
    fail("read the models in", file, error ? error.message() : "it is no regular file");
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream.is_open() || stream.bad()) fail("read the models in", file, std::strerror(errno));
  try {
    return models_from_json(text);
  } catch (const Error& cause) {
    throw Error(cause.code(), "'" + file.string() + "': " + cause.what());
  }
}

void save_models(const fs::path& file, const Models& models) {
  const std::string text = to_json(models);
  make_directory_of(file);
  Draft draft(file);
  draft.write(text);
  draft.publish();
}

void save_changes(const fs::path& file, const Models& before, const Models& after) {
  make_directory_of(file);
  const Lock lock(file);
  Models now = after;
  if (auto found = readable(file); found && found->host == after.host) {
    now = std::move(*found);
    carry_changes(before.times, after.times, now.times);
    carry_changes(before.powers, after.powers, now.powers);
    carry_changes(before.learned, after.learned, now.learned);
    if (text_of(before.machine) != text_of(after.machine)) now.machine = after.machine;
    if (before.when != after.when) now.when = after.when;
    ++now.version;
  }
  std::erase_if(now.learned, [&](const auto& one) {
    const auto own = now.times.find(one.first);
    return own != now.times.end() && !tells_of(one.second, own->second);
  });
  drop_oldest(now.learned);
  save_models(file, now);
}

}  // namespace poas
