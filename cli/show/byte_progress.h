#ifndef TESSERA_CLI_SHOW_BYTE_PROGRESS_H_
#define TESSERA_CLI_SHOW_BYTE_PROGRESS_H_
// How much of something has been written: a bar on stderr, redrawn, where that is a terminal; else
// nothing.
//
//   [############------------]  50 %  1.2 GiB of 2.4 GiB  0:12 left
#include <chrono>
#include <cstdint>
#include <string>

namespace tessera::cli {

// The line; `seconds` since the beginning.
std::string BytesLine(int64_t done, int64_t total, double seconds);

class ByteProgress {
 public:
  ByteProgress();
  // Takes the bar off the terminal.
  ~ByteProgress();
  ByteProgress(const ByteProgress&) = delete;
  ByteProgress& operator=(const ByteProgress&) = delete;

  void Show(int64_t done, int64_t total);
  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_;
  Clock::time_point begin_, next_draw_;
};

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_BYTE_PROGRESS_H_
