// C++ wrapper of poas_divisible: fill it in a few lines, register it once.
#pragma once

#include <cerrno>
#include <initializer_list>
#include <string>
#include <vector>

#include "poas/error.hpp"
#include "poas/poas.h"

namespace poas {

// Owns a descriptor; give it static storage duration.
class Divisible {
 public:
  Divisible(const char* name, std::initializer_list<const char*> dims, unsigned cuttable) {
    raw_.size = sizeof raw_;
    raw_.version = POAS_DIVISIBLE_VERSION;
    raw_.name = name;
    for (const char* dim : dims)
      if (raw_.ndims < POAS_MAX_DIMS) raw_.dim_name[raw_.ndims++] = dim;
    raw_.cuttable = cuttable;
  }
  Divisible(const Divisible&) = delete;
  Divisible& operator=(const Divisible&) = delete;

  Divisible& describe(int (*function)(const starpu_task*, poas_operation*)) {
    raw_.describe = function;
    return *this;
  }
  Divisible& samples(starpu_task* (*make)(const std::uint64_t*, poas_type), void (*free)(starpu_task*)) {
    raw_.make_sample = make;
    raw_.free_sample = free;
    return *this;
  }
  Divisible& measuring(int (*measure)(void**, const poas_block*, poas_measurement*), void (*end)(void*)) {
    raw_.measure_block = measure;
    raw_.end_measuring = end;
    return *this;
  }
  Divisible& implementation(const poas_implementation& one) {
    implementations_.push_back(one);
    return *this;
  }
  // Throws Error(invalid) with the reason.
  void attach(starpu_codelet* codelet) {
    raw_.implementations = implementations_.data();
    raw_.nimplementations = static_cast<unsigned>(implementations_.size());
    if (poas_divisible_register(codelet, &raw_) != 0) throw Error(Errc::invalid, poas_last_error());
  }

 private:
  poas_divisible raw_{};
  std::vector<poas_implementation> implementations_;
};

}  // namespace poas
