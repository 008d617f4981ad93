#include "data/split/split_table.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "data/first_ids.h"
#include "data/split/row_subset.h"
#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/tensor.h"

namespace tessera {
namespace {

constexpr int64_t kRowsAtOnce = 4096;  // whole words, so that no two threads write one

bool IsIn(const RowRange& range, int64_t row) { return range.first <= row && row < range.last; }

// Rows [begin, end) of a table.
Batch RowsOf(Context& ctx, const RowTable& table, int64_t begin, int64_t end) {
  std::vector<int64_t> rows(static_cast<size_t>(end - begin));
  std::iota(rows.begin(), rows.end(), begin);
  return table.Gather(ctx, rows);
}

std::vector<int64_t> TimesIn(const Batch& batch) {
  if (!batch.time) throw Error("data.split.by: time: these rows have no time");
  return batch.time.ToVector<int64_t>();
}

// Decides all rows.
class Splitter {
 public:
  Splitter(const TableToSplit& rows, const SplitOptions& split, const RowRange& train,
           const RowRange& eval)
      : rows_(rows), filter_(split, RowPart::kEval), train_(train), eval_(eval) {
    const int64_t count = rows.table->rows();
    for_eval_.resize(static_cast<size_t>((count + internal::kWordBits - 1) / internal::kWordBits));
    if (split.by == SplitBy::kKey && rows.id_rows > 0) ids_.emplace(rows.id_rows);
    Context ctx({.threads = rows.threads});
    ParallelFor(ctx, (count + kRowsAtOnce - 1) / kRowsAtOnce, 1, [&](int64_t begin, int64_t end) {
      Context own({.threads = 1});
      for (int64_t i = begin; i < end; ++i)
        Decide(own, i * kRowsAtOnce, std::min((i + 1) * kRowsAtOnce, count));
    });
  }

  const RowBits& for_eval() const { return for_eval_; }
  std::optional<int64_t> IdsOf(RowPart part) const {
    if (!ids_) return {};
    return ids_->Count(
        [&](int64_t id) { return filter_.TakesFirstId(id) == (part == RowPart::kEval); });
  }

 private:
  void Decide(Context& ctx, int64_t begin, int64_t end) {
    if (filter_.by() == SplitBy::kRandom) {
      for (int64_t row = begin; row < end; ++row) Note(row, filter_.TakesNumber(row));
      return;
    }
    const Batch batch = RowsOf(ctx, *rows_.keys, begin, end);
    const bool by_time = filter_.by() == SplitBy::kTime;
    const std::vector<int64_t> keys =
        by_time ? TimesIn(batch) : FirstIds(ctx, batch, filter_.options().feature);
    for (int64_t row = begin; row < end; ++row) {
      const int64_t key = keys[static_cast<size_t>(row - begin)];
      const bool eval = by_time ? filter_.TakesTime(key) : filter_.TakesFirstId(key);
      Note(row, eval);
      if (ids_ && IsIn(eval ? eval_ : train_, row)) ids_->Add(key);
    }
  }
  void Note(int64_t row, bool eval) {
    if (eval)
      for_eval_[static_cast<size_t>(row / internal::kWordBits)] |= uint64_t{1}
                                                                   << (row % internal::kWordBits);
  }

  const TableToSplit& rows_;
  const RowFilter filter_;
  const RowRange train_, eval_;
  RowBits for_eval_;
  std::optional<IdSet> ids_;
};

}  // namespace

PartTables SplitTable(const TableToSplit& rows, const SplitOptions& split, const RowRange& train,
                      const RowRange& eval, SplitCounts& counts) {
  const Splitter splitter(rows, split, train, eval);
  PartTables parts{
      .train = std::make_shared<RowSubset>(rows.table, splitter.for_eval(), false, train),
      .eval = std::make_shared<RowSubset>(rows.table, splitter.for_eval(), true, eval)};
  counts.Set(RowPart::kTrain, {parts.train->rows(), splitter.IdsOf(RowPart::kTrain)});
  counts.Set(RowPart::kEval, {parts.eval->rows(), splitter.IdsOf(RowPart::kEval)});
  return parts;
}

LastTime TimesOf(const RowTable& rows) {
  LastTime times;
  Context ctx({.threads = 1});
  for (int64_t begin = 0; begin < rows.rows(); begin += kRowsAtOnce)
    times.Add(TimesIn(RowsOf(ctx, rows, begin, std::min(begin + kRowsAtOnce, rows.rows()))));
  return times;
}

}  // namespace tessera
