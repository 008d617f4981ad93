#include "cli/show/row_progress.h"

#include <unistd.h>

#include <cstdio>

#include "cli/show/numbers.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);

}  // namespace

std::string RowsLine(const std::string& step, double fraction, int64_t rows, double seconds) {
  std::string line = Format("{}  {} {:3.0f} %", step, Bar(fraction), 100 * fraction);
  if (seconds > 0) line += Format("  {} rows/s", WithCommas(static_cast<double>(rows) / seconds));
  if (fraction > 0 && fraction < 1)
    line += Format("  {} left", Duration(seconds * (1 - fraction) / fraction));
  return line;
}

RowProgress::RowProgress() : terminal_(isatty(STDERR_FILENO) != 0) {}

RowProgress::~RowProgress() {
  if (terminal_) std::fputs("\r\x1b[K", stderr);
}

void RowProgress::Show(const std::string& step, double fraction, int64_t rows) {
  const auto now = Clock::now();
  if (step != step_) {
    step_ = step;
    begin_ = now;
    next_draw_ = now + kRedraw;
  }
  if (!terminal_ || now < next_draw_) return;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  std::fprintf(stderr, "\r%s\x1b[K", RowsLine(step, fraction, rows, seconds).c_str());
  std::fflush(stderr);
  next_draw_ = now + kRedraw;
}

}  // namespace tessera::cli
