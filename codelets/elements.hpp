// Elements of matrices: load() gives the value to compute with, store() rounds to nearest even.
// fp16 and bf16 are storage only.
#pragma once

#include <bit>
#include <cstdint>

namespace poas::codelets {

struct Fp16 {
  std::uint16_t bits = 0;
};
struct Bf16 {
  std::uint16_t bits = 0;
};

inline double load(double value) { return value; }
inline void store(double value, double& result) { result = value; }
inline float load(float value) { return value; }
inline void store(float value, float& result) { result = value; }

inline float load(Bf16 value) { return std::bit_cast<float>(std::uint32_t{value.bits} << 16); }

inline float load(Fp16 value) {
  const std::uint32_t sign = std::uint32_t{value.bits & 0x8000u} << 16;
  const std::uint32_t rest = value.bits & 0x7fffu;
  // Exponent and mantissa in place, then 2^112 corrects the bias and normalises subnormals.
  const float scaled = std::bit_cast<float>(rest << 13) * 0x1p112f;
  const std::uint32_t special = std::bit_cast<std::uint32_t>(scaled) | 0x7f800000u;
  const std::uint32_t magnitude = rest >= 0x7c00u ? special : std::bit_cast<std::uint32_t>(scaled);
  return std::bit_cast<float>(sign | magnitude);
}

inline void store(float value, Bf16& result) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  result.bits = static_cast<std::uint16_t>(nan ? (bits >> 16) | 0x40u : rounded);
}

inline void store(float value, Fp16& result) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t half;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u;  // NaN
  } else if (magnitude >= 0x477ff000u) {
    half = 0x7c00u;  // 65520 and more round to infinity
  } else if (magnitude < 0x38800000u) {
    // Below 2^-14: adding 0.5 makes one unit of fp32 the spacing of subnormals, 2^-24.
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  } else {
    const std::uint32_t rebiased = magnitude - (112u << 23);
    half = (rebiased + 0xfffu + ((rebiased >> 13) & 1u)) >> 13;
  }
  result.bits = static_cast<std::uint16_t>(half | ((bits >> 16) & 0x8000u));
}

}  // namespace poas::codelets
