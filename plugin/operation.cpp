// Arithmetic on operations, boxes and footprints.
#include "poas/operation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "poas/error.hpp"

namespace poas {
namespace {

constexpr double most_bytes = 0x1p63;

std::uint64_t add_saturating(std::uint64_t a, std::uint64_t b) {
  return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max()
                                                           : a + b;
}

Range axis_range(const Axis& axis, const Box& box) {
  const Range whole{0, axis.extent};
  if (axis.dim < 0 || axis.dim >= max_dims) return whole;
  const Range& range = box[static_cast<std::size_t>(axis.dim)];
  if (axis.follow == Follow::split) return range;
  if (axis.follow != Follow::halo) return whole;
  if (range.size() == 0) return {};
  const std::uint64_t end = std::min(add_saturating(range.end, axis.after), axis.extent);
  const std::uint64_t begin = range.begin > axis.before ? range.begin - axis.before : 0;
  return {std::min(begin, end), end};
}

bool follows(const Axis& axis, int dim, Follow how) { return axis.dim == dim && axis.follow == how; }

long count_following(const Operand& operand, int dim, Follow how) {
  return std::count_if(operand.axes.begin(), operand.axes.end(),
                       [&](const Axis& axis) { return follows(axis, dim, how); });
}

// Why this operand forbids cutting the dimension, empty if it does not.
std::string objection(const Operand& operand, int dim) {
  if (count_following(operand, dim, Follow::reduced) > 0) return "is reduced over it";
  if (operand.access == Access::read) return "";
  const long splits = count_following(operand, dim, Follow::split);
  if (splits == 0) return "is written but does not follow it";
  if (splits > 1) return "is written and follows it along more than one axis";
  return "";
}

std::string cut_refusal(const Operation& operation, int dim) {
  if (dim < 0 || dim >= static_cast<int>(operation.dims.size())) return "there is no such dimension";
  const Dim& cut = operation.dims[static_cast<std::size_t>(dim)];
  if (!cut.cuttable) return "dimension " + cut.name + " is not declared cuttable";
  if (cut.extent <= 1) return "dimension " + cut.name + " has extent " + std::to_string(cut.extent);
  for (std::size_t i = 0; i < operation.operands.size(); ++i) {
    const std::string why = objection(operation.operands[i], dim);
    if (!why.empty()) return "dimension " + cut.name + ": operand " + std::to_string(i) + " " + why;
  }
  return "";
}

[[noreturn]] void refuse(const std::string& field, const std::string& why, const std::string& hint) {
  throw Error(Errc::invalid, "operation: " + field + " " + why + ": " + hint);
}

void validate_dims(const Operation& operation) {
  if (operation.dims.empty() || operation.dims.size() > max_dims)
    refuse("dims", "has " + std::to_string(operation.dims.size()) + " entries",
           "describe 1 to " + std::to_string(max_dims) + " dimensions");
  for (std::size_t d = 0; d < operation.dims.size(); ++d) {
    const Dim& dim = operation.dims[d];
    const std::string field = "dims[" + std::to_string(d) + "].extent (" + dim.name + ")";
    if (dim.extent == 0) refuse(field, "is 0", "there is nothing to compute, do not submit the task");
    if (dim.extent >= 1ull << 32)
      refuse(field, "is " + std::to_string(dim.extent), "extents must be below 2^32");
  }
}

void validate_axis(const Operation& operation, const Operand& operand, const Axis& axis,
                   const std::string& field) {
  if (axis.extent == 0) refuse(field + ".extent", "is 0", "an operand must hold at least one element");
  if (axis.follow == Follow::replicated) return;
  if (axis.dim < 0 || axis.dim >= static_cast<int>(operation.dims.size()))
    refuse(field + ".dim", "is " + std::to_string(axis.dim), "name one of the operation's dimensions");
  const Dim& dim = operation.dims[static_cast<std::size_t>(axis.dim)];
  if (axis.follow == Follow::split && axis.extent != dim.extent)
    refuse(field + ".extent", "is " + std::to_string(axis.extent) + " but follows " + dim.name + " of " +
           std::to_string(dim.extent), "a split axis must be as long as its dimension");
  if (axis.follow != Follow::halo) return;
  if (operand.access != Access::read)
    refuse(field + ".follow", "is halo on a written operand", "halos are for inputs only");
  if (add_saturating(axis.extent, axis.before) < dim.extent)
    refuse(field + ".extent", "is " + std::to_string(axis.extent), "the last blocks of " + dim.name +
           " would need no element of it, make before larger or the axis longer");
}

void validate_operand(const Operation& operation, std::size_t index) {
  const Operand& operand = operation.operands[index];
  const std::string field = "operands[" + std::to_string(index) + "]";
  if (operand.element_bytes == 0) refuse(field + ".element_bytes", "is 0", "give the size of an element");
  double size = operand.element_bytes;
  for (std::size_t a = 0; a < operand.axes.size(); ++a) {
    validate_axis(operation, operand, operand.axes[a], field + ".axes[" + std::to_string(a) + "]");
    size *= static_cast<double>(operand.axes[a].extent);
  }
  if (size > most_bytes) refuse(field, "has more than 2^63 bytes", "cut the task before submitting it");
}

void validate_implementation(const Operation& operation, std::size_t index) {
  const Implementation& one = operation.implementations[index];
  const std::string field = "implementations[" + std::to_string(index) + "] (" + one.name + ")";
  for (std::size_t d = 0; d < operation.dims.size(); ++d)
    if (one.multiple[d] == 0 || one.least[d] == 0)
      refuse(field, "has multiple or least 0 in dimension " + operation.dims[d].name, "use at least 1");
}

}  // namespace

double round_off(Precision precision) {
  switch (precision) {
    case Precision::fp64: return 0x1p-53;
    case Precision::fp32: return 0x1p-24;
    case Precision::tf32: return 0x1p-11;
    case Precision::fp16: return 0x1p-11;
    case Precision::bf16: return 0x1p-8;
  }
  throw Error(Errc::invalid, "unknown precision class: use an enumerator of poas::Precision");
}

Precision precision_of(Type type) {
  switch (type) {
    case Type::fp64: return Precision::fp64;
    case Type::fp32: return Precision::fp32;
    case Type::fp16: return Precision::fp16;
    case Type::bf16: return Precision::bf16;
  }
  throw Error(Errc::invalid, "unknown element type: use an enumerator of poas::Type");
}

Extents extents_of(const Operation& operation) {
  Extents extents;
  extents.fill(1);
  const std::size_t count = std::min<std::size_t>(operation.dims.size(), max_dims);
  for (std::size_t d = 0; d < count; ++d) extents[d] = operation.dims[d].extent;
  return extents;
}

Extents extents_of(const Box& box) {
  Extents extents;
  std::transform(box.begin(), box.end(), extents.begin(), [](const Range& range) { return range.size(); });
  return extents;
}

Box whole_box(const Operation& operation) {
  const Extents extents = extents_of(operation);
  Box box;
  std::transform(extents.begin(), extents.end(), box.begin(),
                 [](std::uint64_t extent) { return Range{0, extent}; });
  return box;
}

Flops work(const Operation& operation, const Extents& extents) {
  Flops flops = operation.work_per_point;
  for (const std::uint64_t extent : extents) flops *= static_cast<double>(extent);
  return flops;
}

std::vector<Range> footprint(const Operand& operand, const Box& box) {
  std::vector<Range> ranges;
  ranges.reserve(operand.axes.size());
  for (const Axis& axis : operand.axes) ranges.push_back(axis_range(axis, box));
  return ranges;
}

Bytes bytes(const Operand& operand, const Box& box) {
  Bytes size = operand.element_bytes;
  for (const Axis& axis : operand.axes) size *= static_cast<double>(axis_range(axis, box).size());
  return size;
}

Lines lines_of(const Operand& operand, const Box& box) {
  if (operand.axes.empty()) return {};
  const Axis& line = operand.axes.front();
  const Bytes length = static_cast<Bytes>(axis_range(line, box).size()) * operand.element_bytes;
  const Bytes pitch = static_cast<Bytes>(line.extent) * operand.element_bytes;
  return length == pitch || bytes(operand, box) == length ? Lines{} : Lines{length, pitch};
}

Bytes bytes(const Operation& operation, const Box& box) {
  Bytes size = 0;
  for (const Operand& operand : operation.operands) size += bytes(operand, box);
  return size;
}

bool can_cut(const Operation& operation, int dim, std::string* why) {
  const std::string refusal = cut_refusal(operation, dim);
  if (why != nullptr && !refusal.empty()) *why = refusal;
  return refusal.empty();
}

void validate(const Operation& operation) {
  validate_dims(operation);
  for (std::size_t i = 0; i < operation.operands.size(); ++i) validate_operand(operation, i);
  for (std::size_t i = 0; i < operation.implementations.size(); ++i) validate_implementation(operation, i);
  if (!std::isfinite(operation.work_per_point) || operation.work_per_point < 0)
    refuse("work_per_point", "is not a finite number >= 0", "give the flop of one index point");
  if (!std::isfinite(work(operation, extents_of(operation))))
    refuse("work_per_point", "makes the whole work overflow", "give the flop of one index point");
}

}  // namespace poas
