// Numbers and tables for people, and files for programs.
#pragma once

#include <string>
#include <vector>

namespace poas::tool {

// "1.50 ms", "12 GB/s": three digits and a prefix from nano to peta; "0 s" for 0.
std::string with_unit(double value, const std::string& unit);
std::string percent(double ratio);

// Seconds of "30", "30s", "500ms" or "2min".  Throws Error(invalid).
double duration_from(const std::string& text);

// Rows as columns two spaces apart, the first row being the heading.
std::string table(const std::vector<std::vector<std::string>>& rows);

std::vector<std::string> split_list(const std::string& text);

std::string read_file(const std::string& name);  // throws Error(io)
// Writes a file, or to standard output for "-".  Throws Error(io).
void write_file(const std::string& name, const std::string& text);

}  // namespace poas::tool
