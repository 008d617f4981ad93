#include "data/rows/row_block.h"

#include <algorithm>
#include <cstring>

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

// Lengths of all bags, key-major; returns the number of ids.
int64_t FillLengths(const RowColumns& layout, std::span<const RowRun> runs, int32_t* out) {
  int64_t ids = 0;
  for (size_t f = 0; f < layout.keys.size(); ++f)
    for (const RowRun& run : runs) {
      const FeatureColumn& column = run.block->features[f];
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

// Calls fn(column, first id, last id) for the ids of each feature and run.
template <typename Fn>
void ForIds(const RowColumns& layout, std::span<const RowRun> runs, Fn&& fn) {
  for (size_t f = 0; f < layout.keys.size(); ++f)
    for (const RowRun& run : runs) {
      const FeatureColumn& column = run.block->features[f];
      fn(column, column.begin(run.begin), column.begin(run.end));
    }
}

template <typename Id>
Tensor Ids(Context& ctx, const RowColumns& layout, std::span<const RowRun> runs, int64_t count) {
  const Tensor ids = Tensor::Empty(ctx, {count}, DTypeOf<Id>::value);
  Id* out = ids.data<Id>();
  ForIds(layout, runs, [&](const FeatureColumn& column, int64_t begin, int64_t end) {
    for (const int64_t* id = column.ids.data() + begin; begin < end; ++begin)
      *out++ = static_cast<Id>(*id++);
  });
  return ids;
}

Tensor Weights(Context& ctx, const RowColumns& layout, std::span<const RowRun> runs,
               int64_t count) {
  const Tensor weights = Tensor::Empty(ctx, {count});
  float* out = weights.data<float>();
  ForIds(layout, runs, [&](const FeatureColumn& column, int64_t begin, int64_t end) {
    const float* const from = column.weights.data();
    out = column.weights.empty() ? std::fill_n(out, end - begin, 1.0f)
                                 : std::copy(from + begin, from + end, out);
  });
  return weights;
}

KeyedJaggedTensor FeaturesOf(Context& ctx, const RowColumns& layout, std::span<const RowRun> runs) {
  const int64_t bags = static_cast<int64_t>(layout.keys.size()) * RowsOf(runs);
  const Tensor lengths = Tensor::Empty(ctx, {bags}, DType::kI32);
  const int64_t count = FillLengths(layout, runs, lengths.data<int32_t>());
  const Tensor ids = layout.id_type == DType::kI32 ? Ids<int32_t>(ctx, layout, runs, count)
                                                   : Ids<int64_t>(ctx, layout, runs, count);
  if (!layout.weighted) return KeyedJaggedTensor::FromLengthsSync(layout.keys, ids, lengths);
  return KeyedJaggedTensor::FromLengthsSync(layout.keys, ids, lengths,
                                            Weights(ctx, layout, runs, count));
}

}  // namespace

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
