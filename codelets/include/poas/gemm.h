/* Matrix multiplication C = alpha op(A) op(B) + beta C as a StarPU codelet that poas can cut.
 *
 * Matrices are column-major StarPU matrix handles: nx is the number of rows (contiguous), ny the
 * number of columns, ld the distance between columns in elements.  All three have one type.
 *
 *   struct poas_gemm_args args = {POAS_GEMM_VERSION, POAS_FP32, 'N', 'T', 1.0, 0.0,
 *                                 POAS_CLASS_DEFAULT};
 *   starpu_task_insert(poas_gemm_codelet(), STARPU_R, A, STARPU_R, B, STARPU_W, C,
 *                      STARPU_CL_ARGS_NFREE, &args, sizeof args, 0);
 *
 * or, shorter, poas_gemm('N', 'T', 1.0, A, B, 0.0, C, POAS_FP32, POAS_CLASS_DEFAULT).
 *
 * As in BLAS, beta = 0 overwrites C (a NaN in it does not survive) and alpha = 0 does not read A
 * and B.  fp16 and bf16 products are added in fp32 and rounded once at the end.
 *
 * CPU implementations run OpenBLAS with one thread per StarPU worker: the number of threads of
 * OpenBLAS is set to 1 while kernels run and then set back to what the application had chosen.
 * BLAS calls that the application makes itself at that time use one thread too. */
#ifndef POAS_GEMM_H
#define POAS_GEMM_H

#include "poas/poas.h"

#ifdef __cplusplus
extern "C" {
#endif

#define POAS_GEMM_VERSION 1

/* The cl_arg of a GEMM task, with cl_arg_size = sizeof(struct poas_gemm_args). */
struct poas_gemm_args {
  unsigned version; /* POAS_GEMM_VERSION */
  enum poas_type type;
  char transa, transb; /* 'N' or 'T', lower case too */
  double alpha, beta;  /* rounded to fp32 unless type is POAS_FP64 */
  /* Least class of the products.  POAS_CLASS_DEFAULT is that of the type (POAS_PRECISION may
   * allow less); fp32 matrices may also ask for POAS_CLASS_FP32 or allow POAS_CLASS_TF32. */
  enum poas_precision precision;
};

/* The codelet, declared divisible at the first call.  Its tasks have three handles, A and B with
 * STARPU_R and C with STARPU_RW, or STARPU_W if beta is 0.  The number of buffers is variable, so
 * a task made by starpu_task_create() sets nbuffers = 3 and modes[0..2] itself.
 * Never NULL; thread safe; may be called before starpu_init(). */
POAS_EXPORT struct starpu_codelet *poas_gemm_codelet(void);

/* What poas knows about it: dimensions m, n, k, of which m and n may be cut. */
POAS_EXPORT const struct poas_divisible *poas_gemm_divisible(void);

/* Submits one multiplication with starpu_task_submit() and returns at once.  Nothing to compute
 * (m or n is 0, or k or alpha is 0 while beta is 1) is success.
 * -EINVAL: wrong input, nothing is submitted; -ENODEV: no worker can run it; -ENOMEM.
 * Any thread that may submit tasks. */
POAS_EXPORT int poas_gemm(char transa, char transb, double alpha, starpu_data_handle_t A,
                          starpu_data_handle_t B, double beta, starpu_data_handle_t C,
                          enum poas_type type, enum poas_precision precision);

/* As poas_gemm(), through poas_task_submit(): split under every policy, and blocks of the matrices
 * may stay on the devices until the next task needs them. */
POAS_EXPORT int poas_gemm_resident(char transa, char transb, double alpha, starpu_data_handle_t A,
                                   starpu_data_handle_t B, double beta, starpu_data_handle_t C,
                                   enum poas_type type, enum poas_precision precision);

/* Registers a column-major matrix of any size: as starpu_matrix_data_register(), which multiplies
 * the sizes in 32 bits, but right for matrices of 2^32 elements and more.
 * home_node and ptr as there (-1 and 0: StarPU allocates); ld, rows, cols in elements.
 * -EINVAL: a null pointer, ld < rows, elemsize 0; -EOVERFLOW: a dimension or ld of 2^32 or more,
 * or more bytes than 64 bits count.  Nothing is registered then. */
POAS_EXPORT int poas_matrix_register(starpu_data_handle_t *handle, int home_node, uintptr_t ptr,
                                     uint64_t ld, uint64_t rows, uint64_t cols, size_t elemsize);

#ifdef __cplusplus
}
#endif
#endif
