// The one place that reads POAS_ variables (model_directory() in models/ apart).
#include <cstdlib>

#include "poas/error.hpp"
#include "poas/runtime.hpp"
#include "starpu/environment.hpp"

namespace poas {
namespace {

template <typename Parse>
void read(const char* name, std::vector<std::string>& faults, Parse parse) {
  const char* text = std::getenv(name);
  if (!text || !*text) return;
  try {
    parse(std::string(text));
  } catch (const Error& error) {
    faults.push_back(std::string(name) + "=" + text + " is not understood: " + error.what());
  }
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace

namespace edge {

Request read_environment(std::vector<std::string>& faults) {
  Request request;
  read("POAS_OBJECTIVE", faults, [&](const std::string& word) { request.objective = objective_from_string(word); });
  read("POAS_PRECISION", faults, [&](const std::string& word) { request.precision = precision_from_string(word); });
  read("POAS_SPLIT", faults, [&](const std::string& word) { request.split = split_mode_from_string(word); });
  read("POAS_UNITS", faults, [&](const std::string& word) { request.units = split_list(word); });
  return request;
}

const char* record_file() {
  const char* file = std::getenv("POAS_RECORD");
  return file && *file ? file : nullptr;
}

int explain_level() {
  const char* text = std::getenv("POAS_EXPLAIN");
  return text ? std::atoi(text) : 0;
}

}  // namespace edge

Request request_from_environment() {
  std::vector<std::string> faults;
  Request request = edge::read_environment(faults);
  if (!faults.empty()) throw Error(Errc::invalid, faults.front());
  return request;
}

}  // namespace poas
