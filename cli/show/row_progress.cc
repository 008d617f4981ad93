#include "cli/show/row_progress.h"

#include <chrono>

#include "cli/show/numbers.h"
#include "runtime/base/check.h"

namespace tessera::cli {

WorkState RowsState(const std::string& step, std::optional<double> fraction, int64_t rows,
                    double seconds) {
  WorkState state = {.step = step, .fraction = fraction, .facts = {}, .fields = {{"stage", step}}};
  if (seconds > 0) {
    const double rate = static_cast<double>(rows) / seconds;
    state.facts.push_back(Format("{} rows/s", WithCommas(rate)));
    state.fields.emplace_back("rows_per_second", rate);
  }
  AddTimeLeft(SecondsLeft(fraction, seconds), state);
  return state;
}

void RowProgress::Show(const std::string& step, std::optional<double> fraction, int64_t rows) {
  const auto now = Clock::now();
  if (step != step_) {
    step_ = step;
    begin_ = now;
  }
  if (!progress_.IsDue(now)) return;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  progress_.Show(RowsState(step, fraction, rows, seconds), now);
}

}  // namespace tessera::cli
