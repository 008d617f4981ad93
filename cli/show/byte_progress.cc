#include "cli/show/byte_progress.h"

#include <unistd.h>

#include <cstdio>

#include "cli/show/numbers.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);

}  // namespace

std::string BytesLine(int64_t done, int64_t total, double seconds) {
  const double fraction = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1.0;
  std::string line =
      Format("{} {:3.0f} %  {} of {}", Bar(fraction), 100 * fraction, Bytes(done), Bytes(total));
  if (done > 0 && done < total)
    line += Format("  {} left", Duration(seconds * (1 - fraction) / fraction));
  return line;
}

ByteProgress::ByteProgress()
    : terminal_(isatty(STDERR_FILENO) != 0), begin_(Clock::now()), next_draw_(begin_ + kRedraw) {}

ByteProgress::~ByteProgress() {
  if (terminal_) std::fputs("\r\x1b[K", stderr);
}

double ByteProgress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void ByteProgress::Show(int64_t done, int64_t total) {
  if (!terminal_ || Clock::now() < next_draw_) return;
  std::fprintf(stderr, "\r%s\x1b[K", BytesLine(done, total, seconds()).c_str());
  std::fflush(stderr);
  next_draw_ = Clock::now() + kRedraw;
}

}  // namespace tessera::cli
