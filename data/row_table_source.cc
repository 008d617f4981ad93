#include "data/row_table_source.h"

#include <algorithm>

#include "data/rank_rows.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

RowTableSourceOptions WithEnd(const RowTable& table, RowTableSourceOptions options) {
  options.range = FilledRange(options.range, table.rows());
  return options;
}

// The first row of share r, if rows are shared evenly; the first shares have one more.
int64_t EvenShare(int64_t rows, int64_t r, int64_t shares) {
  return rows / shares * r + std::min(r, rows % shares);
}

// Sequences that no window of RowOrder takes: its own use the low half for windows.
uint64_t BatchSequence(int64_t epoch, int64_t place) {
  return uint64_t{1} << 63 | static_cast<uint64_t>(epoch) << 44 | static_cast<uint64_t>(place);
}

}  // namespace

RowTableSource::RowTableSource(std::shared_ptr<const RowTable> table,
                               const RowTableSourceOptions& options)
    : ctx_({.threads = 1}),
      table_(std::move(table)),
      options_(WithEnd(*table_, options)),
      order_(options_.range, options.shuffle, options.epoch),
      place_(std::max(options.first_place, options.range.first)) {
  TESSERA_CHECK_GT(options.batch_size, 0, "batch size");
  TESSERA_CHECK(options.ranks > 0 && options.rank >= 0 && options.rank < options.ranks,
                "rank {} of {}", options.rank, options.ranks);
  if (left() < 0)
    throw Error(Format("row {} was asked for, but the rows are {}", place_, options_.range));
}

// Rows that are not enough for a batch, or are left after the last, belong to nobody: begin ==
// next.
RowTableSource::Places RowTableSource::NextPart() const {
  const int64_t rows = std::min(options_.batch_size, left());
  if (options_.drop_last && rows < options_.batch_size) return {place_, place_, place_};
  const RankRows mine = RowsOfRank(rows, options_.rank, options_.ranks);
  return {place_ + mine.begin, place_ + mine.end, place_ + rows};
}

RowTableSource::Places RowTableSource::NextOfRound() const {
  const int64_t round = options_.batch_size * options_.ranks;
  int64_t rows = std::min(left(), round);
  if (!options_.drop_last && left() - rows < options_.ranks) rows = left();
  if (options_.drop_last && rows < round) return {place_, place_, place_};
  const auto at = [&](int64_t r) { return place_ + EvenShare(rows, r, options_.ranks); };
  return {at(options_.rank), at(options_.rank + 1), place_ + rows};
}

std::optional<Batch> RowTableSource::Next() {
  const Places places = options_.share == RankShare::kPartOfBatch ? NextPart() : NextOfRound();
  if (places.next == place_) return std::nullopt;
  rows_.resize(static_cast<size_t>(places.end - places.begin));
  order_.Rows(places.begin - options_.range.first, rows_);
  if (options_.shuffle_batches)
    Shuffle(options_.shuffle ? options_.shuffle->seed : 0,
            BatchSequence(options_.epoch, places.begin), rows_);
  Batch batch = table_->Gather(ctx_, rows_);
  batch.first_row = place_;
  batch.end_row = places.next;
  batch.fraction =
      static_cast<double>(places.next - options_.range.first) / static_cast<double>(order_.size());
  if (options_.ranks > 1) batch.rows_of_all = places.next - place_;
  batch.features.Sync(ctx_);  // what a device would have to be waited for
  place_ = places.next;
  return batch;
}

}  // namespace tessera
