#include "report.hpp"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "poas/poas.h"

namespace {

std::string duration(double seconds) {
  const char* unit = seconds >= 1 ? "s" : seconds >= 1e-3 ? "ms" : "us";
  const double value = seconds >= 1 ? seconds : seconds >= 1e-3 ? seconds * 1e3 : seconds * 1e6;
  char text[32];
  std::snprintf(text, sizeof text, "%.4g %s", value, unit);
  return text;
}

double flops(const Options& o) {
  return 2.0 * static_cast<double>(o.m) * static_cast<double>(o.n) * static_cast<double>(o.k);
}

void print_units(const poas::Plan& plan) {
  std::printf("%-14s %8s %12s %12s\n", "unit", "share", "predicted", "measured");
  for (const auto& unit : plan.units)
    if (unit.share > 0)
      std::printf("%-14s %7.1f%% %12s %12s\n", unit.name.c_str(), 100 * unit.share,
                  duration(unit.predicted).c_str(), duration(unit.measured).c_str());
}

void print_baselines(const Report& report, double seconds) {
  const double* best = nullptr;
  for (const auto& [name, time] : report.baselines) {
    std::printf("%-24s %12s   poas is %.2f times as fast\n", name.c_str(), duration(time).c_str(),
                time / seconds);
    if (!name.starts_with("plain") && (!best || time < *best)) best = &time;
  }
  if (best) std::printf("against the best single unit: %.2f times as fast\n", *best / seconds);
}

}  // namespace

void print(const Options& o, const Report& report) {
  const double seconds = median(report.seconds);
  std::printf("policy: %s\n", report.policy.c_str());
  if (!report.plan.units.empty()) {
    std::printf("%s\n", poas::explain(report.plan).c_str());
    print_units(report.plan);
    std::printf("makespan: predicted %s, measured %s\n", duration(report.plan.makespan).c_str(),
                duration(seconds).c_str());
    if (report.plan.source == "default")
      std::printf("The prediction is a guess: run `poas calibrate` once.\n");
  }
  std::printf("C (%llu x %llu), k = %llu, %s: %s, %.4g Tflop/s (median of %zu)\n",
              static_cast<unsigned long long>(o.m), static_cast<unsigned long long>(o.n),
              static_cast<unsigned long long>(o.k), poas::to_string(o.type), duration(seconds).c_str(),
              flops(o) / seconds * 1e-12, report.seconds.size());
  print_baselines(report, seconds);
  if (report.check)
    std::printf("check: relative error %.2e (at most %.2e), random product %.2g of its bound: %s\n",
                report.check->relative_error, report.check->tolerance, report.check->product_error,
                report.ok() ? "right" : "WRONG");
}

void write_json(const Options& o, const Report& report) {
  using nlohmann::json;
  json out;
  out["ok"] = report.ok();
  out["relative_error"] = report.check ? json(report.check->relative_error) : json(nullptr);
  out["seconds"] = {{"median", median(report.seconds)}, {"all", report.seconds}};
  out["plan"] = json::parse(poas::to_json(report.plan));
  out["baseline"] = report.baselines;
  out["machine"] = json::parse(poas::to_json(report.machine));
  out["versions"] = {{"poas", poas_version()}, {"starpu", report.starpu_version}};
  out["policy"] = report.policy;
  out["problem"] = {{"m", o.m},
                    {"n", o.n},
                    {"k", o.k},
                    {"transa", std::string(1, o.transa)},
                    {"transb", std::string(1, o.transb)},
                    {"alpha", o.alpha},
                    {"beta", o.beta},
                    {"type", poas::to_string(o.type)},
                    {"flop", flops(o)},
                    {"seed", o.seed},
                    {"memory", o.memory == Memory::pinned ? "pinned" : "pageable"}};
  if (report.check)
    out["check"] = {{"tolerance", report.check->tolerance}, {"product_error", report.check->product_error}};
  std::ofstream file(o.json);
  file << out.dump(2) << "\n";
  if (!file.flush())
    throw std::runtime_error(o.json + " was not written: no right or no space: name another --json file");
}
