// Submission helpers.
#include <cerrno>
#include <cstdlib>

#include "gemm_describe.hpp"
#include "poas/gemm.h"

namespace poas::codelets {
namespace {

using Submit = int (*)(starpu_task*);

// A task of the codelet on these handles, with its own copy of the arguments.
starpu_task* make_task(const poas_gemm_args& args, starpu_data_handle_t a, starpu_data_handle_t b,
                       starpu_data_handle_t c) {
  auto* own = static_cast<poas_gemm_args*>(std::malloc(sizeof args));
  if (!own) return nullptr;
  *own = args;
  starpu_task* task = starpu_task_create();
  task->cl = poas_gemm_codelet();
  task->cl_arg = own;
  task->cl_arg_size = sizeof args;
  task->cl_arg_free = 1;
  task->nbuffers = 3;
  STARPU_TASK_SET_HANDLE(task, a, 0);
  STARPU_TASK_SET_HANDLE(task, b, 1);
  STARPU_TASK_SET_HANDLE(task, c, 2);
  STARPU_TASK_SET_MODE(task, STARPU_R, 0);
  STARPU_TASK_SET_MODE(task, STARPU_R, 1);
  const starpu_data_access_mode mode_of_c = args.beta == 0 ? STARPU_W : STARPU_RW;
  STARPU_TASK_SET_MODE(task, mode_of_c, 2);
  return task;
}

// The task is not submitted.
int drop(starpu_task* task, int result) {
  task->destroy = 0;
  starpu_task_destroy(task);
  return result;
}

int submit_task(starpu_task* task, Submit submit) {
  const int result = submit(task);
  if (result == 0) return 0;
  if (result == -ENODEV)
    poas_report_error(result, "gemm not submitted: no worker can run it with this type and precision; start "
                      "StarPU with CPU workers or allow a lower class");
  return drop(task, result);
}

int gemm(const poas_gemm_args& args, starpu_data_handle_t a, starpu_data_handle_t b, starpu_data_handle_t c,
         Submit submit) {
  starpu_task* task = make_task(args, a, b, c);
  if (!task) return poas_report_error(-ENOMEM, "gemm not submitted: out of memory");
  poas_operation operation{};
  const int described = describe_gemm(task, &operation);
  if (described < 0) return drop(task, poas_report_error(described, "%s", operation.error));
  if (described > 0) return drop(task, 0);
  // Scaling is not split, so the runtime alone is asked.
  return submit_task(task, scales_only(operation) ? starpu_task_submit : submit);
}

}  // namespace
}  // namespace poas::codelets

extern "C" int poas_gemm(char transa, char transb, double alpha, starpu_data_handle_t A,
                         starpu_data_handle_t B, double beta, starpu_data_handle_t C, poas_type type,
                         poas_precision precision) {
  return poas::codelets::gemm({POAS_GEMM_VERSION, type, transa, transb, alpha, beta, precision}, A, B, C,
                              starpu_task_submit);
}

extern "C" int poas_gemm_resident(char transa, char transb, double alpha, starpu_data_handle_t A,
                                  starpu_data_handle_t B, double beta, starpu_data_handle_t C, poas_type type,
                                  poas_precision precision) {
  return poas::codelets::gemm({POAS_GEMM_VERSION, type, transa, transb, alpha, beta, precision}, A, B, C,
                              poas_task_submit);
}
