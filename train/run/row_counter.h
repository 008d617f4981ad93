#ifndef TESSERA_TRAIN_RUN_ROW_COUNTER_H_
#define TESSERA_TRAIN_RUN_ROW_COUNTER_H_
// A source of rows that says how many have come, of which a task may count none.
#include <cstdint>
#include <optional>
#include <string>

#include "data/data_source.h"
#include "runtime/base/check.h"

namespace tessera {

// Not thread safe, as sources are. The source must outlive it.
class RowCounter final : public DataSource {
 public:
  explicit RowCounter(DataSource& source) : source_(source) {}

  std::optional<Batch> Next() override {
    std::optional<Batch> batch = source_.Next();
    if (batch) rows_ += batch->size();
    return batch;
  }
  int64_t skipped_rows() const override { return source_.skipped_rows(); }
  BadLineCounts skipped_by_reason() const override { return source_.skipped_by_reason(); }
  int64_t rows() const { return rows_; }

 private:
  DataSource& source_;
  int64_t rows_ = 0;
};

// "none of the 100 rows for evaluation counts: each lacks a label, weighs 0 or fails "where"".
inline std::string NoneCountsText(int64_t rows, const std::string& which) {
  return Format("none of the {} rows {} counts: each lacks a label, weighs 0 or fails \"where\"",
                rows, which);
}

}  // namespace tessera
#endif  // TESSERA_TRAIN_RUN_ROW_COUNTER_H_
