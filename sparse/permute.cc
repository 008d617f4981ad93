#include "sparse/permute.h"

#include <numeric>
#include <utility>

#include "sparse/row_runs.h"
#include "sparse/segments.h"

namespace tessera {
namespace {

// Output row i is row permute[i]: its lengths, and how its values move.
struct Selected {
  Tensor lengths;
  std::shared_ptr<const SegmentSelection> of_values;
};

Selected Select(Context& ctx, const Tensor& permute, const Tensor& lengths, int64_t rows) {
  TESSERA_CHECK_EQ(permute.rank(), 1, "permute {}", permute.shape());
  const Tensor flat = lengths.Contiguous(ctx).Reshape({lengths.numel()});
  const int64_t bags = rows == 0 ? 0 : flat.numel() / rows;
  std::vector<int64_t> picks = ToInt64(permute), bag_offsets(static_cast<size_t>(rows) + 1);
  for (size_t t = 0; t < bag_offsets.size(); ++t) bag_offsets[t] = static_cast<int64_t>(t) * bags;
  auto of_values = std::make_shared<const SegmentSelection>(
      HostOffsets(SumsOfLengths(flat, bag_offsets)), picks);
  return {SegmentSelection(std::move(bag_offsets), std::move(picks)).Gather(ctx, flat),
          std::move(of_values)};
}

Selected Select2d(Context& ctx, const Tensor& permute, const Tensor& lengths) {
  TESSERA_CHECK_EQ(lengths.rank(), 2, "lengths {}: expected [T, B]", lengths.shape());
  Selected selected = Select(ctx, permute, lengths, lengths.dim(0));
  selected.lengths = selected.lengths.Reshape({permute.dim(0), lengths.dim(1)});
  return selected;
}

PermutedSparseData Apply(Context& ctx, Selected selected, const Tensor& values,
                         const Variable& weights) {
  return {std::move(selected.lengths), selected.of_values->Gather(ctx, values),
          SelectSegments(ctx, weights, selected.of_values)};
}

}  // namespace

PermutedSparseData Permute2dSparseData(Context& ctx, const Tensor& permute, const Tensor& lengths,
                                       const Tensor& values, const Variable& weights) {
  return Apply(ctx, Select2d(ctx, permute, lengths), values, weights);
}

PermutedSparseData Permute1dSparseData(Context& ctx, const Tensor& permute, const Tensor& lengths,
                                       const Tensor& values, const Variable& weights) {
  TESSERA_CHECK_EQ(lengths.rank(), 1, "lengths {}: expected [n]", lengths.shape());
  return Apply(ctx, Select(ctx, permute, lengths, lengths.dim(0)), values, weights);
}

PermutedEmbeddings PermuteSequenceEmbeddings(Context& ctx, const Tensor& permute,
                                             const Tensor& lengths, const Variable& embeddings) {
  Selected selected = Select2d(ctx, permute, lengths);
  return {std::move(selected.lengths), SelectSegments(ctx, embeddings, selected.of_values)};
}

Tensor ExpandIntoJaggedPermute(Context& ctx, const Tensor& permute, const Tensor& input_offset,
                               const Tensor& output_offset, int64_t output_size) {
  const SegmentSelection selection(CheckedOffsets(input_offset, "input_offset"), ToInt64(permute));
  TESSERA_CHECK_EQ(output_offset.dtype(), permute.dtype(),
                   "ExpandIntoJaggedPermute: output_offset");
  TESSERA_CHECK(
      ToInt64(output_offset) == selection.output_offsets(),
      "ExpandIntoJaggedPermute: output_offset is not the cumulative sum of the permuted lengths");
  TESSERA_CHECK_EQ(output_size, selection.output_rows(), "ExpandIntoJaggedPermute: output_size");
  Tensor y = Tensor::Empty(ctx, {output_size}, permute.dtype());
  VisitIndexType(permute.dtype(), "permute", [&]<typename T>() {
    ParallelFor(ctx, permute.dim(0), 1 << 12, [&](int64_t first, int64_t last) {
      for (auto t = static_cast<size_t>(first); t < static_cast<size_t>(last); ++t)
        std::iota(
            y.data<T>() + selection.output_offsets()[t],
            y.data<T>() + selection.output_offsets()[t + 1],
            static_cast<T>(selection.source_offsets()[static_cast<size_t>(selection.picks()[t])]));
    });
  });
  return y;
}

Tensor InvertPermute(Context& ctx, const Tensor& permute) {
  TESSERA_CHECK_EQ(permute.rank(), 1, "permute {}", permute.shape());
  const Tensor in = permute.Contiguous(ctx);
  const int64_t n = in.dim(0);
  Tensor y = Tensor::Full(ctx, {n}, -1, in.dtype());
  VisitIndexType(in.dtype(), "permute", [&]<typename T>() {
    const T* from = in.data<T>();
    for (int64_t i = 0; i < n; ++i) {
      TESSERA_CHECK(from[i] >= 0 && from[i] < n, "permute[{}] is {}, and there are {} elements", i,
                    from[i], n);
      T& to = y.data<T>()[from[i]];
      TESSERA_CHECK(to < 0, "permute is no permutation: {} is at {} and {}", from[i], to, i);
      to = static_cast<T>(i);
    }
  });
  return y;
}

}  // namespace tessera
