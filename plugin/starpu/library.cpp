// What StarPU looks up in the library, and the C entry points that need StarPU.
#include <dlfcn.h>

#include <cstring>
#include <string>

#include "starpu/errors.hpp"
#include "starpu/hooks.hpp"
#include "starpu/installed.hpp"
#include "starpu/planner.hpp"
#include "starpu/policy.hpp"
#include "starpu/record.hpp"
#include "starpu/split.hpp"

namespace poas::edge {
namespace {

// The library that StarPU opened and the one that the application links must be one file: each has its
// own registry of codelets.
void check_one_copy() {
  const std::string mine = file_of(reinterpret_cast<const void*>(&file_of));
  const std::string theirs = file_of(dlsym(RTLD_DEFAULT, "poas_divisible_register"));
  if (!theirs.empty() && theirs != mine)
    log_once("two copies of libpoas: StarPU opened " + mine + ", the application links " + theirs +
             "; nothing will be split, point STARPU_SCHED_LIB at the second one");
}

// The policy struct's layout belongs to one minor version of StarPU.
bool version_fits() {
  int major = 0, minor = 0, release = 0;
  starpu_get_version(&major, &minor, &release);
  if (major == STARPU_MAJOR_VERSION && minor == STARPU_MINOR_VERSION) return true;
  log_once("this libpoas was built for StarPU " + std::to_string(STARPU_MAJOR_VERSION) + "." +
           std::to_string(STARPU_MINOR_VERSION) + " and refuses to run in StarPU " + std::to_string(major) + "." +
           std::to_string(minor) + "; build it against the StarPU that the application uses");
  return false;
}

int submit_front(starpu_task* task) {
  const Registered* codelet = task ? find_registered(task->cl) : nullptr;
  if (!codelet) return starpu_task_submit(task);
  const unsigned current = starpu_sched_ctx_get_context();
  const unsigned sched_ctx = task->sched_ctx < STARPU_NMAX_SCHED_CTXS ? task->sched_ctx
                             : current < STARPU_NMAX_SCHED_CTXS       ? current
                                                                      : 0;
  const Decision decision = decide(task, *codelet, view_of(sched_ctx));
  switch (decision.outcome) {
    case Outcome::refused:
      record_whole(codelet->divisible->name, decision);
      return poas_report_error(decision.error, "%s refused: %s", codelet->divisible->name, decision.reason.c_str());
    case Outcome::nothing: make_noop(task); break;
    case Outcome::split: split(task, *codelet, decision.planned); break;
    default:  // under poas its hook decides and records again
      if (!runs_poas(sched_ctx)) record_whole(codelet->divisible->name, decision);
  }
  return starpu_task_submit(task);
}

}  // namespace
}  // namespace poas::edge

extern "C" {

POAS_EXPORT starpu_sched_policy* starpu_get_sched_lib_policy(const char* name) {
  using namespace poas::edge;
  if (!name || std::strcmp(name, "poas") != 0 || !version_fits()) return nullptr;
  check_one_copy();
  return policy_struct();
}

POAS_EXPORT starpu_sched_policy** starpu_get_sched_lib_policies(void) {
  static starpu_sched_policy* policies[] = {poas::edge::policy_struct(), nullptr};
  return poas::edge::version_fits() ? policies : policies + 1;
}

int poas_conf_init(starpu_conf* conf) {
  if (!conf) return poas_report_error(-EINVAL, "poas_conf_init: the configuration is a null pointer");
  if (!poas::edge::version_fits()) return -EINVAL;
  conf->sched_policy = poas::edge::policy_struct();
  conf->sched_policy_name = nullptr;
  return 0;
}

int poas_in_use(void) {
  if (!starpu_is_initialized()) return 0;
  const starpu_sched_policy* policy = starpu_sched_get_sched_policy();
  return policy && policy->policy_name && std::strcmp(policy->policy_name, "poas") == 0;
}

int poas_task_submit(starpu_task* task) {
  return poas::edge::guard([&] { return poas::edge::submit_front(task); });
}
}
