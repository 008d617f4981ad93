#include <algorithm>
#include <numeric>

#include "runtime/tensor.h"
#include "sparse/ops/row_runs_impl.h"

namespace tessera::internal {
namespace {

// Bytes a thread copies at a time.
constexpr int64_t kPieceBytes = 1 << 17;

int64_t PieceRows(int64_t row_bytes) {
  return std::max<int64_t>(1, kPieceBytes / std::max<int64_t>(1, row_bytes));
}

// The uses of every source segment, in the order of output: uses[first[s] … first[s+1]) pick s.
struct Uses {
  std::vector<int64_t> first, outputs;

  Uses(int64_t segments, std::span<const int64_t> picks)
      : first(static_cast<size_t>(segments) + 1), outputs(picks.size()) {
    for (int64_t pick : picks) ++first[static_cast<size_t>(pick) + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<int64_t> next = first;
    for (size_t i = 0; i < picks.size(); ++i)
      outputs[static_cast<size_t>(next[static_cast<size_t>(picks[i])]++)] = static_cast<int64_t>(i);
  }
};

// The ends of segments that have equally many pieces.
Tensor EndsOf(Context& ctx, const Tensor& offsets, int64_t segments) {
  const int64_t pieces = offsets.dim(0) - 1, step = segments == 0 ? 0 : pieces / segments;
  if (pieces == segments) return offsets;
  Tensor result = Tensor::Empty(ctx, {segments + 1}, DType::kI64);
  for (int64_t s = 0; s <= segments; ++s)
    result.data<int64_t>()[s] = offsets.data<int64_t>()[s * step];
  return result;
}

}  // namespace

std::vector<int64_t> OutputOffsets(std::span<const int64_t> source_offsets,
                                   std::span<const int64_t> picks) {
  const auto segments = static_cast<int64_t>(source_offsets.size()) - 1;
  TESSERA_CHECK_GE(segments, 0, "offsets of segments: there must be one more than segments");
  std::vector<int64_t> offsets(picks.size() + 1);
  for (size_t i = 0; i < picks.size(); ++i) {
    TESSERA_CHECK(picks[i] >= 0 && picks[i] < segments,
                  "index {} at position {}: there are {} segments", picks[i], i, segments);
    const auto s = static_cast<size_t>(picks[i]);
    offsets[i + 1] = offsets[i] + source_offsets[s + 1] - source_offsets[s];
  }
  return offsets;
}

SelectionParts MakeSelection(OnCpu, Context& ctx, const Tensor& offsets, int64_t segments,
                             int64_t source_rows, const Tensor& picks,
                             std::optional<int64_t> output_rows) {
  Tensor sources = EndsOf(ctx, offsets, segments);
  const std::vector<int64_t> outputs =
      OutputOffsets(sources.span<int64_t>(), picks.span<int64_t>());
  if (sources.span<int64_t>().back() != source_rows)
    throw Error(
        Format("lengths sum to {} for {} values", sources.span<int64_t>().back(), source_rows));
  if (output_rows)
    TESSERA_CHECK_EQ(outputs.back(), *output_rows, "selected rows, and the number expected");
  return {std::move(sources), picks, Tensor::From(ctx, outputs), source_rows, outputs.back()};
}

void GatherSegments(OnCpu, Context& ctx, const SegmentSelection& selection, const Tensor& source,
                    const Tensor& result) {
  const int64_t row_bytes = RowBytes(source);
  const char* from = static_cast<const char*>(source.raw_data());
  char* to = static_cast<char*>(result.raw_data());
  const std::span<const int64_t> sources = selection.source_offsets().span<int64_t>(),
                                 picks = selection.picks().span<int64_t>(),
                                 outputs = selection.output_offsets().span<int64_t>();
  // Split by output rows, not by segments: one long segment is shared by all threads.
  ParallelFor(ctx, result.dim(0), PieceRows(row_bytes), [&](int64_t begin, int64_t end) {
    auto i = static_cast<size_t>(std::upper_bound(outputs.begin(), outputs.end(), begin) -
                                 outputs.begin() - 1);
    for (int64_t row = begin; row < end; ++i) {
      const int64_t stop = std::min(end, outputs[i + 1]);
      const int64_t source_row = sources[static_cast<size_t>(picks[i])] + row - outputs[i];
      CopyBytes(to + row * row_bytes, from + source_row * row_bytes, (stop - row) * row_bytes);
      row = stop;
    }
  });
}

void AddSegments(OnCpu, Context& ctx, const SegmentSelection& selection, const Tensor& grad,
                 const Tensor& sum) {
  sum.Fill(ctx, 0);
  const int64_t width = RowBytes(grad) / SizeOf(grad.dtype());
  const float* from = grad.data<float>();
  float* to = sum.data<float>();
  const int64_t *sources = selection.source_offsets().data<int64_t>(),
                *outputs = selection.output_offsets().data<int64_t>();
  const int64_t segments = selection.source_offsets().dim(0) - 1;
  const Uses uses(segments, selection.picks().span<int64_t>());
  ParallelFor(ctx, segments, 64, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      const auto at = static_cast<size_t>(s);
      const int64_t n = (sources[s + 1] - sources[s]) * width;
      float* out = to + sources[s] * width;
      for (int64_t u = uses.first[at]; u < uses.first[at + 1]; ++u) {
        const float* in = from + outputs[uses.outputs[static_cast<size_t>(u)]] * width;
        for (int64_t k = 0; k < n; ++k) out[k] += in[k];
      }
    }
  });
}

void MoveRows(OnCpu, Context& ctx, const Tensor& source, const Tensor& slots, bool take,
              const Tensor& result) {
  const int64_t row_bytes = RowBytes(source);
  const char* from = static_cast<const char*>(source.raw_data());
  char* to = static_cast<char*>(result.raw_data());
  const auto move = [&]<typename Index, typename Row>() {
    const Index* slot = slots.data<Index>();
    ParallelFor(ctx, slots.dim(0), PieceRows(row_bytes), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t in = take ? slot[i] : i, out = take ? i : slot[i];
        if constexpr (std::is_void_v<Row>)
          CopyBytes(to + out * row_bytes, from + in * row_bytes, row_bytes);
        else
          reinterpret_cast<Row*>(to)[out] = reinterpret_cast<const Row*>(from)[in];
      }
    });
  };
  VisitIndexType(slots.dtype(), "slots", [&]<typename Index>() {
    if (row_bytes == 4)
      move.template operator()<Index, uint32_t>();
    else if (row_bytes == 8)
      move.template operator()<Index, uint64_t>();
    else
      move.template operator()<Index, void>();
  });
}

}  // namespace tessera::internal
