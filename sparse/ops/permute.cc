#include "sparse/ops/permute.h"

#include <utility>

#include "runtime/device/dispatch.h"
#include "sparse/ops/cumsum.h"
#include "sparse/ops/cumsum_impl.h"
#include "sparse/ops/naming_op.h"
#include "sparse/ops/permute_impl.h"
#include "sparse/ops/row_runs.h"
#include "sparse/ops/row_runs_impl.h"
#include "sparse/ops/segments_impl.h"

namespace tessera {
namespace internal {

void InvertPermute(OnCpu, Context&, const Tensor& permute, const Tensor& y) {
  const int64_t n = permute.dim(0);
  VisitIndexType(permute.dtype(), "permute", [&]<typename T>() {
    const T* from = permute.data<T>();
    for (int64_t i = 0; i < n; ++i) {
      TESSERA_CHECK(from[i] >= 0 && from[i] < n, "permute[{}] is {}, and there are {} elements", i,
                    from[i], n);
      T& to = y.data<T>()[from[i]];
      TESSERA_CHECK(to < 0, "permute is no permutation: {} is at {} and {}", from[i], to, i);
      to = static_cast<T>(i);
    }
  });
}

}  // namespace internal

namespace {

Tensor AsInt64(Context& ctx, const Tensor& t) {
  VisitIndexType(t.dtype(), "permute", []<typename T>() {});
  return t.Contiguous(ctx).To(ctx, DType::kI64);
}

void CheckPermute(const Tensor& permute) {
  if (permute.rank() != 1) throw Error(Format("permute {}; expected [n]", permute.shape()));
}
void CheckRank(const Tensor& lengths, int rank, const char* expected) {
  if (lengths.rank() != rank)
    throw Error(Format("lengths {}; expected {}", lengths.shape(), expected));
}

// The rows [permute[i]] as output rows: their lengths, and the moves of their values.
struct Selected {
  Tensor lengths;
  std::shared_ptr<const SegmentSelection> of_values;
};

Selected Select(Context& ctx, const Tensor& permute, const Tensor& lengths, int64_t values) {
  CheckPermute(permute);
  const Tensor in = lengths.Contiguous(ctx), picks = AsInt64(ctx, permute);
  const Tensor offsets = DispatchDevice(
      ctx.device(), [&](auto on) { return internal::OffsetsOfRows(on, ctx, in, in.dim(0)); });
  auto of_values = std::make_shared<const SegmentSelection>(ctx, offsets, in.dim(0), values, picks);
  return {TakeRows(ctx, in, picks), std::move(of_values)};
}

void CheckExpansion(const Tensor& permute, const Tensor& input_offset,
                    const Tensor& output_offset) {
  const std::vector<int64_t> sources = CheckedOffsets(input_offset, "input_offset");
  TESSERA_CHECK(internal::OutputOffsets(sources, ToInt64(permute)) == ToInt64(output_offset),
                "ExpandIntoJaggedPermute: output_offset is not the cumulative sum of the permuted "
                "lengths");
}

PermutedSparseData Apply(Context& ctx, const Tensor& permute, const Tensor& lengths,
                         const Tensor& values, const Variable& weights) {
  const Selected selected = Select(ctx, permute, lengths, values.dim(0));
  return {selected.lengths, selected.of_values->Gather(ctx, values),
          SelectSegments(ctx, weights, selected.of_values)};
}

}  // namespace

PermutedSparseData Permute2dSparseData(Context& ctx, const Tensor& permute, const Tensor& lengths,
                                       const Tensor& values, const Variable& weights) {
  return internal::NamingOp("Permute2dSparseData", [&]() -> PermutedSparseData {
    CheckDevice(ctx, "Permute2dSparseData", permute, lengths, values, weights);
    CheckRank(lengths, 2, "[T, B]");
    return Apply(ctx, permute, lengths, values, weights);
  });
}

PermutedSparseData Permute1dSparseData(Context& ctx, const Tensor& permute, const Tensor& lengths,
                                       const Tensor& values, const Variable& weights) {
  return internal::NamingOp("Permute1dSparseData", [&]() -> PermutedSparseData {
    CheckDevice(ctx, "Permute1dSparseData", permute, lengths, values, weights);
    CheckRank(lengths, 1, "[n]");
    return Apply(ctx, permute, lengths, values, weights);
  });
}

PermutedEmbeddings PermuteSequenceEmbeddings(Context& ctx, const Tensor& permute,
                                             const Tensor& lengths, const Variable& embeddings) {
  return internal::NamingOp("PermuteSequenceEmbeddings", [&]() -> PermutedEmbeddings {
    CheckDevice(ctx, "PermuteSequenceEmbeddings", permute, lengths, embeddings);
    CheckRank(lengths, 2, "[T, B]");
    const Selected selected = Select(ctx, permute, lengths, embeddings.dim(0));
    return {selected.lengths, SelectSegments(ctx, embeddings, selected.of_values)};
  });
}

Tensor ExpandIntoJaggedPermute(Context& ctx, const Tensor& permute, const Tensor& input_offset,
                               const Tensor& output_offset, int64_t output_size) {
  return internal::NamingOp("ExpandIntoJaggedPermute", [&]() -> Tensor {
    CheckDevice(ctx, "ExpandIntoJaggedPermute", permute, input_offset, output_offset);
    CheckPermute(permute);
    if (output_offset.dtype() != permute.dtype() ||
        output_offset.shape() != Shape{permute.dim(0) + 1})
      throw Error(Format("output_offset {} of {}; expected [{}] of {}, one more than permute has",
                         output_offset.shape(), output_offset.dtype(), permute.dim(0) + 1,
                         permute.dtype()));
    if (input_offset.rank() != 1 || input_offset.dim(0) == 0)
      throw Error(Format("input_offset {}; expected [n+1]", input_offset.shape()));
    if (ctx.device() == Device::Cpu()) CheckExpansion(permute, input_offset, output_offset);
    const Tensor picks = AsInt64(ctx, permute);
    const Segments outputs = SegmentsOverOffsets(ctx, output_offset, output_size, "output_offset");
    const Tensor firsts = TakeRows(ctx, AsInt64(ctx, input_offset), picks);
    Tensor y = Tensor::Empty(ctx, {output_size}, permute.dtype());
    DispatchDevice(ctx.device(),
                   [&](auto on) { internal::FillRanges(on, ctx, outputs, firsts, y); });
    return y;
  });
}

Tensor InvertPermute(Context& ctx, const Tensor& permute) {
  return internal::NamingOp("InvertPermute", [&]() -> Tensor {
    CheckDevice(ctx, "InvertPermute", permute);
    CheckPermute(permute);
    const Tensor in = permute.Contiguous(ctx);
    Tensor y = Tensor::Full(ctx, {in.dim(0)}, -1, in.dtype());
    DispatchDevice(ctx.device(), [&](auto on) { internal::InvertPermute(on, ctx, in, y); });
    return y;
  });
}

}  // namespace tessera
