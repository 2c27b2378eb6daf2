// What the driver was asked to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "poas/operation.hpp"

enum class Memory { pinned, pageable };

struct Options {
  std::uint64_t m = 2048, n = 2048, k = 2048;
  char transa = 'N', transb = 'N';
  double alpha = 1, beta = 0;
  poas::Type type = poas::Type::fp32;
  std::optional<poas::Precision> precision;
  unsigned repetitions = 5, warmup = 1;
  bool check = false, baseline = false;
  Memory memory = Memory::pinned;
  std::string units, json;
  std::uint64_t seed = 1;
};

// Fills `options`; nullopt to go on, else the exit code (help and errors are printed).
std::optional<int> parse(int argc, char** argv, Options& options);
