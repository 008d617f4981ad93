#ifndef TESSERA_EMBEDDING_TABLE_OUTPUT_LAYOUT_H_
#define TESSERA_EMBEDDING_TABLE_OUTPUT_LAYOUT_H_
// The layout of a forward's outputs and, in backward, of their gradients.
//
//   pooled, one batch for all   a matrix [B, ΣD], a block of columns a feature
//   pooled, a batch a feature   flat, as FBGEMM has it: for each rank, for each feature, the rows
//                               of the feature's bags from that rank, D elements each
//   with inverse indices        flat, feature after feature; made to [B_full, ΣD] afterwards
//   sequences                   a matrix [N_f, D] each
#include <span>

#include "embedding/update/expand_bags.h"
#include "runtime/device/scratch_pool.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera::internal {

// Key that a feature reads, and shape of what it gives.
struct FeatureShape {
  int64_t key = 0;  // of the KJT
  int64_t dim = 0;
  bool sequence = false;
};

// A run of bags of one feature whose rows lie one `stride` after another.
struct OutputPart {
  int feature;
  int64_t first_bag, num_bags;
  int sequence;        // which sequence the rows are, or −1: pooled
  int64_t at, stride;  // in elements of the pooled tensor, or of the sequence
};

class OutputLayout {
 public:
  OutputLayout(const KeyedJaggedTensor& kjt, std::span<const FeatureShape> features);

  // In the order of the features; the bags of each in their order.
  std::span<const OutputPart> parts() const { return parts_; }
  // Whether some feature is pooled, or there is no feature.
  bool has_pooled() const { return has_pooled_; }
  // Shapes of the tensor that a lookup fills, and of the one that the caller gets.
  const Shape& distinct_shape() const { return distinct_shape_; }
  const Shape& pooled_shape() const { return pooled_shape_; }
  std::span<const Shape> sequence_shapes() const { return sequence_shapes_; }

  // Turns what a lookup filled into what the caller gets, and back for gradients (f32).
  Tensor Expand(Context& ctx, const Tensor& distinct) const;
  Tensor Fold(Context& ctx, const Tensor& grad) const;

 private:
  void PlaceMatrix(const KeyedJaggedTensor& kjt, std::span<const FeatureShape> features);
  void PlaceByRank(const KeyedJaggedTensor& kjt, std::span<const FeatureShape> features);
  void PlaceDistinct(const KeyedJaggedTensor& kjt, std::span<const FeatureShape> features);
  void PlaceSequences(const KeyedJaggedTensor& kjt, std::span<const FeatureShape> features);

  ScratchVector<OutputPart> parts_;
  bool has_pooled_ = false;
  Shape distinct_shape_, pooled_shape_;
  ScratchVector<Shape> sequence_shapes_;
  ScratchVector<DistinctBags> distinct_bags_;
  Tensor inverse_;  // [*, B_full], or undefined
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_TABLE_OUTPUT_LAYOUT_H_
