#ifndef TESSERA_CLI_SHOW_ROW_PROGRESS_H_
#define TESSERA_CLI_SHOW_ROW_PROGRESS_H_
// How far work on rows has come, step by step: a bar on stderr, redrawn, where that is a terminal;
// else nothing.
//
//   reading  [############------------]  50 %  1,234,567 rows/s  0:12 left
#include <chrono>
#include <cstdint>
#include <string>

namespace tessera::cli {

// The line; `seconds` since the step began.
std::string RowsLine(const std::string& step, double fraction, int64_t rows, double seconds);

class RowProgress {
 public:
  RowProgress();
  // Takes the bar off the terminal.
  ~RowProgress();
  RowProgress(const RowProgress&) = delete;
  RowProgress& operator=(const RowProgress&) = delete;

  void Show(const std::string& step, double fraction, int64_t rows);

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_;
  std::string step_;
  Clock::time_point begin_, next_draw_;
};

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_ROW_PROGRESS_H_
