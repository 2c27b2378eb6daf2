#include "starpu/task_operation.hpp"

#include <algorithm>
#include <cstdio>

namespace poas::edge {
namespace {

constexpr std::uint64_t most_extent = std::uint64_t{1} << 32;  // StarPU keeps extents in 32 bits

template <typename Interface>
const Interface* interface_of(starpu_data_handle_t handle) {
  return static_cast<const Interface*>(starpu_data_get_interface_on_node(handle, STARPU_MAIN_RAM));
}

void set_axis(HostArray& array, std::uint64_t extent, std::uint64_t stride) {
  array.extent[array.naxes] = extent;
  array.stride[array.naxes++] = stride;
}

Access access_of(starpu_data_access_mode mode) {
  const bool reads = mode & STARPU_R, writes = mode & STARPU_W;
  return reads && writes ? Access::read_write : writes ? Access::write : Access::read;
}

int refuse(PlanKey& key, const char* what, unsigned operand) {
  std::snprintf(key.operation.error, sizeof key.operation.error, "operand %u %s", operand, what);
  return -EINVAL;
}

// The descriptor must fit the handles: same number of axes, same extents where a dimension is followed.
int check_operand(const poas_divisible& d, PlanKey& key, unsigned index, const HostArray& array) {
  const poas_operand& operand = key.operation.operand[index];
  if (operand.naxes > array.naxes) return refuse(key, "is described with more axes than its handle has", index);
  for (unsigned a = 0; a < operand.naxes; ++a) {
    const poas_axis& axis = operand.axis[a];
    if (axis.follow == POAS_REPLICATED) continue;
    if (axis.dim >= d.ndims) return refuse(key, "follows a dimension that does not exist", index);
    if (axis.follow == POAS_SPLIT && array.extent[a] != key.operation.extent[axis.dim])
      return refuse(key, "does not have the extent of the dimension that it follows", index);
  }
  return 0;
}

Implementation implementation_of(const poas_implementation& raw, const PlanKey& key, const View& view) {
  Implementation one;
  one.name = raw.name;
  one.kind = static_cast<UnitKind>(raw.unit);
  one.nimpl = raw.nimpl;
  one.precision = raw.precision == POAS_CLASS_DEFAULT ? precision_of(static_cast<Type>(raw.type))
                                                      : static_cast<Precision>(raw.precision - POAS_CLASS_FP64);
  for (int d = 0; d < max_dims; ++d) {
    one.multiple[d] = std::max<std::uint64_t>(1, raw.multiple[d]);
    one.least[d] = std::max<std::uint64_t>(1, raw.least[d]);
  }
  if (!raw.offered) return one;
  for (std::size_t u = 0; u < view.units.size(); ++u) {
    if (view.machine.units[u].kind != one.kind) continue;
    for (int worker = 0; worker < STARPU_NMAXWORKERS; ++worker) {
      if (!view.units[u].workers.test(static_cast<std::size_t>(worker))) continue;
      const char* why = "the device cannot run it";
      if (!raw.offered(&key.operation, worker, &why)) one.refusals.push_back({view.machine.units[u].name, why});
      break;  // all workers of a unit are alike
    }
  }
  return one;
}

bool has_function(const starpu_codelet& codelet, const poas_implementation& raw) {
  switch (raw.unit) {
    case POAS_UNIT_CPU: return codelet.cpu_funcs[raw.nimpl] != nullptr;
    case POAS_UNIT_OPENCL: return codelet.opencl_funcs[raw.nimpl] != nullptr;
    default: return codelet.cuda_funcs[raw.nimpl] != nullptr;
  }
}

}  // namespace

bool host_array(starpu_data_handle_t handle, HostArray& array) {
  array = {};
  array.interface_id = starpu_data_get_interface_id(handle);
  switch (array.interface_id) {
    case STARPU_MATRIX_INTERFACE_ID: {
      const auto* m = interface_of<starpu_matrix_interface>(handle);
      array.pointer = m->ptr;
      array.element_bytes = static_cast<std::uint32_t>(m->elemsize);
      set_axis(array, m->nx, 1);
      set_axis(array, m->ny, m->ld);
      return true;
    }
    case STARPU_VECTOR_INTERFACE_ID: {
      const auto* v = interface_of<starpu_vector_interface>(handle);
      array.pointer = v->ptr;
      array.element_bytes = static_cast<std::uint32_t>(v->elemsize);
      set_axis(array, v->nx, 1);
      return true;
    }
    case STARPU_BLOCK_INTERFACE_ID: {
      const auto* b = interface_of<starpu_block_interface>(handle);
      array.pointer = b->ptr;
      array.element_bytes = static_cast<std::uint32_t>(b->elemsize);
      set_axis(array, b->nx, 1);
      set_axis(array, b->ny, b->ldy);
      set_axis(array, b->nz, b->ldz);
      return true;
    }
    case STARPU_TENSOR_INTERFACE_ID: {
      const auto* t = interface_of<starpu_tensor_interface>(handle);
      array.pointer = t->ptr;
      array.element_bytes = static_cast<std::uint32_t>(t->elemsize);
      set_axis(array, t->nx, 1);
      set_axis(array, t->ny, t->ldy);
      set_axis(array, t->nz, t->ldz);
      set_axis(array, t->nt, t->ldt);
      return true;
    }
    case STARPU_VARIABLE_INTERFACE_ID: {
      const auto* v = interface_of<starpu_variable_interface>(handle);
      array.pointer = v->ptr;
      array.element_bytes = static_cast<std::uint32_t>(v->elemsize);
      set_axis(array, 1, 1);
      return true;
    }
    default: return false;
  }
}

starpu_data_handle_t register_part(const HostArray& array, const std::vector<Range>& part) {
  std::uint64_t offset = 0;
  std::uint32_t n[POAS_MAX_AXES] = {1, 1, 1, 1}, ld[POAS_MAX_AXES] = {1, 1, 1, 1};
  std::uint64_t elements = 1;
  for (unsigned a = 0; a < array.naxes; ++a) {
    offset += part[a].begin * array.stride[a];
    n[a] = static_cast<std::uint32_t>(part[a].size());
    ld[a] = static_cast<std::uint32_t>(array.stride[a]);
    elements *= n[a];
  }
  const std::uintptr_t pointer = array.pointer + offset * array.element_bytes;
  const std::size_t size = array.element_bytes, bytes = elements * size;
  starpu_data_handle_t handle = nullptr;
  switch (array.interface_id) {
    case STARPU_MATRIX_INTERFACE_ID:
      starpu_matrix_data_register_allocsize(&handle, STARPU_MAIN_RAM, pointer, ld[1], n[0], n[1], size, bytes);
      break;
    case STARPU_VECTOR_INTERFACE_ID:
      starpu_vector_data_register_allocsize(&handle, STARPU_MAIN_RAM, pointer, n[0], size, bytes);
      break;
    case STARPU_BLOCK_INTERFACE_ID:
      starpu_block_data_register(&handle, STARPU_MAIN_RAM, pointer, ld[1], ld[2], n[0], n[1], n[2], size);
      break;
    case STARPU_TENSOR_INTERFACE_ID:
      starpu_tensor_data_register(&handle, STARPU_MAIN_RAM, pointer, ld[1], ld[2], ld[3], n[0], n[1], n[2], n[3],
                                  size);
      break;
    default: starpu_variable_data_register(&handle, STARPU_MAIN_RAM, pointer, size); break;
  }
  return handle;
}

int describe(const starpu_task* task, const Registered& codelet, const View& view, PlanKey& key) {
  const poas_divisible& d = *codelet.divisible;
  key.codelet = &codelet;
  key.view = view.id;
  const unsigned nbuffers = STARPU_TASK_GET_NBUFFERS(task);
  if (nbuffers > POAS_MAX_OPERANDS) return refuse(key, "and more: too many operands to cut", POAS_MAX_OPERANDS);
  for (unsigned i = 0; i < nbuffers; ++i)
    if (!STARPU_TASK_GET_HANDLE(task, i)) return refuse(key, "is a null handle", i);
  if (const int answer = d.describe(task, &key.operation)) return answer;
  for (unsigned i = 0; i < d.ndims; ++i)
    if (key.operation.extent[i] >= most_extent) return refuse(key, "or a dimension is too long (2^32 elements)", 0);
  for (unsigned i = 0; i < nbuffers; ++i) {
    HostArray array;
    if (host_array(STARPU_TASK_GET_HANDLE(task, i), array))
      if (const int fault = check_operand(d, key, i, array)) return fault;
    key.modes |= static_cast<unsigned>(access_of(STARPU_TASK_GET_MODE(task, i))) << (2 * i);
  }
  std::fill(std::begin(key.operation.error), std::end(key.operation.error), '\0');
  return 0;
}

Operation make_operation(const starpu_task* task, const PlanKey& key, const View& view) {
  const poas_divisible& d = *key.codelet->divisible;
  Operation operation;
  operation.name = d.name;
  operation.variant = key.operation.variant;
  operation.type = static_cast<Type>(key.operation.type);
  operation.precision = key.operation.precision == POAS_CLASS_DEFAULT
                            ? precision_of(operation.type)
                            : static_cast<Precision>(key.operation.precision - POAS_CLASS_FP64);
  operation.work_per_point = key.operation.work_per_point;
  for (unsigned i = 0; i < d.ndims; ++i)
    operation.dims.push_back({d.dim_name[i], key.operation.extent[i], ((d.cuttable >> i) & 1) != 0});
  for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task); ++i) {
    HostArray array;
    host_array(STARPU_TASK_GET_HANDLE(task, i), array);
    Operand operand;
    operand.access = access_of(STARPU_TASK_GET_MODE(task, i));
    operand.element_bytes = array.element_bytes;
    for (unsigned a = 0; a < array.naxes; ++a) {
      Axis axis;
      axis.extent = array.extent[a];
      const poas_axis& raw = key.operation.operand[i].axis[a];
      if (a < key.operation.operand[i].naxes && raw.follow != POAS_REPLICATED) {
        axis.follow = static_cast<Follow>(raw.follow);
        axis.dim = static_cast<int>(raw.dim);
        axis.before = raw.before;
        axis.after = raw.after;
      }
      operand.axes.push_back(axis);
    }
    operation.operands.push_back(operand);
  }
  for (unsigned i = 0; i < d.nimplementations; ++i) {
    const poas_implementation& raw = d.implementations[i];
    if (raw.type == key.operation.type && has_function(*key.codelet->codelet, raw))
      operation.implementations.push_back(implementation_of(raw, key, view));
  }
  return operation;
}

}  // namespace poas::edge
