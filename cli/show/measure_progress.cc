#include "cli/show/measure_progress.h"

namespace tessera::cli {

void MeasureProgress::Show(const std::string& what, double fraction) {
  const auto now = WorkProgress::Clock::now();
  if (progress_.IsBar() || progress_.IsDue(now))
    progress_.Show({.step = "", .fraction = fraction, .facts = {what}, .fields = {}}, now);
}

}  // namespace tessera::cli
