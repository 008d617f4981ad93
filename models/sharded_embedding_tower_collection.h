#ifndef TESSERA_MODELS_SHARDED_EMBEDDING_TOWER_COLLECTION_H_
#define TESSERA_MODELS_SHARDED_EMBEDDING_TOWER_COLLECTION_H_
// Towers on several ranks, each whole on one of them (TorchRec's ShardedEmbeddingTowerCollection,
// which spreads a tower over the ranks of a node instead):
//
//   forward    features to the ranks of their towers -> towers, on all ranks' examples
//              -> outputs home, [B, ΣN] in the order of the towers
//   backward   gradients of the outputs, divided by R, to the towers
//
// A step of all ranks, each with the mean over its own examples as its loss, is a step of one
// process with the mean of these losses: tables and the interaction's parameters alike. Those
// parameters are on the tower's rank alone, and no other rank has a part in their gradient.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "models/embedding_tower.h"
#include "runtime/context.h"

namespace tessera {

// Facts about a tower that all ranks know.
struct TowerPlace {
  int rank = 0;
  std::vector<std::string> features;  // keys that it reads
  int64_t output_size = 0;            // N
  bool is_weighted = false;
  // Called on its rank alone.
  std::function<std::unique_ptr<EmbeddingTower>(Context&)> make;
};

class ShardedEmbeddingTowerCollection final : public Module {
 public:
  // Takes the same places on all ranks; `comm` outlives it. Throws Error for no towers, a rank that
  // is out of range, or a tower that takes weights where its place says otherwise.
  ShardedEmbeddingTowerCollection(Context& ctx, Communicator& comm, std::vector<TowerPlace> towers);

  // Like EmbeddingTowerCollection::Forward: every rank gives its own examples and gets their
  // outputs. If one rank records a tape, all must, and each rank's loss must depend on its result.
  // Throws Error for a tower whose output has another size than its place says. Waits for a device.
  Variable Forward(Context& ctx, const KeyedJaggedTensor* features,
                   const KeyedJaggedTensor* weighted_features = nullptr);

  // Returns nullptr for a tower of another rank.
  EmbeddingTower* tower(size_t index) { return towers_[index].get(); }
  // Appends the parameters of this rank's towers.
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  // The keys of rank r's towers with such weights, each once.
  std::vector<std::string> KeysOf(int rank, bool weighted) const;
  // All ranks' examples of this rank's keys.
  KeyedJaggedTensor Gathered(Context& ctx, const KeyedJaggedTensor* features, bool weighted) const;
  Variable LocalOutputs(Context& ctx, const KeyedJaggedTensor& features,
                        const KeyedJaggedTensor& weighted, int64_t examples);
  // Reorders columns from the order of the ranks to the order of the towers.
  Variable InOrder(Context& ctx, const Variable& outputs) const;
  bool Any(bool weighted) const;

  Communicator& comm_;
  std::vector<TowerPlace> places_;
  std::vector<std::unique_ptr<EmbeddingTower>> towers_;
};

}  // namespace tessera
#endif  // TESSERA_MODELS_SHARDED_EMBEDDING_TOWER_COLLECTION_H_
