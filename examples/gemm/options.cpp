#include "options.hpp"

#include <CLI/CLI.hpp>

namespace {

const char* footer =
    "Sizes may be written as 16384 or 16k.  Matrices are column-major with random elements in [-1, 1).\n"
    "Each repetition goes from host memory to host memory.  The policy is poas unless STARPU_SCHED names "
    "another.\n"
    "--pinned memory comes from starpu_malloc(): copies to GPUs are several times faster than from "
    "--pageable\n"
    "memory, but pinning itself takes time (not counted here).\n"
    "Exit codes: 0 done, 1 failed or wrong result, 2 bad usage, 77 a unit that was asked for is not there.";

void add_shape(CLI::App& app, Options& options, std::uint64_t& size) {
  const auto size_option = [&app](const char* name, std::uint64_t& value, const char* text) {
    return app.add_option(name, value, text)
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::Range(std::uint64_t{1}, (std::uint64_t{1} << 32) - 1));
  };
  size_option("-m", options.m, "rows of C");
  size_option("-n", options.n, "columns of C");
  size_option("-k", options.k, "inner dimension");
  size_option("--size", size, "m, n and k at once")->excludes("-m")->excludes("-n")->excludes("-k");
  for (auto [name, value] : {std::pair{"--transa", &options.transa}, std::pair{"--transb", &options.transb}})
    app.add_option(name, *value, "N as it is, T transposed")->check(CLI::IsMember({"N", "T"}));
  app.add_option("--alpha", options.alpha, "C = alpha A B + beta C");
  app.add_option("--beta", options.beta);
}

void add_run(CLI::App& app, Options& options) {
  app.add_option("--repetitions", options.repetitions, "timed runs, the median counts")
      ->check(CLI::Range(1, 1000));
  app.add_option("--warmup", options.warmup, "runs before, not counted")->check(CLI::Range(0, 1000));
  app.add_flag("--check", options.check, "check the result: a random product and 64 exact rows in fp64");
  app.add_flag("--baseline", options.baseline,
               "also time each unit alone, plain BLAS, and plain cuBLAS with copies");
  app.add_option("--units", options.units, "units that may be used, e.g. cpu,cuda0 (sets POAS_UNITS)");
  app.add_option("--json", options.json, "write everything to this file");
  app.add_option("--seed", options.seed, "of the random elements");
}

}  // namespace

std::optional<int> parse(int argc, char** argv, Options& options) {
  CLI::App app("One matrix product on all devices of the node, planned by poas.");
  app.footer(footer);
  std::uint64_t size = 0;
  std::string type = "fp32", precision;
  add_shape(app, options, size);
  add_run(app, options);
  app.add_option("--type", type, "of the elements")->check(CLI::IsMember({"fp32", "fp64", "fp16", "bf16"}));
  app.add_option("--precision", precision, "least class that is good enough, default that of the type")
      ->check(CLI::IsMember({"fp64", "fp32", "tf32", "fp16", "bf16"}));
  bool is_pageable = false, is_pinned = false;
  auto* pageable = app.add_flag("--pageable", is_pageable, "operands in ordinary memory");
  app.add_flag("--pinned", is_pinned, "operands in pinned memory (default)")->excludes(pageable);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (size > 0) options.m = options.n = options.k = size;
  options.type = poas::type_from_string(type);
  if (!precision.empty()) options.precision = poas::precision_from_string(precision);
  if (is_pageable) options.memory = Memory::pageable;
  return std::nullopt;
}
