// The OpenCL implementation: StarPU compiles the source for every device and hands out the kernel.
#include "black_scholes.hpp"

namespace {

const char* source = R"(
float below(float x) { return 0.5f * erfc(-x * M_SQRT1_2_F); }

kernel void black_scholes(global const float *price, uint price_at, global const float *strike, uint strike_at,
                          global const float *years, uint years_at, global float *call, uint call_at,
                          global float *put, uint put_at, uint n, float riskless, float volatility) {
  uint i = get_global_id(0);
  if (i >= n) return;
  float s = price[price_at + i], t = years[years_at + i];
  float x = strike[strike_at + i] * exp(-riskless * t);
  float spread = volatility * sqrt(t);
  float d1 = log(s / x) / spread + 0.5f * spread, d2 = d1 - spread;
  call[call_at + i] = s * below(d1) - x * below(d2);
  put[put_at + i] = x * below(-d2) - s * below(-d1);
}
)";

starpu_opencl_program program;

template <typename Value>
cl_int set_argument(cl_kernel kernel, cl_uint& index, const Value& value) {
  return clSetKernelArg(kernel, index++, sizeof value, &value);
}

void black_scholes_opencl(void* buffers[], void* argument) noexcept {
  const auto* market = static_cast<const Market*>(argument);
  const auto n = static_cast<cl_uint>(STARPU_VECTOR_GET_NX(buffers[0]));
  cl_kernel kernel;
  cl_command_queue queue;
  cl_int error = starpu_opencl_load_kernel(&kernel, &queue, &program, "black_scholes",
                                           starpu_worker_get_devid(starpu_worker_get_id_check()));
  if (error != CL_SUCCESS) return poas_block_failed(error, "the OpenCL kernel could not be loaded");
  cl_uint index = 0;
  for (int i = 0; i < 5; i++) {
    // A handle that is a part of another one starts behind the beginning of the OpenCL buffer.
    const auto first = static_cast<cl_uint>(STARPU_VECTOR_GET_OFFSET(buffers[i]) / sizeof(float));
    error |= set_argument(kernel, index, reinterpret_cast<cl_mem>(STARPU_VECTOR_GET_DEV_HANDLE(buffers[i])));
    error |= set_argument(kernel, index, first);
  }
  error |= set_argument(kernel, index, n);
  error |= set_argument(kernel, index, market->riskless);
  error |= set_argument(kernel, index, market->volatility);
  const std::size_t threads = n;
  if (error == CL_SUCCESS)
    error = clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &threads, nullptr, 0, nullptr, nullptr);
  if (error == CL_SUCCESS) error = clFinish(queue);
  starpu_opencl_release_kernel(kernel);
  if (error != CL_SUCCESS) poas_block_failed(error, "the OpenCL kernel could not be run");
}

}  // namespace

void add_opencl(starpu_codelet& codelet, poas::Divisible& divisible) {
  if (starpu_opencl_worker_get_count() == 0) return;
  if (starpu_opencl_load_opencl_from_string(source, &program, nullptr) != CL_SUCCESS) return;
  codelet.opencl_funcs[0] = black_scholes_opencl;
  poas_implementation opencl{};
  opencl.name = "opencl";
  opencl.unit = POAS_UNIT_OPENCL;
  opencl.type = POAS_FP32;
  opencl.precision = POAS_CLASS_FP32;
  opencl.multiple[0] = 256;
  divisible.implementation(opencl);
}

void remove_opencl() {
  if (starpu_opencl_worker_get_count() > 0) starpu_opencl_unload_opencl(&program);
}
