// What is to be computed, as plain data: the input of the four stages.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace poas {

using Seconds = double;
using Flops = double;
using Bytes = double;  // exact up to 2^53
using Watts = double;
using Joules = double;

inline constexpr int max_dims = 8;
using Extents = std::array<std::uint64_t, max_dims>;  // unused dimensions hold 1

enum class UnitKind { cpu, cuda, tensor, opencl };
enum class Type { fp64, fp32, fp16, bf16 };
enum class Precision { fp64, fp32, tf32, fp16, bf16 };
enum class Access { read, write, read_write };
enum class Follow { replicated, split, halo, reduced };

// Round-off of the multiplying type: fp64 2^-53, fp32 2^-24, tf32 and fp16 2^-11, bf16 2^-8.
double round_off(Precision precision);
// The class of an element type when nothing less is allowed.
Precision precision_of(Type type);

const char* to_string(UnitKind kind);
const char* to_string(Type type);
const char* to_string(Precision precision);
// Throw Error(invalid) for an unknown word.
Type type_from_string(const std::string& word);
Precision precision_from_string(const std::string& word);
UnitKind unit_kind_from_string(const std::string& word);

struct Dim {
  std::string name;
  std::uint64_t extent = 1;
  bool cuttable = false;
};

struct Axis {
  Follow follow = Follow::replicated;
  int dim = -1;
  std::uint64_t extent = 1;  // of the whole operand
  std::uint64_t before = 0, after = 0;
};

struct Operand {
  Access access = Access::read;
  std::uint32_t element_bytes = 0;
  std::vector<Axis> axes;  // contiguous axis first
};

struct Refusal {
  std::string unit;
  std::string why;
};

struct Implementation {
  std::string name;
  UnitKind kind = UnitKind::cpu;
  unsigned nimpl = 0;
  Precision precision = Precision::fp32;
  Extents multiple{}, least{};      // per dimension, at least 1
  std::vector<Refusal> refusals;    // units of that kind that cannot run it
};

struct Operation {
  std::string name, variant;
  Type type = Type::fp32;
  Precision precision = Precision::fp32;  // least class that the result must have
  std::vector<Dim> dims;
  std::vector<Operand> operands;
  std::vector<Implementation> implementations;
  double work_per_point = 1;
};

struct Range {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};
// A block of the index space: one range per dimension of the operation; the rest is [0, 1).
using Box = std::array<Range, max_dims>;

Extents extents_of(const Operation& operation);
Extents extents_of(const Box& box);
Box whole_box(const Operation& operation);
// Flop of a block with these extents.
Flops work(const Operation& operation, const Extents& extents);
// The part of an operand that a block touches, one range per axis (halo clipped to the operand).
std::vector<Range> footprint(const Operand& operand, const Box& box);
Bytes bytes(const Operand& operand, const Box& box);
// The lines of a part that is narrower than the operand along the contiguous axis: length and distance of their
// beginnings in bytes; zeros if the part lies together.
struct Lines {
  Bytes length = 0, pitch = 0;
};
Lines lines_of(const Operand& operand, const Box& box);
// All operands of a block, each counted once.
Bytes bytes(const Operation& operation, const Box& box);
// Whether the dimension may be cut: declared cuttable, extent over 1, and no operand reduces over it or
// is written without following it.  If not and why is given, *why receives the reason.
bool can_cut(const Operation& operation, int dim, std::string* why = nullptr);

// Throws Error(invalid) naming the first field that is wrong (zero extents, NaN, axis out of range,
// byte counts over 2^63).
void validate(const Operation& operation);

}  // namespace poas
