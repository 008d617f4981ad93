#ifndef TESSERA_EMBEDDING_POSITION_WEIGHTED_H_
#define TESSERA_EMBEDDING_POSITION_WEIGHTED_H_
// A learned weight for each position in a bag (TorchRec's PositionWeightedModule and
// PositionWeightedModuleCollection): the id at position j (from 0) of a bag gets weight[j], which
// starts at 1. Weights that the features bring are replaced.
//
//   d weight[j] = Σ over the bags with more than j ids of d weight of their id at position j
//
// in chunks of kBagsPerChunk bags, each summed from 0 in order; the chunks' sums are added in
// order: the same bits on every device, with any number of threads, and in micro-batches
// (runtime/accumulation.h).
//
// A bag longer than the weights is an error that names feature and bag, or, if LongBags say so, its
// surplus ids weigh 0 and have no gradient. (TorchRec's gather fails on them.) kRefuse waits for a
// GPU; nothing else does.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "embedding/feature_processor.h"
#include "runtime/accumulation.h"
#include "runtime/context.h"
#include "sparse/jagged_tensor.h"

namespace tessera {

inline constexpr int64_t kBagsPerChunk = Accumulation::kExamples;

enum class LongBags { kRefuse, kSurplusWeighsNothing };

// The weight of every id of the batch, [N]: `weights` are by key, [positions] f32; ids of keys
// without weigh 1. The gradient flows into `weights`.
Variable PositionWeights(Context& ctx, const KeyedJaggedTensor& features,
                         const std::map<std::string, Variable>& weights, LongBags long_bags);

// For one feature.
class PositionWeightedModule {
 public:
  // Throws Error unless max_feature_length is positive.
  PositionWeightedModule(Context& ctx, int64_t max_feature_length,
                         LongBags long_bags = LongBags::kRefuse);

  // Returns the feature with weights.
  JaggedTensor Forward(Context& ctx, const JaggedTensor& feature) const;
  // [max_feature_length], f32.
  const Variable& position_weight() const { return weight_; }

 private:
  Variable weight_;
  LongBags long_bags_;
};

// For some keys of a KJT; ids of all others weigh 1.
class PositionWeightedModuleCollection final : public FeatureProcessor {
 public:
  // Lengths by key. Throws Error for a key that comes again, or a length that is not positive.
  PositionWeightedModuleCollection(
      Context& ctx, const std::vector<std::pair<std::string, int64_t>>& max_feature_lengths,
      LongBags long_bags = LongBags::kRefuse);

  KeyedJaggedTensor Forward(Context& ctx, const KeyedJaggedTensor& features) override;
  // "position_weights.<key>", in the order given.
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;
  bool Has(const std::string& key) const { return weights_.contains(key); }
  // [max_feature_length], f32. Throws Error for a key without.
  const Variable& position_weight(const std::string& key) const;

 private:
  std::vector<std::string> keys_;
  std::map<std::string, Variable> weights_;
  LongBags long_bags_;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_POSITION_WEIGHTED_H_
