// The first start in a fresh folder: StarPU measures the bus, OpenCL compiles the kernels.
#include "support.hpp"

namespace poas_test {
namespace {

TEST(Bus, FirstStart) {
  Runtime runtime;
  ASSERT_EQ(runtime.status(), 0);
  EXPECT_EQ(starpu_cpu_worker_get_count(), 1u);
  ASSERT_GE(starpu_opencl_worker_get_count(), 1u) << "no OpenCL device: install PoCL (pocl-opencl-icd)";
  Product<float> product({64, 64, 64});
  ASSERT_EQ(product.submit(), 0) << poas_last_error();
  product.unregister();
  EXPECT_TRUE(product.right());
}

}  // namespace
}  // namespace poas_test
