#include "sparse/row_runs.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace tessera {
namespace {

// Bytes a thread copies at a time.
constexpr int64_t kPieceBytes = 1 << 17;

void CopyBytes(char* to, const char* from, int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
}

int64_t PieceRows(int64_t row_bytes) {
  return std::max<int64_t>(1, kPieceBytes / std::max<int64_t>(1, row_bytes));
}

// The uses of every source segment, in the order of output: uses[first[s] … first[s+1]) pick s.
struct Uses {
  std::vector<int64_t> first, outputs;

  Uses(int64_t segments, const std::vector<int64_t>& picks)
      : first(static_cast<size_t>(segments) + 1), outputs(picks.size()) {
    for (int64_t pick : picks) ++first[static_cast<size_t>(pick) + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<int64_t> next = first;
    for (size_t i = 0; i < picks.size(); ++i)
      outputs[static_cast<size_t>(next[static_cast<size_t>(picks[i])]++)] = static_cast<int64_t>(i);
  }
};

class SelectSegmentsFunction : public Function {
 public:
  explicit SelectSegmentsFunction(std::shared_ptr<const SegmentSelection> selection)
      : selection_(std::move(selection)) {}
  std::string_view name() const override { return "SelectSegments"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    return {selection_->ScatterAdd(ctx, grads[0])};
  }

 private:
  std::shared_ptr<const SegmentSelection> selection_;
};

}  // namespace

namespace internal {

int64_t RowBytes(const Tensor& t) {
  int64_t bytes = SizeOf(t.dtype());
  for (int i = 1; i < t.rank(); ++i) bytes *= t.dim(i);
  return bytes;
}

Shape WithRows(const Tensor& t, int64_t rows) {
  TESSERA_CHECK_GE(t.rank(), 1, "rows of a tensor {}", t.shape());
  Shape shape = t.shape();
  shape[0] = rows;
  return shape;
}

}  // namespace internal

std::vector<int64_t> ToInt64(const Tensor& indices) {
  return VisitIndexType(indices.dtype(), "indices", [&]<typename T>() {
    if (indices.is_contiguous())
      return std::vector<int64_t>(indices.data<T>(), indices.data<T>() + indices.numel());
    const std::vector<T> values = indices.ToVector<T>();
    return std::vector<int64_t>(values.begin(), values.end());
  });
}

std::vector<int64_t> HostOffsets(std::span<const int64_t> lengths) {
  std::vector<int64_t> offsets(lengths.size() + 1);
  std::partial_sum(lengths.begin(), lengths.end(), offsets.begin() + 1);
  return offsets;
}

SegmentSelection::SegmentSelection(std::vector<int64_t> source_offsets, std::vector<int64_t> picks)
    : source_offsets_(std::move(source_offsets)),
      picks_(std::move(picks)),
      output_offsets_(picks_.size() + 1) {
  const int64_t segments = static_cast<int64_t>(source_offsets_.size()) - 1;
  TESSERA_CHECK_GE(segments, 0, "offsets of segments: there must be one more than segments");
  for (size_t i = 0; i < picks_.size(); ++i) {
    const int64_t s = picks_[i];
    TESSERA_CHECK(s >= 0 && s < segments, "index {} at position {}: there are {} segments", s, i,
                  segments);
    output_offsets_[i + 1] = output_offsets_[i] + source_offsets_[static_cast<size_t>(s) + 1] -
                             source_offsets_[static_cast<size_t>(s)];
  }
}

Tensor SegmentSelection::Gather(Context& ctx, const Tensor& tensor) const {
  TESSERA_CHECK_EQ(tensor.dim(0), source_rows(), "rows to select segments of");
  const Tensor source = tensor.Contiguous(ctx);
  Tensor result = Tensor::Empty(ctx, internal::WithRows(source, output_rows()), source.dtype());
  const int64_t row_bytes = internal::RowBytes(source);
  const char* from = static_cast<const char*>(source.raw_data());
  char* to = static_cast<char*>(result.raw_data());
  // Split by output rows, not by segments: one long segment is shared by all threads.
  ParallelFor(ctx, output_rows(), PieceRows(row_bytes), [&](int64_t begin, int64_t end) {
    auto i = static_cast<size_t>(
        std::upper_bound(output_offsets_.begin(), output_offsets_.end(), begin) -
        output_offsets_.begin() - 1);
    for (int64_t row = begin; row < end; ++i) {
      const int64_t stop = std::min(end, output_offsets_[i + 1]);
      const int64_t source_row =
          source_offsets_[static_cast<size_t>(picks_[i])] + row - output_offsets_[i];
      CopyBytes(to + row * row_bytes, from + source_row * row_bytes, (stop - row) * row_bytes);
      row = stop;
    }
  });
  return result;
}

Tensor SegmentSelection::ScatterAdd(Context& ctx, const Tensor& gradient) const {
  const Tensor grad = gradient.Contiguous(ctx);
  TESSERA_CHECK_EQ(grad.dim(0), output_rows(), "gradient of selected segments");
  Tensor sum = Tensor::Zeros(ctx, internal::WithRows(grad, source_rows()), grad.dtype());
  const int64_t width = internal::RowBytes(grad) / SizeOf(grad.dtype());
  const float* from = grad.data<float>();
  float* to = sum.data<float>();
  const int64_t segments = static_cast<int64_t>(source_offsets_.size()) - 1;
  const Uses uses(segments, picks_);
  ParallelFor(ctx, segments, 64, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      const auto at = static_cast<size_t>(s);
      const int64_t n = (source_offsets_[at + 1] - source_offsets_[at]) * width;
      float* out = to + source_offsets_[at] * width;
      for (int64_t u = uses.first[at]; u < uses.first[at + 1]; ++u) {
        const float* in =
            from +
            output_offsets_[static_cast<size_t>(uses.outputs[static_cast<size_t>(u)])] * width;
        for (int64_t k = 0; k < n; ++k) out[k] += in[k];
      }
    }
  });
  return sum;
}

Variable SelectSegments(Context& ctx, const Variable& source,
                        std::shared_ptr<const SegmentSelection> selection) {
  if (!source.defined()) return {};
  Tensor result = selection->Gather(ctx, source.value());
  return Record(ctx, std::make_unique<SelectSegmentsFunction>(std::move(selection)), {source},
                std::move(result));
}

}  // namespace tessera
