#ifndef TESSERA_TESTS_EMBEDDING_MANAGED_COLLISION_MANAGED_TABLES_H_
#define TESSERA_TESTS_EMBEDDING_MANAGED_COLLISION_MANAGED_TABLES_H_
// Small pooled tables with managed collision, and steps of training on them.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "embedding/managed_collision/managed_collision_embedding.h"
#include "embedding/managed_collision/mch_managed_collision_module.h"
#include "embedding/table/row_init.h"
#include "runtime/ops/arithmetic.h"

namespace tessera::testing {

template <typename Config>
Config Table(const std::string& name, int64_t rows, std::vector<std::string> features) {
  Config config;
  config.name = name;
  config.num_embeddings = rows;
  config.embedding_dim = 2;
  config.feature_names = std::move(features);
  config.init_fn = ConstantRows(0.5f);
  config.optimizer = RowwiseAdagrad{1.0f, 0.0f};
  return config;
}

inline std::shared_ptr<ManagedCollisionModule> Lru(int64_t rows) {
  return std::make_shared<MCHManagedCollisionModule>(
      MchOptions{.zch_size = rows, .eviction_policy = {.eviction = MchEviction::kLru}});
}

inline KeyedJaggedTensor Bags(Context& ctx, std::vector<std::string> keys, std::vector<int64_t> ids,
                              std::vector<int64_t> lengths) {
  return KeyedJaggedTensor::FromLengthsSync(std::move(keys), Tensor::From(ctx, ids),
                                            Tensor::From(ctx, lengths));
}

template <typename Config>
std::shared_ptr<ManagedCollisionCollection> Collection(std::vector<ManagedTable> modules,
                                                       const std::vector<Config>& configs) {
  return std::make_shared<ManagedCollisionCollection>(
      std::move(modules), std::vector<BaseEmbeddingConfig>(configs.begin(), configs.end()));
}

inline ManagedCollisionEmbeddingBagCollection OneTable(
    Context& ctx, std::shared_ptr<ManagedCollisionModule> module,
    bool return_remapped_features = false, bool growing = false) {
  std::vector<EmbeddingBagConfig> configs = {
      Table<EmbeddingBagConfig>("t", module->output_size(), {"a"})};
  configs[0].growing = growing;
  return {std::make_unique<EmbeddingBagCollection>(ctx, configs),
          Collection({{"t", std::move(module)}}, configs), return_remapped_features};
}

inline void TrainOn(Context& ctx, ManagedCollisionEmbeddingBagCollection& mc,
                    const KeyedJaggedTensor& kjt) {
  Tape tape(ctx);
  tape.Backward(Sum(ctx, mc.Forward(ctx, kjt).embeddings.values()));
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_EMBEDDING_MANAGED_COLLISION_MANAGED_TABLES_H_
