#include "embedding/position_weighted.h"

#include <algorithm>
#include <memory>

#include "embedding/position_weighted_impl.h"
#include "runtime/device/dispatch.h"
#include "runtime/tensor.h"

namespace tessera {
namespace {

using internal::BagOffsets;
using internal::PositionedBags;
using internal::PositionSums;

// The bags of one key of a batch, and its weights: undefined where all ids weigh 1.
struct PositionedKey {
  std::string name;
  int64_t first_bag, num_bags;
  Variable weight;
};

// The batch, for forward and backward.
struct Batch {
  Tensor offsets;
  int64_t num_ids;
  std::vector<PositionedKey> keys;

  BagOffsets bags() const {
    return {{offsets.raw_data(), offsets.dtype() == DType::kI64}, num_ids};
  }
};

std::vector<PositionedBags> BagsOf(const Batch& batch) {
  std::vector<PositionedBags> features;
  for (const PositionedKey& key : batch.keys)
    features.push_back({0, key.first_bag, key.num_bags,
                        key.weight ? key.weight.value().data<float>() : nullptr,
                        key.weight ? key.weight.dim(0) : 0});
  return features;
}

void RefuseLongBags(Context& ctx, const Batch& batch, std::span<const PositionedBags> features) {
  const int64_t bag = DispatchDevice(ctx.device(), [&](auto on) {
    return internal::FirstLongBagSync(on, ctx, batch.bags(), features);
  });
  if (bag < 0) return;
  for (const PositionedKey& key : batch.keys)
    TESSERA_CHECK(bag < key.first_bag || bag >= key.first_bag + key.num_bags,
                  "feature {}, example {}: the bag is longer than the {} positions that have a "
                  "weight",
                  key.name, bag - key.first_bag, key.weight.dim(0));
}

// Backward of the weights of all ids. Inputs: the weights of the keys that have some, and the
// offsets, which differ from batch to batch.
class PositionWeightsFunction final : public Function {
 public:
  explicit PositionWeightsFunction(Batch batch) : batch_(std::move(batch)) {}
  std::string_view name() const override { return "position weights"; }

  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grad_outputs) override {
    const Tensor grad = grad_outputs[0].Contiguous(ctx);
    std::vector<Tensor> grads, held;
    std::vector<PositionSums> sums;  // filled together below
    for (const PositionedKey& key : batch_.keys) {
      if (!key.weight) continue;
      grads.push_back(SumOverExamples(grads.size(), [&](const Tensor& so_far) {
        PositionSums s = {0,
                          key.first_bag,
                          key.num_bags,
                          key.weight.dim(0),
                          so_far ? so_far.data<float>() : nullptr,
                          nullptr,
                          nullptr};
        const Tensor sum = Tensor::Empty(ctx, {s.length}),
                     partial = Tensor::Empty(ctx, {s.chunks(), s.length});
        s.sum = sum.data<float>();
        s.partial = partial.data<float>();
        held.insert(held.end(), {so_far, sum, partial});
        sums.push_back(s);
        return sum;
      }));
    }
    DispatchDevice(ctx.device(), [&](auto on) {
      internal::SumPositions(on, ctx, batch_.bags(), sums, grad.data<float>());
    });
    grads.emplace_back();
    return grads;
  }

 private:
  Batch batch_;
};

// The weight of every id, [N].
Variable RecordWeights(Context& ctx, Batch batch, LongBags long_bags) {
  std::vector<Variable> inputs;
  CheckDevice(ctx, "position weights", batch.offsets);
  for (const PositionedKey& key : batch.keys) {
    if (!key.weight) continue;
    CheckDevice(ctx, "position weights", key.weight.value());
    TESSERA_CHECK(key.weight.rank() == 1 && key.weight.value().is_contiguous(),
                  "feature {}: position weights of shape {}", key.name, key.weight.shape());
    inputs.push_back(key.weight);
  }
  const bool any = !inputs.empty();
  inputs.emplace_back(batch.offsets);
  const std::vector<PositionedBags> features = BagsOf(batch);
  if (long_bags == LongBags::kRefuse && any) RefuseLongBags(ctx, batch, features);
  const Tensor weights = Tensor::Empty(ctx, {batch.num_ids});
  DispatchDevice(ctx.device(), [&](auto on) {
    internal::SpreadPositionWeights(on, ctx, batch.bags(), features, weights.data<float>());
  });
  return Record(ctx, std::make_unique<PositionWeightsFunction>(std::move(batch)), std::move(inputs),
                weights);
}

Variable OnesFor(Context& ctx, const std::string& feature, int64_t max_feature_length) {
  TESSERA_CHECK_GE(max_feature_length, 1, "feature {}: positions that have a weight", feature);
  return Variable(Tensor::Full(ctx, {max_feature_length}, 1), /*requires_grad=*/true);
}

}  // namespace

Variable PositionWeights(Context& ctx, const KeyedJaggedTensor& features,
                         const std::map<std::string, Variable>& weights, LongBags long_bags) {
  Batch batch = {features.offsets(ctx), features.values().numel(), {}};
  for (size_t k = 0; k < features.keys().size(); ++k) {
    const std::string& key = features.keys()[k];
    const auto found = weights.find(key);
    batch.keys.push_back({key, features.lengths_offset_per_key()[k], features.stride_per_key()[k],
                          found == weights.end() ? Variable() : found->second});
  }
  return RecordWeights(ctx, std::move(batch), long_bags);
}

PositionWeightedModule::PositionWeightedModule(Context& ctx, int64_t max_feature_length,
                                               LongBags long_bags)
    : weight_(OnesFor(ctx, "of a PositionWeightedModule", max_feature_length)),
      long_bags_(long_bags) {}

JaggedTensor PositionWeightedModule::Forward(Context& ctx, const JaggedTensor& feature) const {
  const Tensor offsets = feature.offsets(ctx);
  Variable weights = RecordWeights(
      ctx,
      {offsets, feature.values().dim(0), {{"of a JaggedTensor", 0, feature.batch_size(), weight_}}},
      long_bags_);
  return JaggedTensor(feature.values(), feature.lengths_or_none(), offsets, std::move(weights));
}

PositionWeightedModuleCollection::PositionWeightedModuleCollection(
    Context& ctx, const std::vector<std::pair<std::string, int64_t>>& max_feature_lengths,
    LongBags long_bags)
    : long_bags_(long_bags) {
  for (const auto& [key, length] : max_feature_lengths) {
    TESSERA_CHECK(weights_.emplace(key, OnesFor(ctx, key, length)).second,
                  "feature {}: it has position weights already", key);
    keys_.push_back(key);
  }
}

KeyedJaggedTensor PositionWeightedModuleCollection::Forward(Context& ctx,
                                                            const KeyedJaggedTensor& features) {
  return features.WithWeights(PositionWeights(ctx, features, weights_, long_bags_));
}

void PositionWeightedModuleCollection::AppendParameters(const std::string& prefix,
                                                        std::vector<NamedParameter>& out) const {
  for (const std::string& key : keys_)
    out.push_back({prefix + "position_weights." + key, weights_.at(key)});
}

const Variable& PositionWeightedModuleCollection::position_weight(const std::string& key) const {
  const auto found = weights_.find(key);
  TESSERA_CHECK(found != weights_.end(), "feature {} has no position weights", key);
  return found->second;
}

}  // namespace tessera
