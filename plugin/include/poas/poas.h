/* The C interface of libpoas: divisible codelets, the splitting front end and errors.
 *
 * Every function may be called from any thread after starpu_init() unless it says otherwise.
 * Errors are negative errno values; the words are in poas_last_error(). */
#ifndef POAS_POAS_H
#define POAS_POAS_H

#include <stddef.h>
#include <stdint.h>

#include <starpu.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define POAS_EXPORT __attribute__((visibility("default")))
#else
#define POAS_EXPORT
#endif

#define POAS_MAX_DIMS 8
#define POAS_MAX_AXES 4
#define POAS_MAX_OPERANDS 8
#define POAS_DIVISIBLE_VERSION 1

/* How a unit computes.  The CUDA cores and the Tensor cores of one GPU are two units. */
enum poas_unit_kind { POAS_UNIT_CPU, POAS_UNIT_CUDA, POAS_UNIT_TENSOR, POAS_UNIT_OPENCL };

/* Element types of operands. */
enum poas_type { POAS_FP64, POAS_FP32, POAS_FP16, POAS_BF16 };

/* Precision classes, named after the type whose round-off enters each product. */
enum poas_precision {
  POAS_CLASS_DEFAULT, /* that of the element type; POAS_PRECISION may allow less */
  POAS_CLASS_FP64,
  POAS_CLASS_FP32,
  POAS_CLASS_TF32,
  POAS_CLASS_FP16,
  POAS_CLASS_BF16
};

/* How one axis of an operand follows the dimensions of the operation. */
enum poas_follow {
  POAS_REPLICATED, /* every block needs the whole axis */
  POAS_SPLIT,      /* a range of the dimension needs the same range of the axis */
  POAS_HALO,       /* as split, and `before` and `after` elements more (inputs only) */
  POAS_REDUCED     /* every block adds to the whole axis: that dimension is not cut */
};

struct poas_axis {
  enum poas_follow follow;
  unsigned dim;    /* the dimension followed; ignored when replicated */
  uint64_t before; /* halo elements below and above the range, clipped to the operand */
  uint64_t after;
};

/* Axes in the order of StarPU's interfaces: axis 0 is contiguous (nx). */
struct poas_operand {
  unsigned naxes;
  struct poas_axis axis[POAS_MAX_AXES];
};

/* One task seen as a set of index points: extent[0] x extent[1] x ... points, each costing
 * work_per_point flop.  Filled by poas_divisible::describe. */
struct poas_operation {
  uint64_t extent[POAS_MAX_DIMS];
  struct poas_operand operand[POAS_MAX_OPERANDS]; /* one per handle of the task, same order */
  double work_per_point;
  enum poas_type type;
  enum poas_precision precision; /* least class that the result must have */
  char variant[16];              /* tells apart calls whose speed differs, e.g. "NT" */
  char error[160];               /* words for a refusal */
};

/* One way of computing a block. */
struct poas_implementation {
  const char *name;               /* e.g. "cublas-tf32" */
  enum poas_unit_kind unit;       /* which kind of unit runs it */
  enum poas_type type;            /* element type it serves */
  enum poas_precision precision;  /* class that it delivers */
  unsigned nimpl;                 /* index into cpu_funcs, cuda_funcs or opencl_funcs */
  uint32_t multiple[POAS_MAX_DIMS]; /* preferred multiples of a block's extents; 0 is 1 */
  uint32_t least[POAS_MAX_DIMS];    /* least extents of a block; 0 is 1 */
  /* Whether worker `workerid` can run it.  Returns 1, or 0 and points *why at static words.
   * NULL: every worker of that kind can. */
  int (*offered)(const struct poas_operation *operation, int workerid, const char **why);
};

/* A block that is measured by itself, and what came out. */
struct poas_block {
  uint64_t extent[POAS_MAX_DIMS];
  unsigned implementation; /* index into poas_divisible::implementations; the type is that one's */
  int zeros;               /* 0: operands with random contents; 1: all zero, for comparison only */
};
struct poas_measurement {
  double seconds;     /* of one launch, operands in the device's memory: median of several batches */
  double spread;      /* slowest batch over the fastest, less 1 */
  unsigned launches;  /* that were timed */
  double work;        /* flop of the block */
  double bytes;       /* of all operands of the block, each counted once */
  unsigned parallel;  /* tiles that the device computes at once (multiprocessors of a GPU); 0: not known */
  unsigned megahertz; /* clock of the multiprocessors just after; 0: not known */
  unsigned watts;     /* power of the device just after; 0: not known */
};

/* What poas must know to cut the tasks of a codelet.  Zero-initialise it, then set size and version. */
struct poas_divisible {
  size_t size;      /* sizeof(struct poas_divisible) */
  unsigned version; /* POAS_DIVISIBLE_VERSION */
  const char *name; /* names the operation in models, plans and records */
  unsigned ndims;
  const char *dim_name[POAS_MAX_DIMS];
  unsigned cuttable; /* bit d set: dimension d may be cut */
  unsigned nimplementations;
  const struct poas_implementation *implementations;
  /* Describes a task from its handles and cl_arg.  Returns 0; -EINVAL with words in
   * operation->error for wrong input (nothing is run); or a positive value for a valid task
   * that has nothing to compute.  Must not change the task.  Any thread. */
  int (*describe)(const struct starpu_task *task, struct poas_operation *operation);
  /* For calibration, may be NULL: makes a task of this codelet with the extents and the type, on
   * new handles with random contents, not submitted, detach = 0 and destroy = 0; NULL if the type
   * is not served.  free_sample unregisters the handles and frees everything. */
  struct starpu_task *(*make_sample)(const uint64_t extent[POAS_MAX_DIMS], enum poas_type type);
  void (*free_sample)(struct starpu_task *task);
  /* For calibration, may be NULL: measures a block on the device of the calling worker, much
   * faster than by tasks of its own.  Called inside a task on that worker's thread, nothing else runs.
   * *state is NULL at first; what it is set to (buffers, handles) comes with the later calls, all on
   * the same thread, and goes to end_measuring there, unless it is NULL.  Both or none.
   * Returns 0; -ENOTSUP: not on this kind of worker, poas measures tasks made by make_sample instead;
   * -ENOMEM: the block is too large for the memory that may be used, another one may fit; or another
   * negative errno with words in poas_last_error(), which ends the measuring. */
  int (*measure_block)(void **state, const struct poas_block *block,
                       struct poas_measurement *measurement);
  void (*end_measuring)(void *state);
};

/* Declares the tasks of a codelet divisible.  Both must live until the process ends; the codelet
 * must not change afterwards.  Registering the same pair again is harmless.  A codelet without a
 * performance model gets poas's, so that every policy of StarPU sees the learned times.
 * -EINVAL: a field is wrong; -EEXIST: the codelet has another descriptor. */
POAS_EXPORT int poas_divisible_register(struct starpu_codelet *codelet,
                                        const struct poas_divisible *divisible);

/* Selects the policy poas in a configuration, as STARPU_SCHED=poas does.  Before starpu_init(). */
POAS_EXPORT int poas_conf_init(struct starpu_conf *conf);

/* Like starpu_task_submit(), but splits a divisible task under every policy.
 * -EINVAL: the task's operands or arguments are wrong (nothing is submitted); else what
 * starpu_task_submit() returns. */
POAS_EXPORT int poas_task_submit(struct starpu_task *task);

/* Outcome of a divisible task: 0 done or still running, else a negative errno: -EINVAL refused,
 * -EIO a block failed on every unit.  Valid until the task is destroyed; thread safe. */
POAS_EXPORT int poas_task_status(const struct starpu_task *task);

/* For implementations: the block running on this worker could not be computed and its output is
 * untouched.  poas computes it on another unit.  `why` is copied. */
POAS_EXPORT void poas_block_failed(int error, const char *why);

/* Words of the last error of this process, "" if none; valid until the next call on this thread. */
POAS_EXPORT const char *poas_last_error(void);

/* Records an error as poas_last_error() and logs it once per text; returns `error`. */
POAS_EXPORT int poas_report_error(int error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Version of this library, "MAJOR.MINOR.PATCH". */
POAS_EXPORT const char *poas_version(void);

/* 1 if the initial scheduling context of the running StarPU uses poas. */
POAS_EXPORT int poas_in_use(void);

#ifdef __cplusplus
}
#endif
#endif
