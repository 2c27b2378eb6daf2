#include "overlap.hpp"

#include <algorithm>
#include <utility>

namespace poas::codelets {
namespace {

std::uint64_t end_of(const Strided& a) { return a.begin + (a.columns - 1) * a.pitch + a.bytes; }

// A matrix without gaps is a single run.
Strided merged(const Strided& a) {
  if (a.columns > 1 && a.bytes < a.pitch) return a;
  const std::uint64_t bytes = (a.columns - 1) * a.pitch + a.bytes;
  return {a.begin, bytes, bytes, 1};
}

// Whether [begin, end) meets a run of `a`: only the last run that starts before `end` can.
bool meets(const Strided& a, std::uint64_t begin, std::uint64_t end) {
  if (end <= a.begin) return false;
  const std::uint64_t column = std::min((end - 1 - a.begin) / a.pitch, a.columns - 1);
  return a.begin + column * a.pitch + a.bytes > begin;
}

// Equal pitches: relative to the runs of `a`, every run of `b` begins at the same offset.
bool overlap_equal_pitch(Strided a, Strided b) {
  if (b.begin < a.begin) std::swap(a, b);
  const std::uint64_t distance = b.begin - a.begin;
  const std::uint64_t column = distance / a.pitch, offset = distance % a.pitch;
  // Run j of b lies in pitch column + j of a, and reaches into the next if it is long.
  if (offset < a.bytes && column < a.columns) return true;
  return offset + b.bytes > a.pitch && column + 1 < a.columns;
}

}  // namespace

bool overlap(Strided a, Strided b) {
  if (a.bytes == 0 || b.bytes == 0 || a.columns == 0 || b.columns == 0) return false;
  a = merged(a);
  b = merged(b);
  if (end_of(a) <= b.begin || end_of(b) <= a.begin) return false;
  if (a.columns > 1 && b.columns > 1 && a.pitch == b.pitch) return overlap_equal_pitch(a, b);
  if (a.columns > b.columns) std::swap(a, b);
  for (std::uint64_t j = 0; j < a.columns; ++j) {
    const std::uint64_t begin = a.begin + j * a.pitch;
    if (begin >= end_of(b)) break;
    if (meets(b, begin, begin + a.bytes)) return true;
  }
  return false;
}

}  // namespace poas::codelets
