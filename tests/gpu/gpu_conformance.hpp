// What the parts of gpu_conformance share.
#pragma once

#include <starpu.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "poas/poas.h"

// Prints and counts what is wrong.
void expect(bool condition, const std::string& what);

// A running StarPU under poas; ends the program with 77 where there is no GPU.
class StarPU {
 public:
  StarPU() {
    starpu_conf conf;
    starpu_conf_init(&conf);
    poas_conf_init(&conf);
    if (starpu_init(&conf) != 0 || starpu_cuda_worker_get_count() == 0) {
      std::printf("skipped: StarPU sees no GPU here: no device, no driver, or STARPU_NCUDA=0\n");
      std::exit(77);
    }
    expect(poas_in_use() == 1, "the policy in use is not poas");
  }
  StarPU(const StarPU&) = delete;
  StarPU& operator=(const StarPU&) = delete;
  ~StarPU() { starpu_shutdown(); }
};

// Large products on zeros beside the same on random values.
void zeros();
