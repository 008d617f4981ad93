#ifndef TESSERA_CLI_SHOW_ROW_PROGRESS_H_
#define TESSERA_CLI_SHOW_ROW_PROGRESS_H_
// How far work on rows has come, step by step (cli/show/work_progress.h).
//
//   reading  [############------------]  50 %  1,234,567 rows/s  0:12 left
#include <cstdint>
#include <optional>
#include <string>

#include "cli/show/work_progress.h"

namespace tessera::cli {

// `seconds` since the step began; without a fraction, nobody knows how much is left.
WorkState RowsState(const std::string& step, std::optional<double> fraction, int64_t rows,
                    double seconds);

class RowProgress {
 public:
  void Show(const std::string& step, std::optional<double> fraction, int64_t rows);

 private:
  using Clock = WorkProgress::Clock;
  WorkProgress progress_;
  std::string step_;
  Clock::time_point begin_;  // of the step
};

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_ROW_PROGRESS_H_
