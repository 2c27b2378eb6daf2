#include "gemm_node.hpp"

#include <stdexcept>

namespace gemm_node {
namespace {

constexpr std::uint64_t element_bytes = sizeof(float);

truth::Node& current() {
  static truth::Node node;
  return node;
}

Shape shape_of(const starpu_task* task) {
  return {starpu_matrix_get_nx(STARPU_TASK_GET_HANDLE(task, 0)),
          starpu_matrix_get_ny(STARPU_TASK_GET_HANDLE(task, 1)),
          starpu_matrix_get_ny(STARPU_TASK_GET_HANDLE(task, 0))};
}

double cost_us(starpu_task* task, unsigned worker, unsigned) {
  return truth::seconds(current(), processor_of(static_cast<int>(worker)), shape_of(task)) * 1e6;
}

// StarPU wants a function, but never calls it in simulation.
void nothing(void**, void*) {}

starpu_perfmodel make_model() {
  starpu_perfmodel model{};
  model.type = STARPU_PER_WORKER;
  model.worker_cost_function = cost_us;
  model.symbol = "node_gemm";
  return model;
}

starpu_codelet make_codelet() {
  static starpu_perfmodel model = make_model();
  starpu_codelet cl{};
  cl.name = "node_gemm";
  cl.where = STARPU_CPU | STARPU_CUDA;
  cl.cpu_funcs[0] = nothing;
  cl.cuda_funcs[0] = nothing;
  cl.cuda_flags[0] = STARPU_CUDA_ASYNC;
  cl.nbuffers = 3;
  cl.modes[0] = STARPU_R;
  cl.modes[1] = STARPU_R;
  cl.modes[2] = STARPU_W;
  cl.model = &model;
  return cl;
}

}  // namespace

std::vector<Range> cut(Range range, std::uint64_t parts, std::uint64_t align) {
  std::vector<Range> pieces;
  std::uint64_t begin = range.begin;
  for (std::uint64_t part = 1; part <= parts; ++part) {
    const std::uint64_t wanted = range.size() * part / parts;
    const std::uint64_t aligned = (wanted + align / 2) / align * align;
    const std::uint64_t end = part == parts ? range.end : std::min(range.begin + aligned, range.end);
    if (end > begin) pieces.push_back({begin, end});
    begin = std::max(begin, end);
  }
  return pieces;
}

void use_node(const truth::Node& node) { current() = node; }
const truth::Node& node() { return current(); }

void slow_down(const std::string& unit, double factor) {
  bool found = false;
  for (unsigned u = 0; u < 1 + current().devices.size(); ++u) {
    if (unit_name(u) != unit) continue;
    truth::Processor& processor = u == 0 ? current().cpu : current().devices[u - 1];
    processor.flops_per_s /= factor;
    processor.launch_seconds *= factor;
    found = true;
  }
  if (!found) throw std::invalid_argument("the node has no unit '" + unit + "' to slow down");
}

starpu_codelet* codelet() {
  static starpu_codelet cl = make_codelet();
  return &cl;
}

const truth::Processor& processor_of(int worker) {
  if (starpu_worker_get_type(worker) == STARPU_CPU_WORKER) return current().cpu;
  return current().devices.at(static_cast<std::size_t>(starpu_worker_get_devid(worker)));
}

std::vector<int> workers_of(unsigned unit) {
  std::vector<int> ids(starpu_worker_get_count());
  const auto kind = unit == 0 ? STARPU_CPU_WORKER : STARPU_CUDA_WORKER;
  ids.resize(starpu_worker_get_ids_by_type(kind, ids.data(), static_cast<unsigned>(ids.size())));
  if (unit > 0)
    std::erase_if(ids, [&](int id) { return starpu_worker_get_devid(id) != static_cast<int>(unit) - 1; });
  return ids;
}

std::string unit_name(unsigned unit) {
  return unit == 0 ? current().cpu.name : current().devices.at(unit - 1).name;
}

Matrices::Matrices(const Shape& shape)
    : shape_(shape), rows_{shape.m, shape.k, shape.m}, columns_{shape.k, shape.n, shape.n} {
  for (std::size_t i = 0; i < 3; ++i)
    if (starpu_malloc_flags(&memory_[i], rows_[i] * columns_[i] * element_bytes,
                            STARPU_MALLOC_SIMULATION_FOLDED) != 0)
      throw std::runtime_error("no address space for a matrix");
}

Matrices::~Matrices() {
  for (const auto& [key, handle] : parts_) starpu_data_unregister(handle);
  for (std::size_t i = 0; i < 3; ++i)
    starpu_free_flags(memory_[i], rows_[i] * columns_[i] * element_bytes, STARPU_MALLOC_SIMULATION_FOLDED);
}

starpu_data_handle_t Matrices::part(int matrix, Range rows, Range columns) {
  starpu_data_handle_t& handle = parts_[{matrix, rows, columns}];
  if (!handle) {
    const auto i = static_cast<std::size_t>(matrix);
    const auto address = reinterpret_cast<std::uintptr_t>(memory_[i]) +
                         (columns.begin * rows_[i] + rows.begin) * element_bytes;
    starpu_matrix_data_register(&handle, STARPU_MAIN_RAM, address, static_cast<std::uint32_t>(rows_[i]),
                                static_cast<std::uint32_t>(rows.size()),
                                static_cast<std::uint32_t>(columns.size()), element_bytes);
  }
  return handle;
}

starpu_task* Matrices::task(Range rows, Range columns, int worker) {
  const Range all_k{0, shape_.k};
  starpu_task* task = starpu_task_create();
  task->cl = codelet();
  task->handles[0] = part(0, rows, all_k);
  task->handles[1] = part(1, all_k, columns);
  task->handles[2] = part(2, rows, columns);
  if (worker >= 0) {
    task->execute_on_a_specific_worker = 1;
    task->workerid = static_cast<unsigned>(worker);
  }
  return task;
}

void Matrices::bring_home() {
  for (const auto& [key, handle] : parts_) {
    if (key.matrix != 2) continue;
    starpu_data_acquire(handle, STARPU_R);
    starpu_data_release(handle);
  }
}

void submit(starpu_task* task) {
  const starpu_data_handle_t result = task->handles[2];
  if (const int code = starpu_task_submit(task); code != 0)
    throw std::runtime_error("StarPU refused a task, code " + std::to_string(code));
  starpu_data_wont_use(result);
}

}  // namespace gemm_node
