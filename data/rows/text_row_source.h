#ifndef TESSERA_DATA_ROWS_TEXT_ROW_SOURCE_H_
#define TESSERA_DATA_ROWS_TEXT_ROW_SOURCE_H_
// Batches of a user's own text files, as they lie, or put in random order within windows of
// ShuffleOptions::window_rows numbers that are kept in memory: the order of a ShuffledStream, so
// that any place can be begun at.
#include <memory>
#include <optional>
#include <vector>

#include "data/data_source.h"
#include "data/row_order.h"
#include "data/rows/text_row_reader.h"
#include "runtime/context.h"

namespace tessera {

struct TextRowSourceOptions {
  int64_t batch_size = 0;
  RowRange range = {};
  std::optional<ShuffleOptions> shuffle = {};  // absent: rows as they lie
  int64_t epoch = 0;                           // each is shuffled otherwise
  int64_t first_place = 0;  // where to begin, as an end_row says; 0: at the first
  // Each of several ranks reads all lines and parses its rows of each batch alone
  // (data/rank_rows.h).
  int rank = 0, ranks = 1;
};

class TextRowSource final : public DataSource {
 public:
  // Throws Error for files that cannot be opened, and for a place that the data do not reach.
  // REQUIRES: one rank, or neither bad lines that are left out nor a filter.
  TextRowSource(std::shared_ptr<const RowRules> rules, const RowFiles& files,
                const TextRowSourceOptions& options);
  ~TextRowSource() override;

  std::optional<Batch> Next() override;
  int64_t skipped_rows() const override;
  BadLineCounts skipped_by_reason() const override;

 private:
  class Feed;  // one row after the other
  class Plain;
  class Shuffled;

  // About what share of the rows is given out before `end_row`.
  std::optional<double> Fraction(int64_t end_row) const;
  // This rank's rows of a batch whose lines are in runs_.
  Batch ParsePart(int64_t rows);

  std::shared_ptr<const RowRules> rules_;
  const TextRowSourceOptions options_;
  std::unique_ptr<Feed> feed_;
  std::vector<RowRun> runs_;
};

// All rows of the files as one batch, maybe of none, and how many bad lines were left out.
struct AllRows {
  Batch batch;
  int64_t skipped = 0;
};
AllRows ReadAllRows(Context& ctx, std::shared_ptr<const RowRules> rules, const RowFiles& files);

}  // namespace tessera
#endif  // TESSERA_DATA_ROWS_TEXT_ROW_SOURCE_H_
