// What `poas doctor` looks at.
#pragma once

#include <string>
#include <vector>

namespace poas::tool {

enum class Health { ok, warn, fail };

struct Finding {
  Health health;
  std::string what;  // one word or two
  std::string found;
  std::string advice;  // what to do, "" if all is well
};
using Findings = std::vector<Finding>;

// The library file and the version of StarPU.
void check_library(Findings& findings);
// Starts StarPU as an application would with STARPU_SCHED=poas, looks at policy and workers, stops it.
void check_policy(Findings& findings);
// Directory and file of the models of this host.
void check_models(Findings& findings);
// Bus measurements of StarPU, limits of the system, BLAS, variables that stand in the way.
void check_surroundings(Findings& findings);

}  // namespace poas::tool
