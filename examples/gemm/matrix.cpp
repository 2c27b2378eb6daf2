#include "matrix.hpp"

#include <sched.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <new>
#include <thread>

namespace {

constexpr std::size_t alignment = 4096;

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

int significand_bits(poas::Type type) {
  switch (type) {
    case poas::Type::fp64:
      return 53;
    case poas::Type::fp32:
      return 24;
    case poas::Type::fp16:
      return 11;
    case poas::Type::bf16:
      return 8;
  }
  return 8;
}

double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  if (exponent == 31) value = fraction == 0 ? HUGE_VAL : std::nan("");
  return bits & 0x8000 ? -value : value;
}

// Exact for the values that initial() makes: zero or normal, at most 11 bits.
std::uint16_t half_bits(double value) {
  if (value == 0) return 0;
  int exponent;
  const double fraction = std::frexp(std::abs(value), &exponent);
  const auto magnitude =
      static_cast<std::uint16_t>((exponent + 14) << 10 | (static_cast<int>(fraction * 2048) & 1023));
  return magnitude | (value < 0 ? 0x8000 : 0);
}

}  // namespace

std::size_t bytes_of(poas::Type type) {
  return type == poas::Type::fp64 ? 8 : type == poas::Type::fp32 ? 4 : 2;
}

void parallel_ranges(std::uint64_t count, const std::function<void(std::uint64_t, std::uint64_t)>& body) {
  cpu_set_t cores;
  const int allowed = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
  const std::uint64_t threads = std::min<std::uint64_t>(allowed, count);
  std::vector<std::jthread> pool;
  for (std::uint64_t t = 0; t < threads; t++)
    pool.emplace_back([&, t] { body(count * t / threads, count * (t + 1) / threads); });
}

Matrix::Matrix(poas::Type type, std::uint64_t rows, std::uint64_t columns, Memory memory, std::uint64_t seed)
    : type_(type),
      memory_(memory),
      rows_(rows),
      columns_(columns),
      seed_(mix(seed)),
      element_bytes_(bytes_of(type)) {
  if (memory == Memory::pageable) {
    data_ = std::aligned_alloc(alignment, (bytes() + alignment - 1) / alignment * alignment);
  } else if (starpu_malloc(&data_, bytes()) != 0) {
    data_ = nullptr;
  }
  if (!data_) throw std::bad_alloc();
}

Matrix::~Matrix() {
  if (memory_ == Memory::pageable)
    std::free(data_);
  else
    starpu_free_noflag(data_, bytes());
}

double Matrix::initial(std::uint64_t row, std::uint64_t column) const {
  const int bits = significand_bits(type_);
  const std::uint64_t random = mix(seed_ ^ mix(row + column * rows_)) >> (64 - bits);
  return std::ldexp(static_cast<double>(random), 1 - bits) - 1;
}

double Matrix::at(std::uint64_t row, std::uint64_t column) const {
  const std::uint64_t index = row + column * rows_;
  switch (type_) {
    case poas::Type::fp64:
      return static_cast<const double*>(data_)[index];
    case poas::Type::fp32:
      return static_cast<const float*>(data_)[index];
    case poas::Type::fp16:
      return half_value(static_cast<const std::uint16_t*>(data_)[index]);
    case poas::Type::bf16:
      return std::bit_cast<float>(std::uint32_t{static_cast<const std::uint16_t*>(data_)[index]} << 16);
  }
  return 0;
}

void Matrix::fill() {
  parallel_ranges(columns_, [this](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t j = begin; j < end; j++)
      for (std::uint64_t i = 0; i < rows_; i++) {
        const double value = initial(i, j);
        const std::uint64_t index = i + j * rows_;
        switch (type_) {
          case poas::Type::fp64:
            static_cast<double*>(data_)[index] = value;
            break;
          case poas::Type::fp32:
            static_cast<float*>(data_)[index] = static_cast<float>(value);
            break;
          case poas::Type::fp16:
            static_cast<std::uint16_t*>(data_)[index] = half_bits(value);
            break;
          case poas::Type::bf16:
            static_cast<std::uint16_t*>(data_)[index] =
                std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16;
            break;
        }
      }
  });
}
