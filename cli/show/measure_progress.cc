#include "cli/show/measure_progress.h"

#include <unistd.h>

#include <cstdio>

#include "cli/show/numbers.h"
#include "runtime/base/check.h"

namespace tessera::cli {

MeasureProgress::MeasureProgress() : terminal_(isatty(STDERR_FILENO) != 0) {}

MeasureProgress::~MeasureProgress() {
  if (terminal_) std::fputs("\r\x1b[K", stderr);
}

void MeasureProgress::Show(const std::string& what, double fraction) {
  if (!terminal_) return;
  std::fprintf(stderr, "\r%s\x1b[K",
               Format("{} {:3.0f} %  {}", Bar(fraction), 100 * fraction, what).c_str());
  std::fflush(stderr);
}

}  // namespace tessera::cli
