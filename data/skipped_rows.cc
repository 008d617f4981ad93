#include "data/skipped_rows.h"

namespace tessera {

void SkippedRows::CountBefore(int64_t row) {
  for (auto& [reason, rows] : waiting_)
    for (; !rows.empty() && rows.front() < row; rows.pop_front()) {
      ++count_;
      ++by_reason_[reason];
    }
}

}  // namespace tessera
