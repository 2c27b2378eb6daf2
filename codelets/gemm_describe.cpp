#include "gemm_describe.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "overlap.hpp"

namespace poas::codelets {
namespace {

constexpr char letter[] = {'A', 'B', 'C'};
constexpr char scale_variant[] = "scale";
constexpr const char* type_name[] = {"fp64", "fp32", "fp16", "bf16"};

__attribute__((format(printf, 2, 3))) int refuse(poas_operation* operation, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(operation->error, sizeof operation->error, format, arguments);
  va_end(arguments);
  return -EINVAL;
}

// A matrix handle's sizes, and where its home copy is.
struct Matrix {
  std::uint64_t rows = 0, columns = 0, ld = 0;
  std::size_t element = 0;
  std::uintptr_t address = 0;  // 0 if StarPU allocates it
  int home = -1;
};

Matrix matrix_of(starpu_data_handle_t handle) {
  const int home = starpu_data_get_home_node(handle);
  const auto* on_home = static_cast<const starpu_matrix_interface*>(
      starpu_data_get_interface_on_node(handle, home < 0 ? STARPU_MAIN_RAM : home));
  Matrix matrix{on_home->nx, on_home->ny, on_home->ld, on_home->elemsize, 0, home};
  if (home >= 0) matrix.address = on_home->ptr ? on_home->ptr : on_home->dev_handle + on_home->offset;
  return matrix;
}

int check_arguments(const starpu_task* task, poas_operation* operation) {
  const auto* args = static_cast<const poas_gemm_args*>(task->cl_arg);
  if (!args)
    return refuse(operation, "gemm: cl_arg is null: pass a struct poas_gemm_args with STARPU_CL_ARGS");
  if (task->cl_arg_size != sizeof *args)
    return refuse(operation,
                  "gemm: cl_arg has %zu bytes, not %zu: pass a struct poas_gemm_args with STARPU_CL_ARGS, "
                  "not STARPU_VALUE", task->cl_arg_size, sizeof *args);
  if (const char* fault = fault_of(*args)) return refuse(operation, "%s", fault);
  return 0;
}

int check_handles(const starpu_task* task, poas_operation* operation) {
  const unsigned count = STARPU_TASK_GET_NBUFFERS(task);
  if (count != 3)
    return refuse(operation, "gemm: the task has %u handles, not A, B and C: pass three", count);
  for (unsigned i = 0; i < 3; ++i) {
    const starpu_data_handle_t handle = STARPU_TASK_GET_HANDLE(task, i);
    if (!handle) return refuse(operation, "gemm: the handle of %c is null: register the matrix", letter[i]);
    if (starpu_data_get_interface_id(handle) != STARPU_MATRIX_INTERFACE_ID)
      return refuse(operation, "gemm: %c is not a matrix handle: register it with poas_matrix_register()",
                    letter[i]);
  }
  return 0;
}

int check_modes(const starpu_task* task, const poas_gemm_args& args, poas_operation* operation) {
  for (unsigned i = 0; i < 2; ++i)
    if ((STARPU_TASK_GET_MODE(task, i) & STARPU_RW) != STARPU_R)
      return refuse(operation, "gemm: the access mode of %c is not STARPU_R: pass STARPU_R", letter[i]);
  if (STARPU_TASK_GET_MODE(task, 2) & STARPU_REDUX)  // adds to a partial sum of the worker
    return args.beta == 1 ? 0
                          : refuse(operation, "gemm: C has STARPU_REDUX access, but beta is not 1: only sums can be "
                                              "reduced");
  const unsigned mode = STARPU_TASK_GET_MODE(task, 2) & STARPU_RW;
  if (!(mode & STARPU_W))
    return refuse(operation, "gemm: the access mode of C does not write: pass STARPU_RW");
  if (mode == STARPU_W && args.beta != 0)
    return refuse(operation, "gemm: the access mode of C is STARPU_W, but beta is not 0 and needs the old "
                  "values: pass STARPU_RW");
  return 0;
}

int check_elements(const Matrix (&matrix)[3], poas_type type, poas_operation* operation) {
  for (unsigned i = 0; i < 3; ++i) {
    if (matrix[i].element != bytes_of(type))
      return refuse(operation, "gemm: elements of %c have %zu bytes, but those of %s have %zu: set the type "
                    "of the arguments", letter[i], matrix[i].element, type_name[type], bytes_of(type));
    if (matrix[i].home >= 0 && matrix[i].ld < matrix[i].rows)
      return refuse(operation, "gemm: the leading dimension %llu of %c is less than its %llu rows",
                    static_cast<unsigned long long>(matrix[i].ld), letter[i],
                    static_cast<unsigned long long>(matrix[i].rows));
  }
  return 0;
}

int check_shapes(const Matrix (&matrix)[3], const poas_gemm_args& args, GemmShape& shape,
                 poas_operation* operation) {
  const bool ta = is_transposed(args.transa), tb = is_transposed(args.transb);
  shape.m = ta ? matrix[0].columns : matrix[0].rows;
  shape.k = ta ? matrix[0].rows : matrix[0].columns;
  const std::uint64_t inner = tb ? matrix[1].columns : matrix[1].rows;
  shape.n = tb ? matrix[1].rows : matrix[1].columns;
  if (inner != shape.k)
    return refuse(operation, "gemm: op(A) has %llu columns but op(B) has %llu rows: make them equal",
                  static_cast<unsigned long long>(shape.k), static_cast<unsigned long long>(inner));
  if (matrix[2].rows != shape.m || matrix[2].columns != shape.n)
    return refuse(operation, "gemm: C is %llu x %llu, but op(A) op(B) is %llu x %llu: make them equal",
                  static_cast<unsigned long long>(matrix[2].rows),
                  static_cast<unsigned long long>(matrix[2].columns),
                  static_cast<unsigned long long>(shape.m), static_cast<unsigned long long>(shape.n));
  return 0;
}

Strided strided_of(const Matrix& matrix) {
  return {matrix.address, matrix.rows * matrix.element, matrix.ld * matrix.element, matrix.columns};
}

int check_overlap(const starpu_task* task, const Matrix (&matrix)[3], poas_operation* operation) {
  for (unsigned i = 0; i < 2; ++i) {
    const bool same = STARPU_TASK_GET_HANDLE(task, i) == STARPU_TASK_GET_HANDLE(task, 2);
    const bool comparable = matrix[i].address && matrix[2].address && matrix[i].home == matrix[2].home;
    if (same || (comparable && overlap(strided_of(matrix[i]), strided_of(matrix[2]))))
      return refuse(operation, "gemm: C shares elements with %c, so blocks would read results: use another "
                    "matrix for C", letter[i]);
  }
  return 0;
}

void set_axis(poas_operand& operand, unsigned axis, poas_follow follow, unsigned dim) {
  operand.naxes = 2;
  operand.axis[axis] = {follow, dim, 0, 0};
}

}  // namespace

bool is_transposed(char value) { return value == 'T' || value == 't'; }

std::size_t bytes_of(poas_type type) {
  switch (type) {
    case POAS_FP64: return 8;
    case POAS_FP32: return 4;
    case POAS_FP16:
    case POAS_BF16: return 2;
  }
  return 0;
}

poas_precision class_of(poas_type type) {
  switch (type) {
    case POAS_FP64: return POAS_CLASS_FP64;
    case POAS_FP32: return POAS_CLASS_FP32;
    case POAS_FP16: return POAS_CLASS_FP16;
    case POAS_BF16: return POAS_CLASS_BF16;
  }
  return POAS_CLASS_DEFAULT;
}

poas_precision class_of(const poas_gemm_args& args) {
  return args.precision == POAS_CLASS_DEFAULT ? class_of(args.type) : args.precision;
}

const char* fault_of(const poas_gemm_args& args) {
  if (args.version != POAS_GEMM_VERSION)
    return "gemm: unknown version of struct poas_gemm_args: set version to POAS_GEMM_VERSION";
  if (bytes_of(args.type) == 0) return "gemm: unknown element type: use a value of enum poas_type";
  for (char value : {args.transa, args.transb})
    if (!is_transposed(value) && value != 'N' && value != 'n')
      return "gemm: transa or transb is neither 'N' nor 'T': conjugates and other letters are not known";
  const bool tf32 = args.type == POAS_FP32 && args.precision == POAS_CLASS_TF32;
  if (class_of(args) != class_of(args.type) && !tf32)
    return "gemm: this element type cannot have that precision class: use POAS_CLASS_DEFAULT (fp32 may "
           "have POAS_CLASS_TF32)";
  return nullptr;
}

void fill_gemm(const poas_gemm_args& args, const GemmShape& shape, poas_operation& operation) {
  const bool ta = is_transposed(args.transa), tb = is_transposed(args.transb);
  enum : unsigned { m, n, k };
  // Without inner elements only C is scaled: one task does that, so nothing may be cut.
  const bool scale = shape.k == 0;
  const poas_follow split = scale ? POAS_REPLICATED : POAS_SPLIT;
  operation.extent[m] = shape.m;
  operation.extent[n] = shape.n;
  operation.extent[k] = scale ? 1 : shape.k;
  set_axis(operation.operand[0], ta ? 1 : 0, split, m);
  set_axis(operation.operand[0], ta ? 0 : 1, split, k);
  set_axis(operation.operand[1], tb ? 1 : 0, split, k);
  set_axis(operation.operand[1], tb ? 0 : 1, split, n);
  set_axis(operation.operand[2], 0, split, m);
  set_axis(operation.operand[2], 1, split, n);
  operation.work_per_point = 2;
  operation.type = args.type;
  operation.precision = args.precision;
  const char letters[] = {ta ? 'T' : 'N', tb ? 'T' : 'N', '\0'};
  std::strcpy(operation.variant, scale ? scale_variant : letters);
}

bool scales_only(const poas_operation& operation) {
  return std::strcmp(operation.variant, scale_variant) == 0;
}

int describe_gemm(const starpu_task* task, poas_operation* operation) noexcept {
  if (!task->cl) return refuse(operation, "gemm: the task has no codelet: set it to poas_gemm_codelet()");
  if (int fault = check_arguments(task, operation)) return fault;
  if (int fault = check_handles(task, operation)) return fault;
  const auto& args = *static_cast<const poas_gemm_args*>(task->cl_arg);
  if (int fault = check_modes(task, args, operation)) return fault;
  Matrix matrix[3];
  for (unsigned i = 0; i < 3; ++i) matrix[i] = matrix_of(STARPU_TASK_GET_HANDLE(task, i));
  GemmShape shape;
  if (int fault = check_elements(matrix, args.type, operation)) return fault;
  if (int fault = check_shapes(matrix, args, shape, operation)) return fault;
  if (shape.m == 0 || shape.n == 0) return 1;
  if (int fault = check_overlap(task, matrix, operation)) return fault;
  if ((shape.k == 0 || args.alpha == 0) && args.beta == 1) return 1;
  fill_gemm(args, shape, *operation);
  return 0;
}

}  // namespace poas::codelets
