/* Plain StarPU in C: one whole GEMM by starpu_task_insert.  The scheduling policy decides what becomes
 * of it: STARPU_SCHED=poas with STARPU_SCHED_LIB=.../libpoas.so cuts it, any other runs it whole. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <starpu.h>

#include "poas/gemm.h"

#define N 512

/* Small whole numbers: every sum is exact in float, so the result must agree to the last bit. */
static float a_value(int i, int l) { return (float)((i * 3 + l * 5) % 7 - 3); }
static float b_value(int l, int j) { return (float)((l * 2 + j * 11) % 5 - 2); }

static int wrong_elements(const float *c)
{
  int wrong = 0;
  for (int j = 0; j < N; j += 7)
    for (int i = 0; i < N; i++) {
      float sum = 1; /* beta times the old C */
      for (int l = 0; l < N; l++) sum += 2 * a_value(i, l) * b_value(l, j);
      wrong += c[i + (size_t)j * N] != sum;
    }
  return wrong;
}

static int gemm(float *a, float *b, float *c)
{
  starpu_data_handle_t handle[3];
  float *matrix[3] = {a, b, c};
  struct poas_gemm_args args = {.version = POAS_GEMM_VERSION, .type = POAS_FP32, .transa = 'N', .transb = 'N',
                                .alpha = 2, .beta = 1, .precision = POAS_CLASS_DEFAULT};
  for (int i = 0; i < 3; i++)
    starpu_matrix_data_register(&handle[i], STARPU_MAIN_RAM, (uintptr_t)matrix[i], N, N, N, sizeof(float));
  int error = starpu_task_insert(poas_gemm_codelet(), STARPU_R, handle[0], STARPU_R, handle[1], STARPU_RW, handle[2],
                                 STARPU_CL_ARGS_NFREE, &args, sizeof args, 0);
  for (int i = 0; i < 3; i++) starpu_data_unregister(handle[i]);
  return error;
}

int main(void)
{
  float *matrix[3];
  int error;
  if (starpu_init(NULL) != 0) {
    fprintf(stderr, "insert: StarPU found no worker: check STARPU_NCPU\n");
    return 77;
  }
  for (int i = 0; i < 3; i++) {
    matrix[i] = malloc(sizeof(float) * N * N);
    if (!matrix[i]) {
      fprintf(stderr, "insert: no memory for three matrices of 1 MiB: free some\n");
      return 1;
    }
  }
  for (int j = 0; j < N; j++)
    for (int i = 0; i < N; i++) {
      matrix[0][i + j * N] = a_value(i, j);
      matrix[1][i + j * N] = b_value(i, j);
      matrix[2][i + j * N] = 1;
    }
  error = gemm(matrix[0], matrix[1], matrix[2]);
  if (error) fprintf(stderr, "insert: the task was not accepted (%d): no worker can run a GEMM\n", error);
  int wrong = error ? 1 : wrong_elements(matrix[2]);
  printf("policy %s: %s\n", starpu_sched_get_sched_policy()->policy_name, wrong ? "WRONG" : "right");
  for (int i = 0; i < 3; i++) free(matrix[i]);
  starpu_shutdown();
  return wrong != 0;
}
