#include "data/rows/row_block.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/tensor.h"

namespace tessera {
namespace {

int64_t RowsOf(std::span<const RowRun> runs) {
  int64_t rows = 0;
  for (const RowRun& run : runs) rows += run.end - run.begin;
  return rows;
}

// Columns of `width` numbers a row, put together.
template <typename T>
Tensor Joined(Context& ctx, std::span<const RowRun> runs, const std::vector<T> RowBlock::*column,
              const Shape& shape, int64_t width) {
  const Tensor joined = Tensor::Empty(ctx, shape, DTypeOf<T>::value);
  T* out = joined.data<T>();
  for (const RowRun& run : runs) {
    const T* const begin = (run.block->*column).data();
    out = std::copy(begin + run.begin * width, begin + run.end * width, out);
  }
  return joined;
}

// Calls fn(key) for each key, on all threads where that pays.
template <typename Fn>
void ForKeys(Context& ctx, const RowColumns& layout, std::span<const RowRun> runs, Fn&& fn) {
  constexpr int64_t kBagsOfPiece = 1 << 13;
  const int64_t grain = std::max<int64_t>(1, kBagsOfPiece / std::max<int64_t>(1, RowsOf(runs)));
  ParallelFor(ctx, std::ssize(layout.keys), grain, [&](int64_t begin, int64_t end) {
    for (int64_t key = begin; key < end; ++key) fn(static_cast<size_t>(key));
  });
}

// Lengths of a key's bags; returns the number of ids.
int64_t FillLengths(size_t key, std::span<const RowRun> runs, int32_t* out) {
  int64_t ids = 0;
  for (const RowRun& run : runs) {
    const FeatureColumn& column = run.block->features[key];
    int64_t begin = column.begin(run.begin);
    ids -= begin;
    for (int64_t row = run.begin; row < run.end; ++row) {
      const int64_t end = column.ends[static_cast<size_t>(row)];
      *out++ = static_cast<int32_t>(end - begin);
      begin = end;
    }
    ids += begin;
  }
  return ids;
}

// Calls fn(column, first id, last id, place) for the ids of each key and run; key k has places from
// begins[k] on.
template <typename Fn>
void ForIds(Context& ctx, const RowColumns& layout, std::span<const RowRun> runs,
            const std::vector<int64_t>& begins, Fn&& fn) {
  ForKeys(ctx, layout, runs, [&](size_t key) {
    int64_t place = begins[key];
    for (const RowRun& run : runs) {
      const FeatureColumn& column = run.block->features[key];
      const int64_t begin = column.begin(run.begin), end = column.begin(run.end);
      fn(column, begin, end, place);
      place += end - begin;
    }
  });
}

template <typename Id>
Tensor Ids(Context& ctx, const RowColumns& layout, std::span<const RowRun> runs,
           const std::vector<int64_t>& begins) {
  const Tensor ids = Tensor::Empty(ctx, {begins.back()}, DTypeOf<Id>::value);
  Id* const out = ids.data<Id>();
  ForIds(ctx, layout, runs, begins,
         [&](const FeatureColumn& column, int64_t begin, int64_t end, int64_t place) {
           const int64_t* const from = column.ids.data();
           std::transform(from + begin, from + end, out + place,
                          [](int64_t id) { return static_cast<Id>(id); });
         });
  return ids;
}

Tensor Weights(Context& ctx, const RowColumns& layout, std::span<const RowRun> runs,
               const std::vector<int64_t>& begins) {
  const Tensor weights = Tensor::Empty(ctx, {begins.back()});
  float* const out = weights.data<float>();
  ForIds(ctx, layout, runs, begins,
         [&](const FeatureColumn& column, int64_t begin, int64_t end, int64_t place) {
           const float* const from = column.weights.data();
           if (column.weights.empty())
             std::fill_n(out + place, end - begin, 1.0f);
           else
             std::copy(from + begin, from + end, out + place);
         });
  return weights;
}

KeyedJaggedTensor FeaturesOf(Context& ctx, const RowColumns& layout, std::span<const RowRun> runs) {
  const int64_t rows = RowsOf(runs), keys = std::ssize(layout.keys);
  const Tensor lengths = Tensor::Empty(ctx, {keys * rows}, DType::kI32);
  std::vector<int64_t> begins(layout.keys.size() + 1);  // of each key's ids, then of none
  ForKeys(ctx, layout, runs, [&](size_t key) {
    int32_t* const out = lengths.data<int32_t>() + static_cast<int64_t>(key) * rows;
    begins[key + 1] = FillLengths(key, runs, out);
  });
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  const Tensor ids = layout.id_type == DType::kI32 ? Ids<int32_t>(ctx, layout, runs, begins)
                                                   : Ids<int64_t>(ctx, layout, runs, begins);
  if (!layout.weighted) return KeyedJaggedTensor::FromLengthsSync(layout.keys, ids, lengths);
  return KeyedJaggedTensor::FromLengthsSync(layout.keys, ids, lengths,
                                            Weights(ctx, layout, runs, begins));
}

}  // namespace

std::optional<double> RowShare::Before(int64_t row) const {
  if (!before || !end) return {};
  if (rows == 0) return end;
  const double part = static_cast<double>(row - first_row) / static_cast<double>(rows);
  return std::lerp(*before, *end, std::min(part, 1.0));
}

void RowBlock::Clear(const RowColumns& layout, int64_t room) {
  const auto begin = [](auto& column, int64_t capacity) {
    column.clear();
    column.reserve(static_cast<size_t>(capacity));
  };
  features.resize(layout.keys.size());
  for (FeatureColumn& column : features) {
    begin(column.ids, room);
    column.weights.clear();
    begin(column.ends, room);
  }
  begin(dense, room * layout.dense);
  begin(labels, room * layout.labels);
  weight.clear();
  time.clear();
  begin(numbers, room);
  items.assign(features.size(), {});
  skipped.clear();
  lines.reset();
  share = {};
  error.clear();
}

void RowBlock::Truncate(const RowColumns& layout) {
  const auto count = static_cast<size_t>(rows());
  for (FeatureColumn& column : features) {
    column.ends.resize(count);
    const auto ids = static_cast<size_t>(column.begin(rows()));
    column.ids.resize(ids);
    if (!column.weights.empty()) column.weights.resize(ids);
  }
  dense.resize(count * static_cast<size_t>(layout.dense));
  labels.resize(count * static_cast<size_t>(layout.labels));
  weight.resize(layout.has_weight ? count : 0);
  time.resize(layout.has_time ? count : 0);
}

std::vector<RowRun> CutRuns(std::span<const RowRun> runs, int64_t begin, int64_t end) {
  std::vector<RowRun> cut;
  int64_t before = 0;
  for (const RowRun& run : runs) {
    const int64_t rows = run.end - run.begin;
    const int64_t first = std::max(begin - before, int64_t{0}), last = std::min(end - before, rows);
    if (first < last) cut.push_back({run.block, run.begin + first, run.begin + last});
    before += rows;
  }
  return cut;
}

Batch BatchOfRuns(Context& ctx, const RowColumns& layout, std::span<const RowRun> runs) {
  const int64_t rows = RowsOf(runs);
  Batch batch;
  batch.dense = Joined(ctx, runs, &RowBlock::dense, {rows, layout.dense}, layout.dense);
  if (layout.labels > 0)
    batch.labels =
        Joined(ctx, runs, &RowBlock::labels,
               layout.labels == 1 ? Shape{rows} : Shape{rows, layout.labels}, layout.labels);
  if (layout.has_weight) batch.weights = Joined(ctx, runs, &RowBlock::weight, {rows}, 1);
  if (layout.has_time) batch.time = Joined(ctx, runs, &RowBlock::time, {rows}, 1);
  batch.features = FeaturesOf(ctx, layout, runs);
  return batch;
}

}  // namespace tessera
