// The exception of the C++ interface.
#pragma once

#include <stdexcept>
#include <string>

namespace poas {

enum class Errc { invalid, io, parse, version, no_unit, numerical };

// Message form: problem, why, what to do.
class Error : public std::runtime_error {
 public:
  Error(Errc code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Errc code() const { return code_; }

 private:
  Errc code_;
};

}  // namespace poas
