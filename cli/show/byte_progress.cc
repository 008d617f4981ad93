#include "cli/show/byte_progress.h"

#include "cli/show/numbers.h"
#include "runtime/base/check.h"

namespace tessera::cli {

WorkState BytesState(int64_t done, int64_t total, double seconds) {
  const double fraction = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1.0;
  WorkState state = {.step = "",
                     .fraction = fraction,
                     .facts = {Format("{} of {}", Bytes(done), Bytes(total))},
                     .fields = {{"bytes", done}, {"total_bytes", total}}};
  AddTimeLeft(SecondsLeft(fraction, seconds), state);
  return state;
}

void ByteProgress::Show(int64_t done, int64_t total) {
  const auto now = WorkProgress::Clock::now();
  if (progress_.IsDue(now)) progress_.Show(BytesState(done, total, seconds()), now);
}

}  // namespace tessera::cli
