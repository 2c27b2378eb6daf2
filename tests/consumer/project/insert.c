/* A C program that knows StarPU and one codelet: C = A * B of 96 x 160 x 32 by starpu_task_insert. */
#include <stdio.h>

#include <starpu.h>

#include <poas/gemm.h>

enum { M = 96, N = 160, K = 32 };

static float a[M * K], b[K * N], c[M * N];

/* Whole numbers below 8: each sum is exact in float in any order. */
static void fill(float *x, int n, int step)
{
  for (int i = 0; i < n; i++) x[i] = (float)(i * step % 15 - 7);
}

static int wrong_elements(void)
{
  int wrong = 0;
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      float sum = 0;
      for (int l = 0; l < K; l++) sum += a[i + l * M] * b[l + j * K];
      wrong += sum != c[i + j * M];
    }
  return wrong;
}

int main(void)
{
  starpu_data_handle_t ha, hb, hc;
  struct poas_gemm_args args = {
      .version = POAS_GEMM_VERSION, .type = POAS_FP32, .transa = 'N', .transb = 'N', .alpha = 1, .beta = 0};
  if (starpu_init(NULL) != 0) {
    printf("starpu_init failed\n");
    return 1;
  }
  fill(a, M * K, 7);
  fill(b, K * N, 11);
  starpu_matrix_data_register(&ha, STARPU_MAIN_RAM, (uintptr_t)a, M, M, K, sizeof(float));
  starpu_matrix_data_register(&hb, STARPU_MAIN_RAM, (uintptr_t)b, K, K, N, sizeof(float));
  starpu_matrix_data_register(&hc, STARPU_MAIN_RAM, (uintptr_t)c, M, M, N, sizeof(float));
  int error = starpu_task_insert(poas_gemm_codelet(), STARPU_R, ha, STARPU_R, hb, STARPU_W, hc,
                                 STARPU_CL_ARGS_NFREE, &args, sizeof args, 0);
  starpu_data_unregister(ha);
  starpu_data_unregister(hb);
  starpu_data_unregister(hc);
  int wrong = wrong_elements();
  printf("policy %s, error %d, %d wrong elements\n", starpu_sched_get_sched_policy()->policy_name, error, wrong);
  starpu_shutdown();
  return error || wrong;
}
