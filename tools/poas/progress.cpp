#include "progress.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <iostream>

#include "text.hpp"

namespace poas::tool {

ProgressLine::ProgressLine() {
  const char* kind = std::getenv("TERM");
  terminal_ = isatty(STDERR_FILENO) && kind && std::string(kind) != "dumb";
}

void ProgressLine::show(const CalibrationProgress& progress) {
  const std::string line = "calibrating " + std::to_string(std::lround(100 * progress.done)) + " %, " +
                           std::to_string(std::lround(progress.left)) + " s left: " + progress.what;
  if (terminal_) {
    std::cerr << "\r" << line << "\033[K" << std::flush;  // erases the rest of a longer line before
    open_ = true;
    return;
  }
  const int tenths = static_cast<int>(10 * progress.done);
  if (tenths == tenths_ && progress.what == what_) return;
  tenths_ = tenths;
  what_ = progress.what;
  std::cerr << line << "\n";
}

void ProgressLine::say(const std::string& words) {
  close();
  std::cerr << words << "\n";
}

void ProgressLine::close() {
  if (open_) std::cerr << "\n";
  open_ = false;
}

}  // namespace poas::tool
