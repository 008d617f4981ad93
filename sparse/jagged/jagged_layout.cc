#include "sparse/jagged/jagged_layout.h"

#include <algorithm>

#include "runtime/device/dispatch.h"
#include "sparse/jagged/jagged_layout_impl.h"
#include "sparse/ops/row_runs.h"

namespace tessera {
namespace internal {
namespace {

// Bytes a thread moves at a time.
constexpr int64_t kPieceBytes = 1 << 17;

int64_t CellGrain(int64_t cell_bytes) {
  return std::max<int64_t>(1, kPieceBytes / std::max<int64_t>(64, cell_bytes));
}

}  // namespace

void Pad(OnCpu, Context& ctx, const JaggedLayout& layout, const Tensor& values, double padding,
         const Tensor& padded) {
  const Tensor fill = Tensor::Full(ctx, {1}, padding, values.dtype());
  const int64_t row_bytes = RowBytes(values), cell_bytes = row_bytes * layout.slots();
  const char* from = static_cast<const char*>(values.raw_data());
  const JaggedView view = layout.view();
  VisitDType(values.dtype(), [&]<typename T>() {
    const T element = *fill.data<T>();
    ParallelFor(ctx, layout.cells(), CellGrain(cell_bytes), [&](int64_t begin, int64_t end) {
      for (int64_t cell = begin; cell < end; ++cell) {
        const JaggedView::Run r = view.run(cell);
        char* to = static_cast<char*>(padded.raw_data()) + cell * cell_bytes;
        CopyBytes(to, from + r.row * row_bytes, r.count * row_bytes);
        std::fill(reinterpret_cast<T*>(to + r.count * row_bytes),
                  reinterpret_cast<T*>(to + cell_bytes), element);
      }
    });
  });
}

void Unpad(OnCpu, Context& ctx, const JaggedLayout& layout, const Tensor& padded,
           const Tensor& values) {
  // With several levels, whole bags may have no cell, and no cell writes their rows.
  if (layout.levels() > 1) values.Fill(ctx, 0);
  const int64_t row_bytes = RowBytes(values), cell_bytes = row_bytes * layout.slots();
  const JaggedView view = layout.view();
  ParallelFor(ctx, layout.cells(), CellGrain(cell_bytes), [&](int64_t begin, int64_t end) {
    for (int64_t cell = begin; cell < end; ++cell) {
      const JaggedView::Run r = view.run(cell);
      char* to = static_cast<char*>(values.raw_data()) + r.row * row_bytes;
      CopyBytes(to, static_cast<const char*>(padded.raw_data()) + cell * cell_bytes,
                r.count * row_bytes);
      std::fill(to + r.count * row_bytes, to + r.all * row_bytes, char{0});
    }
  });
}

}  // namespace internal

JaggedLayout::JaggedLayout(Context& ctx, std::span<const Tensor> offsets,
                           std::span<const int64_t> max_lengths, int64_t rows)
    : max_lengths_(max_lengths.begin(), max_lengths.end()), rows_(rows) {
  TESSERA_CHECK(!offsets.empty(), "a jagged tensor has one level of offsets at least");
  TESSERA_CHECK_EQ(offsets.size(), max_lengths.size(), "levels of offsets and max lengths");
  TESSERA_CHECK_LT(offsets.size(), static_cast<size_t>(Shape::kMaxRank), "levels of offsets");
  for (size_t l = 0; l < offsets.size(); ++l) {
    TESSERA_CHECK_GE(max_lengths[l], 0, "level {}: max length", l);
    const bool last = l + 1 == offsets.size();
    const int64_t below = last ? rows : offsets[l + 1].numel() - 1;
    const std::string what = Format("level {}: offsets", l);
    offsets_.push_back(
        SegmentsOverOffsets(ctx, offsets[l], std::max<int64_t>(below, 0), what.c_str()).offsets);
  }
  cells_ = batch_size();
  for (size_t l = 0; l + 1 < max_lengths_.size(); ++l) cells_ *= max_lengths_[l];
}

JaggedLayout::JaggedLayout(Context& ctx, const Tensor& offsets, int64_t max_length, int64_t rows)
    : JaggedLayout(ctx, std::span(&offsets, 1), std::span(&max_length, 1), rows) {}

JaggedView JaggedLayout::view() const {
  JaggedView view = {};
  view.levels = levels();
  for (size_t l = 0; l < offsets_.size(); ++l) {
    view.offsets[l] = offsets_[l].data<int64_t>();
    view.max_lengths[l] = max_lengths_[l];
  }
  return view;
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
  CheckDevice(ctx, "padding", tensor, offsets_[0]);
  TESSERA_CHECK_EQ(tensor.dim(0), rows_, "rows of a jagged tensor");
  const Tensor values = tensor.Contiguous(ctx);
  Tensor padded = Tensor::Empty(ctx, PaddedShape(values), values.dtype());
  DispatchDevice(ctx.device(),
                 [&](auto on) { internal::Pad(on, ctx, *this, values, padding, padded); });
  return padded;
}

Tensor JaggedLayout::Unpad(Context& ctx, const Tensor& tensor) const {
  CheckDevice(ctx, "padding taken off", tensor, offsets_[0]);
  const Tensor padded = tensor.Contiguous(ctx);
  std::vector<int64_t> dims = {rows_};
  for (int i = levels() + 1; i < padded.rank(); ++i) dims.push_back(padded.dim(i));
  Tensor values = Tensor::Empty(ctx, Shape(std::span<const int64_t>(dims)), padded.dtype());
  CheckPadded(padded, values);
  DispatchDevice(ctx.device(), [&](auto on) { internal::Unpad(on, ctx, *this, padded, values); });
  return values;
}

}  // namespace tessera
