// The first start in a fresh folder: StarPU measures the bus, OpenCL compiles the kernels.
#include "support.hpp"

namespace poas_test {
namespace {

template <typename T>
void multiply(const Shape& shape) {
  Product<T> product(shape);
  ASSERT_EQ(product.submit(), 0) << poas_last_error();
  product.unregister();
  EXPECT_TRUE(product.right());
}

TEST(Bus, FirstStart) {
  Runtime runtime;
  ASSERT_EQ(runtime.status(), 0);
  EXPECT_EQ(starpu_cpu_worker_get_count(), 1u);
  ASSERT_GE(starpu_opencl_worker_get_count(), 1u) << "no OpenCL device: install PoCL (pocl-opencl-icd)";
  for (const char transa : {'N', 'T'})
    for (const char transb : {'N', 'T'}) {
      multiply<float>({600, 500, 400, transa, transb, 1, 1});
      multiply<double>({600, 500, 400, transa, transb, 1, 1});
      multiply<float>({60, 50, 40, transa, transb, 1, 1});
      multiply<double>({60, 50, 40, transa, transb, 1, 1});
    }
}

}  // namespace
}  // namespace poas_test
