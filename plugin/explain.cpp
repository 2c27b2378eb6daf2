// A plan as JSON for programs and as a table for people.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "poas/plan.hpp"
#include "words.hpp"

namespace poas {
namespace detail {

namespace {

struct Scale {
  double factor;
  const char* unit;
};

// In the largest unit that leaves one before the point; scales from large to small.
template <std::size_t N>
std::string in_words(double value, const std::array<Scale, N>& scales, const char* zero) {
  if (value == 0) return zero;
  // 0.9995 of a unit would print as 1.00 of it.
  const auto fitting = std::find_if(scales.begin(), scales.end() - 1, [&](const Scale& scale) {
    return std::abs(value) * scale.factor >= 0.9995;
  });
  const double scaled = value * fitting->factor;
  const int decimals = std::abs(scaled) >= 99.95 ? 0 : std::abs(scaled) >= 9.995 ? 1 : 2;
  char text[64];
  std::snprintf(text, sizeof text, "%.*f %s", decimals, scaled, fitting->unit);
  return text;
}

}  // namespace

std::string time_in_words(double seconds) {
  constexpr std::array<Scale, 4> scales{{{1, "s"}, {1e3, "ms"}, {1e6, "us"}, {1e9, "ns"}}};
  return in_words(seconds, scales, "0 s");
}

std::string energy_in_words(double joules) {
  constexpr std::array<Scale, 4> scales{{{1e-3, "kJ"}, {1, "J"}, {1e3, "mJ"}, {1e6, "uJ"}}};
  return in_words(joules, scales, "0 J");
}

}  // namespace detail

namespace {

using Json = nlohmann::ordered_json;
using detail::energy_in_words;
using detail::time_in_words;
using Row = std::vector<std::string>;

Json json_of(const PlanUnit& unit) {
  return {{"name", unit.name},
          {"kind", to_string(unit.kind)},
          {"share", unit.share},
          {"blocks", unit.blocks},
          {"implementation", unit.implementation},
          {"precision", unit.precision},
          {"predicted_seconds", unit.predicted},
          {"compute_seconds", unit.compute},
          {"measured_seconds", unit.measured},
          {"reason", unit.reason},
          {"joules", unit.joules},
          {"joules_error", unit.joules_error}};
}

std::string unit_name(const Plan& plan, int unit) {
  if (unit < 0 || static_cast<std::size_t>(unit) >= plan.units.size()) return std::to_string(unit);
  return plan.units[static_cast<std::size_t>(unit)].name;
}

// Dimensions behind the last one that is not [0, 1) in some block are unused.
std::size_t used_dims(const Plan& plan) {
  std::size_t used = 1;
  for (const Block& block : plan.tasks.blocks)
    for (std::size_t d = used; d < block.box.size(); ++d)
      if (block.box[d] != Range{0, 1}) used = d + 1;
  return used;
}

Json json_of(const Plan& plan, const Block& block, std::size_t dims) {
  Json ranges = Json::array();
  for (std::size_t d = 0; d < dims; ++d) ranges.push_back({block.box[d].begin, block.box[d].end});
  return {{"unit", unit_name(plan, block.unit)}, {"ranges", std::move(ranges)}, {"seconds", block.seconds}};
}

std::string percent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", 100 * ratio);
  return text;
}

std::string or_dash(const std::string& word) { return word.empty() ? "-" : word; }

Row row_of(const PlanUnit& unit, bool measured) {
  const bool used = unit.blocks > 0;
  Row row{unit.name,
          percent(unit.share),
          used ? std::to_string(unit.blocks) : "-",
          or_dash(unit.implementation),
          or_dash(unit.precision),
          used ? time_in_words(unit.predicted) : "-",
          used ? energy_in_words(unit.joules) : "-"};
  if (measured) row.push_back(unit.measured > 0 ? time_in_words(unit.measured) : "-");
  return row;
}

// Columns two spaces apart; words to the left, numbers to the right.
std::string align(const std::vector<Row>& rows) {
  std::vector<std::size_t> width(rows.front().size(), 0);
  for (const Row& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  const auto to_left = [](std::size_t column) { return column == 0 || column == 3 || column == 4; };
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string fill(width[c] - row[c].size(), ' ');
      line += (c == 0 ? "" : "  ") + (to_left(c) ? row[c] + fill : fill + row[c]);
    }
    text += line.erase(line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string table(const Plan& plan) {
  const bool measured = plan.measured > 0;
  std::vector<Row> rows{{"unit", "share %", "blocks", "implementation", "precision", "predicted", "energy"}};
  if (measured) rows.front().push_back("measured");
  for (const PlanUnit& unit : plan.units) rows.push_back(row_of(unit, measured));
  return align(rows);
}

std::string headline(const Plan& plan) {
  if (plan.split) return "split into " + std::to_string(plan.tasks.blocks.size()) + " blocks";
  return plan.whole_unit < 0 ? "cannot run" : "whole on " + unit_name(plan, plan.whole_unit);
}

}  // namespace

std::string to_json(const Plan& plan) {
  Json json{{"status", to_string(plan.status)},
            {"makespan", plan.makespan},
            {"bound", plan.bound},
            {"gap", plan.gap},
            {"solver", plan.solver},
            {"plan_seconds", plan.plan_seconds},
            {"reason", plan.reason},
            {"source", plan.source},
            {"operation", plan.operation},
            {"split", plan.split}};
  json["whole_unit"] = plan.whole_unit < 0 ? Json() : Json(unit_name(plan, plan.whole_unit));
  json["measured_seconds"] = plan.measured;
  json["joules"] = plan.joules;
  json["idle_joules"] = plan.idle_joules;
  json["power_source"] = plan.power_source;
  json["units"] = Json::array();
  for (const PlanUnit& unit : plan.units) json["units"].push_back(json_of(unit));
  json["blocks"] = Json::array();
  const std::size_t dims = used_dims(plan);
  for (const Block& block : plan.tasks.blocks) json["blocks"].push_back(json_of(plan, block, dims));
  // Names may hold any bytes: what is not UTF-8 is replaced, not refused.
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

std::string explain(const Plan& plan) {
  std::string text = plan.operation + ": " + headline(plan) + "\n" + table(plan);
  text += "makespan " + time_in_words(plan.makespan) + " predicted";
  if (plan.measured > 0) text += ", " + time_in_words(plan.measured) + " measured";
  text += "; bound " + time_in_words(plan.bound) + ", gap " + percent(plan.gap) + " %";
  if (!plan.solver.empty()) text += std::string(" (") + plan.solver + ", " + to_string(plan.status) + ")";
  text += "; " + plan.source + " models";
  if (plan.plan_seconds > 0) text += "; planned in " + time_in_words(plan.plan_seconds);
  if (plan.joules > 0)
    text += "\nenergy " + energy_in_words(plan.joules) + " predicted, of these " + energy_in_words(plan.idle_joules) +
            " idle; " + plan.power_source + " watts";
  text += "\nwhy: " + plan.reason + "\n";
  for (const PlanUnit& unit : plan.units)
    if (!unit.reason.empty()) text += "why: " + unit.name + " takes no part: " + unit.reason + "\n";
  return text;
}

}  // namespace poas
