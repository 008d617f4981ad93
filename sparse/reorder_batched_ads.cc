#include "sparse/reorder_batched_ads.h"

#include <limits>
#include <memory>

#include "sparse/ops/naming_op.h"
#include "sparse/ops/row_runs.h"
#include "sparse/ops/segments.h"

namespace tessera {
namespace {

constexpr int64_t kMostCandidates = std::numeric_limits<int32_t>::max();

// The bag at each place after the reordering, [t][candidate].
std::vector<int64_t> BagsInOrder(int64_t bags, const std::vector<int64_t>& requests,
                                 bool broadcast) {
  const int64_t candidates = requests.back(), num_requests = std::ssize(requests) - 1,
                a_feature = broadcast ? num_requests : candidates;
  TESSERA_CHECK(a_feature == 0 ? bags == 0 : bags % a_feature == 0,
                "{} bags of {} {}: expected as many for each feature", bags, a_feature,
                broadcast ? "requests" : "candidates");
  const int64_t features = a_feature == 0 ? 0 : bags / a_feature;
  std::vector<int64_t> order;
  for (int64_t t = 0; t < features; ++t)
    for (int64_t r = 0; r < num_requests; ++r) {
      const int64_t begin = requests[static_cast<size_t>(r)],
                    count = requests[static_cast<size_t>(r) + 1] - begin;
      for (int64_t i = 0; i < count; ++i)
        order.push_back(broadcast ? features * r + t : features * begin + t * count + i);
    }
  return order;
}

SegmentSelection Reordered(Context& ctx, const Tensor& offsets, const Tensor& batch_offsets,
                           bool broadcast) {
  const std::vector<int64_t> bags = CheckedOffsets(offsets, "offsets of the bags"),
                             requests = CheckedOffsets(batch_offsets, "batch_offsets");
  return SegmentSelection(ctx, bags, BagsInOrder(std::ssize(bags) - 1, requests, broadcast));
}

}  // namespace

Tensor ReorderBatchedAdLengths(Context& ctx, const Tensor& lengths, const Tensor& batch_offsets,
                               bool broadcast, int64_t max_batch_size) {
  return internal::NamingOp("ReorderBatchedAdLengths", [&]() -> Tensor {
    const std::vector<int64_t> before = ToInt64(lengths),
                               requests = CheckedOffsets(batch_offsets, "batch_offsets");
    const int64_t candidates = requests.back();
    if (max_batch_size != 0 &&
        (broadcast || max_batch_size < candidates || max_batch_size > kMostCandidates))
      throw Error(Format(
          "ReorderBatchedAdLengths: max_batch_size {} for {} candidates{}; expected 0, or {} "
          "to 2^31 − 1 without broadcast",
          max_batch_size, candidates, broadcast ? " with broadcast" : "", candidates));
    const int64_t width = max_batch_size == 0 ? candidates : max_batch_size;
    std::vector<int64_t> after;
    for (const int64_t bag : BagsInOrder(std::ssize(before), requests, broadcast)) {
      after.push_back(before[static_cast<size_t>(bag)]);
      if (std::ssize(after) % width == candidates % width)
        after.insert(after.end(), static_cast<size_t>(width - candidates), 0);
    }
    return Tensor::From(ctx, after).To(ctx, lengths.dtype());
  });
}

Tensor ReorderBatchedAdIndices(Context& ctx, const Tensor& offsets, const Tensor& indices,
                               const Tensor& batch_offsets, bool broadcast) {
  return internal::NamingOp("ReorderBatchedAdIndices", [&]() -> Tensor {
    CheckDevice(ctx, "ReorderBatchedAdIndices", offsets, indices, batch_offsets);
    return Reordered(ctx, offsets, batch_offsets, broadcast).Gather(ctx, indices.Contiguous(ctx));
  });
}

Variable ReorderBatchedSequenceEmbeddings(Context& ctx, const Tensor& offsets,
                                          const Variable& embeddings, const Tensor& batch_offsets) {
  return internal::NamingOp("ReorderBatchedSequenceEmbeddings", [&]() -> Variable {
    CheckDevice(ctx, "ReorderBatchedSequenceEmbeddings", offsets, embeddings, batch_offsets);
    return SelectSegments(ctx, embeddings,
                          std::make_shared<const SegmentSelection>(
                              Reordered(ctx, offsets, batch_offsets, /*broadcast=*/false)));
  });
}

}  // namespace tessera
