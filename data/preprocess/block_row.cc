#include "data/preprocess/block_row.h"

#include <cstring>

#include "runtime/base/check.h"

namespace tessera {
namespace {

template <typename T>
void Put(std::vector<char>& to, const std::vector<T>& from, int64_t begin, int64_t count) {
  const auto* const bytes = reinterpret_cast<const char*>(from.data() + begin);
  to.insert(to.end(), bytes, bytes + count * static_cast<int64_t>(sizeof(T)));
}

// Moves `count` elements from the beginning of `from` to the end of `to`.
template <typename T>
void Take(std::span<const char>& from, int64_t count, std::vector<T>& to) {
  const size_t bytes = static_cast<size_t>(count) * sizeof(T), had = to.size();
  TESSERA_CHECK(bytes <= from.size(), "a packed row lacks {} bytes", bytes - from.size());
  to.resize(had + static_cast<size_t>(count));
  if (bytes > 0) std::memcpy(to.data() + had, from.data(), bytes);
  from = from.subspan(bytes);
}

}  // namespace

RowBlock EmptyBlock(const RowColumns& layout) {
  RowBlock block;
  block.features.resize(layout.keys.size());
  return block;
}

std::vector<char> PackRow(const RowBlock& block, const RowColumns& layout, int64_t row) {
  std::vector<char> packed;
  Put(packed, block.dense, row * layout.dense, layout.dense);
  Put(packed, block.labels, row * layout.labels, layout.labels);
  if (layout.has_weight) Put(packed, block.weight, row, 1);
  if (layout.has_time) Put(packed, block.time, row, 1);
  for (const FeatureColumn& column : block.features) {
    const int64_t begin = column.begin(row), ids = column.ends[static_cast<size_t>(row)] - begin;
    const int64_t weights = column.weights.empty() ? 0 : ids;
    Put(packed, std::vector<int64_t>{ids, weights}, 0, 2);
    Put(packed, column.ids, begin, ids);
    Put(packed, column.weights, begin, weights);
  }
  return packed;
}

void UnpackRow(std::span<const char> packed, const RowColumns& layout, RowBlock& block) {
  Take(packed, layout.dense, block.dense);
  Take(packed, layout.labels, block.labels);
  if (layout.has_weight) Take(packed, 1, block.weight);
  if (layout.has_time) Take(packed, 1, block.time);
  for (FeatureColumn& column : block.features) {
    std::vector<int64_t> counts;
    Take(packed, 2, counts);
    Take(packed, counts[0], column.ids);
    Take(packed, counts[1], column.weights);
    column.ends.push_back(static_cast<int64_t>(column.ids.size()));
  }
  TESSERA_CHECK(packed.empty(), "a packed row has {} bytes more than its columns", packed.size());
  block.numbers.push_back(block.rows());
}

}  // namespace tessera
