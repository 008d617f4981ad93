#include "sharding/managed_collision/sharded_managed_collision_collection.h"

#include <utility>

#include "comm/leader.h"
#include "embedding/collection_features.h"
#include "runtime/base/check.h"
#include "sharding/plan/plan_json.h"

namespace tessera {

ShardedManagedCollisionCollection::ShardedManagedCollisionCollection(
    Context& ctx, Communicator& comm, const std::vector<ShardedManagedTable>& managed,
    std::vector<BaseEmbeddingConfig> configs, const ShardingPlan& plan)
    : comm_(comm), configs_(std::move(configs)), features_(internal::ListFeatures(configs_)) {
  TESSERA_CHECK_EQ(plan.world_size, comm.size(), "ranks of the plan, and of the communicator");
  CheckPlan(plan, ShapesOf(configs_));
  CheckSameOnAllRanks(comm, "the sharding plan", PlanLines(plan));
  const std::vector<int64_t> num_parts = CheckedNumParts(managed, configs_);
  for (size_t t = 0; t < configs_.size(); ++t)
    TESSERA_CHECK(num_parts[t] > 0, "managed collision: table {} has no modules", configs_[t].name);
  layout_ = std::make_shared<const DistLayout>(configs_, features_, plan, num_parts);
  modules_ = std::make_unique<ShardedManagedCollisionModules>(ctx, managed, configs_, *layout_,
                                                              comm.rank());
}

KeyedJaggedTensor ShardedManagedCollisionCollection::Forward(Context& ctx,
                                                             const KeyedJaggedTensor& features) {
  std::vector<DistFeature> read;
  for (const EmbeddingFeature& f : features_) read.push_back(FeatureOfKey(features, f.key));
  const KeyedJaggedTensor ids = features.is_weighted() ? features.WithWeights({}) : features;
  InputDist input = InputDist::Start(ctx, layout_, comm_, ids, std::move(read)).Wait();
  modules_->Remap(ctx, input);
  return StartReturnRows(ctx, comm_, *layout_, features_, input, features).Wait();
}

}  // namespace tessera
