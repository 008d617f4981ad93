#include "sparse/jagged_layout.h"

#include <algorithm>
#include <cstring>

#include "sparse/row_runs.h"

namespace tessera {
namespace {

// Bytes a thread moves at a time.
constexpr int64_t kPieceBytes = 1 << 17;

int64_t CellGrain(int64_t cell_bytes) {
  return std::max<int64_t>(1, kPieceBytes / std::max<int64_t>(64, cell_bytes));
}

void CopyBytes(char* to, const char* from, int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
}

}  // namespace

JaggedLayout::JaggedLayout(std::span<const Tensor> offsets, std::span<const int64_t> max_lengths,
                           int64_t rows)
    : max_lengths_(max_lengths.begin(), max_lengths.end()), rows_(rows) {
  TESSERA_CHECK(!offsets.empty(), "a jagged tensor has one level of offsets at least");
  TESSERA_CHECK_EQ(offsets.size(), max_lengths.size(), "levels of offsets and max lengths");
  for (const Tensor& o : offsets) {
    TESSERA_CHECK(o.rank() == 1 && o.dim(0) > 0, "offsets {}: expected [n+1]", o.shape());
    offsets_.push_back(ToInt64(o));
  }
  Check();
}

JaggedLayout::JaggedLayout(const Tensor& offsets, int64_t max_length, int64_t rows)
    : JaggedLayout(std::span(&offsets, 1), std::span(&max_length, 1), rows) {}

void JaggedLayout::Check() {
  cells_ = batch_size();
  for (size_t l = 0; l < offsets_.size(); ++l) {
    const std::vector<int64_t>& o = offsets_[l];
    TESSERA_CHECK_EQ(o.front(), 0, "level {}: the first offset", l);
    for (size_t i = 0; i + 1 < o.size(); ++i)
      TESSERA_CHECK_LE(o[i], o[i + 1], "level {}: offsets fall at {}", l, i);
    const int64_t end =
        l + 1 < offsets_.size() ? static_cast<int64_t>(offsets_[l + 1].size()) - 1 : rows_;
    TESSERA_CHECK_EQ(o.back(), end, "level {}: the last offset, and what the next level has", l);
    TESSERA_CHECK_GE(max_lengths_[l], 0, "level {}: max length", l);
    if (l + 1 < offsets_.size()) cells_ *= max_lengths_[l];
  }
}

JaggedLayout::Run JaggedLayout::run(int64_t cell) const {
  // From the last level's place up to the bag, then down through the offsets.
  std::array<int64_t, Shape::kMaxRank> place = {};
  const size_t levels = offsets_.size();
  for (size_t l = levels - 1; l > 0; --l) {
    place[l] = cell % max_lengths_[l - 1];
    cell /= max_lengths_[l - 1];
  }
  int64_t node = cell;
  for (size_t l = 0; l + 1 < levels; ++l) {
    const int64_t begin = offsets_[l][static_cast<size_t>(node)],
                  end = offsets_[l][static_cast<size_t>(node) + 1];
    if (place[l + 1] >= end - begin) return {};
    node = begin + place[l + 1];
  }
  const int64_t begin = offsets_.back()[static_cast<size_t>(node)],
                end = offsets_.back()[static_cast<size_t>(node) + 1];
  return {begin, std::min(end - begin, slots()), end - begin};
}

Shape JaggedLayout::PaddedShape(const Tensor& values) const {
  std::vector<int64_t> dims = {batch_size()};
  dims.insert(dims.end(), max_lengths_.begin(), max_lengths_.end());
  for (int i = 1; i < values.rank(); ++i) dims.push_back(values.dim(i));
  return Shape(dims);
}

void JaggedLayout::CheckPadded(const Tensor& padded, const Tensor& values) const {
  TESSERA_CHECK_EQ(padded.shape(), PaddedShape(values), "the dense operand of a jagged tensor {}",
                   values.shape());
}

Tensor JaggedLayout::Pad(Context& ctx, const Tensor& tensor, double padding) const {
  TESSERA_CHECK_EQ(tensor.dim(0), rows_, "rows of a jagged tensor");
  const Tensor values = tensor.Contiguous(ctx);
  Tensor padded = Tensor::Empty(ctx, PaddedShape(values), values.dtype());
  const Tensor fill = Tensor::Full(ctx, {1}, padding, values.dtype());
  const int64_t row_bytes = internal::RowBytes(values), cell_bytes = row_bytes * slots();
  const char* from = static_cast<const char*>(values.raw_data());
  VisitDType(values.dtype(), [&]<typename T>() {
    const T element = *fill.data<T>();
    ParallelFor(ctx, cells_, CellGrain(cell_bytes), [&](int64_t begin, int64_t end) {
      for (int64_t cell = begin; cell < end; ++cell) {
        const Run r = run(cell);
        char* to = static_cast<char*>(padded.raw_data()) + cell * cell_bytes;
        CopyBytes(to, from + r.row * row_bytes, r.count * row_bytes);
        std::fill(reinterpret_cast<T*>(to + r.count * row_bytes),
                  reinterpret_cast<T*>(to + cell_bytes), element);
      }
    });
  });
  return padded;
}

Tensor JaggedLayout::Unpad(Context& ctx, const Tensor& tensor) const {
  const Tensor padded = tensor.Contiguous(ctx);
  const int levels = static_cast<int>(offsets_.size());
  std::vector<int64_t> dims = {rows_};
  for (int i = levels + 1; i < padded.rank(); ++i) dims.push_back(padded.dim(i));
  const Shape shape{std::span<const int64_t>(dims)};
  // With several levels, whole bags may have no cell, and nobody else would write their rows.
  Tensor values = levels > 1 ? Tensor::Zeros(ctx, shape, padded.dtype())
                             : Tensor::Empty(ctx, shape, padded.dtype());
  CheckPadded(padded, values);
  const int64_t row_bytes = internal::RowBytes(values), cell_bytes = row_bytes * slots();
  ParallelFor(ctx, cells_, CellGrain(cell_bytes), [&](int64_t begin, int64_t end) {
    for (int64_t cell = begin; cell < end; ++cell) {
      const Run r = run(cell);
      char* to = static_cast<char*>(values.raw_data()) + r.row * row_bytes;
      CopyBytes(to, static_cast<const char*>(padded.raw_data()) + cell * cell_bytes,
                r.count * row_bytes);
      std::fill(to + r.count * row_bytes, to + r.all * row_bytes, char{0});
    }
  });
  return values;
}

}  // namespace tessera
