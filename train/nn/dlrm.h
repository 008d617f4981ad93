#ifndef TESSERA_TRAIN_NN_DLRM_H_
#define TESSERA_TRAIN_NN_DLRM_H_
// TorchRec's DLRM (torchrec/models/dlrm.py): dense features through an MLP to D numbers, each
// sparse feature pooled from its table to D numbers, the dot products of all pairs beside the dense
// part, an MLP to one logit. The tables are here, or sharded over ranks, on each of which is a model
// with its own copy of all else.
#include <functional>
#include <utility>
#include <variant>
#include <vector>

#include "embedding/embedding_bag_collection.h"
#include "sharding/sharded_embedding_bag_collection.h"
#include "train/nn/over_arch.h"

namespace tessera {

struct DlrmConfig {
  std::vector<EmbeddingBagConfig> tables;
  int64_t dense_in = 0;             // dense features
  std::vector<int64_t> dense_arch;  // sizes of the lower MLP; the last is D, the dim of every table
  std::vector<int64_t> over_arch;   // sizes of the upper MLP; the last is 1
  EmbeddingBagCollectionOptions embeddings;
};

// Inputs and outputs of every linear layer of both MLPs, in the order of Dlrm's parameters.
std::vector<std::pair<int64_t, int64_t>> LinearLayersOf(const DlrmConfig& config);

// Parameters in this order, with TorchRec's names (tables are parameters only with the rule Dense,
// but always in StateDict):
//   sparse_arch.embedding_bag_collection.embedding_bags.<table>.weight
//   dense_arch.model._mlp.<i>._linear.{weight,bias}
//   over_arch.model.0._mlp.<i>._linear.{weight,bias}, over_arch.model.1.{weight,bias}
class Dlrm final : public Module {
 public:
  // Throws Error for sizes that don't fit: a table whose dim is not the last of dense_arch, an
  // over_arch that doesn't end in 1.
  Dlrm(Context& ctx, DlrmConfig config);
  // With sharded tables; every rank makes one. The same ctx.random() gives the same numbers as
  // without shards. Throws Error for a table with the rule Dense, too.
  Dlrm(Context& ctx, DlrmConfig config, Communicator& comm, const ShardingPlan& plan,
       ShardingOptions sharding = {});

  // dense [B, dense_in], features with stride B -> logits [B].
  Variable Forward(Context& ctx, const Variable& dense, const KeyedJaggedTensor& features);

  // What the dense optimizer trains: all but the tables that are updated inside backward.
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;
  // Everything a state_dict of this model has, but sharded tables; shares memory.
  std::vector<NamedTensor> StateDict() const;
  // Copies these, all that StateDict names, into the model. Throws Error, and changes nothing, for a
  // name that is missing, unknown or given twice, or a wrong shape or dtype.
  void LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors);

  const DlrmConfig& config() const { return config_; }
  // REQUIRES: tables that are not sharded.
  EmbeddingBagCollection& embedding_bag_collection();
  const EmbeddingBagCollection& embedding_bag_collection() const;
  // Null unless they are.
  ShardedEmbeddingBagCollection* sharded() {
    return std::get_if<ShardedEmbeddingBagCollection>(&embeddings_);
  }
  const ShardedEmbeddingBagCollection* sharded() const {
    return std::get_if<ShardedEmbeddingBagCollection>(&embeddings_);
  }
  static constexpr char kTablePrefix[] = "sparse_arch.embedding_bag_collection.embedding_bags.";
  // "sparse_arch.embedding_bag_collection.embedding_bags.<table>.weight".
  static std::string TableParameterName(const std::string& table);

 private:
  // Both pool a KJT to a KeyedTensor.
  using Embeddings = std::variant<EmbeddingBagCollection, ShardedEmbeddingBagCollection>;
  Dlrm(Context& ctx, DlrmConfig config,
       const std::function<Embeddings(const DlrmConfig&)>& make_embeddings);
  void AppendDenseTables(const std::string& prefix, std::vector<NamedParameter>& out) const;

  DlrmConfig config_;
  Embeddings embeddings_;
  Mlp dense_arch_;
  OverArch over_arch_;
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_NN_DLRM_H_
