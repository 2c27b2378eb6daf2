#include "text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "poas/error.hpp"

namespace poas::tool {

std::string with_unit(double value, const std::string& unit) {
  constexpr std::array prefixes{"n", "u", "m", "", "k", "M", "G", "T", "P"};
  constexpr int none = 3;
  if (value == 0 || !std::isfinite(value)) return (value == 0 ? "0 " : "? ") + unit;
  const int thousands = static_cast<int>(std::floor(std::log10(std::abs(value)) / 3));
  const int index = std::clamp(thousands + none, 0, static_cast<int>(prefixes.size()) - 1);
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.3g ", value / std::pow(1000.0, index - none));
  return digits + std::string(prefixes[static_cast<std::size_t>(index)]) + unit;
}

std::string percent(double ratio) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.1f %%", 100 * ratio);
  return digits;
}

double duration_from(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double scale = unit.empty() || unit == "s" ? 1 : unit == "ms" ? 1e-3 : unit == "min" ? 60 : 0;
  if (end == text.c_str() || scale == 0 || !(value * scale > 0) || !std::isfinite(value))
    throw Error(Errc::invalid, "'" + text + "' is no time: write for example 30s, 500ms or 2min");
  return value * scale;
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += row[i] + std::string(widths[i] + 2 - row[i].size(), ' ');
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');)
    if (!word.empty()) words.push_back(word);
  return words;
}

std::string read_file(const std::string& name) {
  errno = 0;
  std::ifstream stream(name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream.is_open() || stream.bad() || errno == EISDIR)
    throw Error(Errc::io,
                "cannot read '" + name + "': " + std::strerror(errno) + "; check the name and its rights");
  return text;
}

void write_file(const std::string& name, const std::string& text) {
  if (name == "-") {
    std::cout << text << "\n";
    return;
  }
  std::ofstream stream(name);
  stream << text << "\n";
  if (!stream.flush())
    throw Error(Errc::io,
                "cannot write '" + name + "': " + std::strerror(errno) + "; check the path and its rights");
}

}  // namespace poas::tool
