#include "starpu/errors.hpp"

#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

namespace poas::edge {
namespace {

struct Log {
  std::mutex mutex;
  std::set<std::string> seen;
  std::string last;
};

// Never destroyed: hooks may run while the process ends.
Log& log() {
  static Log* const instance = new Log;
  return *instance;
}

constexpr std::size_t most_texts = 1000;  // bounds the memory of a process that fails for days

void write_once(Log& state, const std::string& text) {
  if (state.seen.size() < most_texts && state.seen.insert(text).second)
    std::fprintf(stderr, "poas: %s\n", text.c_str());
}

}  // namespace

void log_once(const std::string& text) {
  Log& state = log();
  std::lock_guard lock(state.mutex);
  write_once(state, text);
}

}  // namespace poas::edge

extern "C" int poas_report_error(int error, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  auto& state = poas::edge::log();
  try {
    std::lock_guard lock(state.mutex);
    state.last = text;
    poas::edge::write_once(state, state.last);
  } catch (const std::exception&) {
    std::fprintf(stderr, "poas: %s\n", text);
  }
  return error;
}

extern "C" const char* poas_last_error(void) {
  auto& state = poas::edge::log();
  std::lock_guard lock(state.mutex);
  // Texts of errors are few and kept for good, so the pointer stays valid.
  static std::set<std::string>* const kept = new std::set<std::string>;
  return state.last.empty() ? "" : kept->insert(state.last).first->c_str();
}

extern "C" const char* poas_version(void) { return POAS_VERSION; }
