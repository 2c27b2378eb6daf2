// Whether two column-major matrices in one memory share a byte.
#pragma once

#include <cstdint>

namespace poas::codelets {

// `columns` runs of `bytes` bytes, the first at `begin`, `pitch` bytes apart; bytes <= pitch.
struct Strided {
  std::uint64_t begin = 0, bytes = 0, pitch = 0, columns = 0;
};

// Exact.  Constant time if the pitches are equal or one matrix has no gaps, else proportional to
// the columns of the one that has fewer.
bool overlap(Strided a, Strided b);

}  // namespace poas::codelets
