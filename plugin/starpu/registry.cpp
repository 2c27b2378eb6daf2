#include "starpu/registry.hpp"

#include <atomic>
#include <mutex>

#include "starpu/blocks.hpp"
#include "starpu/errors.hpp"
#include "starpu/perfmodel.hpp"

namespace poas::edge {
namespace {

constexpr unsigned most_codelets = 256;
std::atomic<Registered*> entries[most_codelets];
std::atomic<unsigned> count{0};
std::mutex registering;

const char* fault_of(const starpu_codelet* codelet, const poas_divisible* d) {
  if (!codelet || !d) return "the codelet or the descriptor is a null pointer";
  if (d->size != sizeof(poas_divisible) || d->version != POAS_DIVISIBLE_VERSION)
    return "size or version of the descriptor is not this library's: zero-initialise it, set both, and "
           "build against the installed poas.h";
  if (!d->name || !*d->name) return "the descriptor has no name";
  if (!d->describe) return "the descriptor has no describe function";
  if (d->ndims == 0 || d->ndims > POAS_MAX_DIMS) return "ndims must be 1 to POAS_MAX_DIMS";
  for (unsigned i = 0; i < d->ndims; ++i)
    if (!d->dim_name[i]) return "a dimension has no name";
  if (d->cuttable >> d->ndims) return "cuttable names a dimension that does not exist";
  if (d->nimplementations == 0 || !d->implementations) return "the descriptor has no implementation";
  for (unsigned i = 0; i < d->nimplementations; ++i) {
    const poas_implementation& one = d->implementations[i];
    if (!one.name || one.nimpl >= STARPU_MAXIMPLEMENTATIONS)
      return "an implementation has no name, or its nimpl is not below STARPU_MAXIMPLEMENTATIONS";
  }
  if (!d->measure_block != !d->end_measuring)
    return "one of measure_block and end_measuring is missing: set both or none";
  if (codelet->specific_nodes) return "the codelet uses specific_nodes";
  return nullptr;
}

// What users compute themselves is kept.  Other models learn from what ran: a history would get an entry for every
// size of block, and know none beforehand.
bool is_cost_function(const starpu_perfmodel* model) {
  return model && (model->type == STARPU_PER_WORKER || model->type == STARPU_PER_ARCH);
}

starpu_codelet block_codelet(const starpu_codelet& original, starpu_perfmodel& learned) {
  starpu_codelet block = original;
  block.nbuffers = STARPU_VARIABLE_NBUFFERS;
  block.dyn_modes = nullptr;
  block.can_execute = block_can_execute;
  block.callback_func = nullptr;
  block.model = is_cost_function(original.model) ? original.model : &learned;
  block.energy_model = nullptr;
  block.checked = 0;
  return block;
}

}  // namespace

const Registered* find_registered(const starpu_codelet* codelet) {
  const unsigned n = count.load(std::memory_order_acquire);
  for (unsigned i = 0; i < n; ++i) {
    const Registered* entry = entries[i].load(std::memory_order_relaxed);
    if (entry->codelet == codelet || &entry->block == codelet) return entry;
  }
  return nullptr;
}

}  // namespace poas::edge

extern "C" int poas_divisible_register(starpu_codelet* codelet, const poas_divisible* divisible) {
  using namespace poas::edge;
  return guard([&] {
    if (const char* fault = fault_of(codelet, divisible))
      return poas_report_error(-EINVAL, "codelet not registered as divisible: %s", fault);
    std::lock_guard lock(registering);
    if (const Registered* known = find_registered(codelet))
      return known->divisible == divisible
                 ? 0
                 : poas_report_error(-EEXIST, "codelet not registered: it has another descriptor, '%s'",
                                     known->divisible->name);
    const unsigned n = count.load();
    if (n == most_codelets)
      return poas_report_error(-ENOSPC, "codelet not registered: %u codelets are registered already", n);
    auto* entry = new Registered{codelet, divisible, {}, learned_perfmodel(divisible->name)};
    if (!codelet->model) codelet->model = &entry->learned;
    entry->block = block_codelet(*codelet, entry->learned);
    entries[n].store(entry, std::memory_order_relaxed);
    count.store(n + 1, std::memory_order_release);
    return 0;
  });
}
