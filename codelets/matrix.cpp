// Registration of matrices of any size.
#include <cerrno>

#include "poas/gemm.h"

extern "C" int poas_matrix_register(starpu_data_handle_t* handle, int home_node, uintptr_t ptr, uint64_t ld,
                                    uint64_t rows, uint64_t cols, size_t elemsize) {
  if (!handle || elemsize == 0)
    return poas_report_error(-EINVAL, "matrix not registered: %s",
                             handle ? "elements have no bytes, set elemsize"
                                    : "no place for the handle, pass a pointer to one");
  if (home_node >= 0 && ptr == 0 && rows != 0 && cols != 0)
    return poas_report_error(-EINVAL, "matrix not registered: home node %d without an address; pass ptr, or "
                             "home node -1 to let StarPU allocate it", home_node);
  if (ld < rows)
    return poas_report_error(-EINVAL, "matrix not registered: the leading dimension %llu is less than the "
                             "%llu rows, so columns would overlap; pass at least the rows",
                             static_cast<unsigned long long>(ld), static_cast<unsigned long long>(rows));
  if (ld > UINT32_MAX || cols > UINT32_MAX)
    return poas_report_error(-EOVERFLOW, "matrix not registered: %llu x %llu with leading dimension %llu, but "
                             "StarPU counts up to 2^32 - 1 in each direction; use smaller matrices",
                             static_cast<unsigned long long>(rows), static_cast<unsigned long long>(cols),
                             static_cast<unsigned long long>(ld));
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(ld * cols, elemsize, &bytes))
    return poas_report_error(-EOVERFLOW, "matrix not registered: %llu x %llu elements of %zu bytes are more "
                             "than 64 bits count; use smaller matrices",
                             static_cast<unsigned long long>(ld), static_cast<unsigned long long>(cols),
                             elemsize);
  starpu_matrix_data_register_allocsize(handle, home_node, ptr, static_cast<uint32_t>(ld),
                                        static_cast<uint32_t>(rows), static_cast<uint32_t>(cols), elemsize,
                                        rows * cols * elemsize);
  return 0;
}
