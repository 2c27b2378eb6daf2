// From a StarPU task to an Operation.
#pragma once

#include <string>
#include <vector>

#include "poas/operation.hpp"
#include "starpu/planner.hpp"

namespace poas::edge {

// A dense operand in host memory: up to four axes, element strides, contiguous axis first.
struct HostArray {
  int interface_id = -1;
  std::uintptr_t pointer = 0;      // 0: no buffer in host memory
  std::uint32_t element_bytes = 0;
  unsigned naxes = 0;
  std::uint64_t extent[POAS_MAX_AXES]{};
  std::uint64_t stride[POAS_MAX_AXES]{};  // in elements; stride[0] is 1
};

// False if the interface of the handle is none that poas can cut.
bool host_array(starpu_data_handle_t handle, HostArray& array);
// A new handle on a part of the array (home in host memory).
starpu_data_handle_t register_part(const HostArray& array, const std::vector<Range>& part);

// Describes the task and makes the key of its plan.  Returns what describe() returned; refusals of
// the shapes are -EINVAL with words in key.operation.error.
int describe(const starpu_task* task, const Registered& codelet, const View& view, PlanKey& key);
// The Operation of a described task.
Operation make_operation(const starpu_task* task, const PlanKey& key, const View& view);

}  // namespace poas::edge
