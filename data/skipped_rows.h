#ifndef TESSERA_DATA_SKIPPED_ROWS_H_
#define TESSERA_DATA_SKIPPED_ROWS_H_
// Counts bad rows by their places: a reader is ahead of the batches that it gives out, and a run
// that goes on behind one of these reads what comes after it again.
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "data/data_source.h"

namespace tessera {

class SkippedRows {
 public:
  // REQUIRES: rows of one reason rise from call to call.
  void Add(int64_t row, const std::string& reason = "") { waiting_[reason].push_back(row); }

  // Counts the rows that are before this one, which then need no memory any more. REQUIRES: rows of
  // calls do not fall.
  void CountBefore(int64_t row);
  int64_t count() const { return count_; }
  const BadLineCounts& by_reason() const { return by_reason_; }

 private:
  std::map<std::string, std::deque<int64_t>> waiting_;
  int64_t count_ = 0;
  BadLineCounts by_reason_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_SKIPPED_ROWS_H_
