// The C boundary: nothing leaves it but a negative errno, and the words are kept.
#pragma once

#include <cerrno>
#include <exception>
#include <new>

#include "poas/error.hpp"
#include "poas/poas.h"

namespace poas::edge {

// Writes one line to stderr, each text only once in a process.
void log_once(const std::string& text);

inline int errno_of(Errc code) {
  switch (code) {
    case Errc::invalid: return -EINVAL;
    case Errc::no_unit: return -ENODEV;
    default: return -EIO;
  }
}

// Runs `body`, which returns an int or nothing; an exception becomes a negative errno.
template <typename Body>
int guard(Body&& body) noexcept {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return 0;
    } else {
      return body();
    }
  } catch (const Error& error) {
    return poas_report_error(errno_of(error.code()), "%s", error.what());
  } catch (const std::bad_alloc&) {
    return poas_report_error(-ENOMEM, "out of memory in libpoas");
  } catch (const std::exception& error) {
    return poas_report_error(-EIO, "%s", error.what());
  }
}

}  // namespace poas::edge
