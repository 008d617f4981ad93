#ifndef TESSERA_MODELS_EMBEDDING_MODEL_H_
#define TESSERA_MODELS_EMBEDDING_MODEL_H_
// Base class of models over pooled tables: it has the tables, parameters and a state_dict. Tables
// may be sharded over ranks; each rank then has a model, with its own copy of all else.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "embedding/managed_collision/managed_collision_config.h"
#include "embedding/managed_collision/managed_collision_embedding.h"
#include "models/layers/module.h"
#include "models/ranking_net_config.h"
#include "runtime/tensor.h"
#include "sharding/managed_collision/sharded_managed_collision_embedding.h"

namespace tessera {

// Ranks and plan of tables that are sharded.
struct ModelSharding {
  Communicator* comm = nullptr;  // which outlives the model
  ShardingPlan plan;             // of all tables
  ShardingOptions options = {};
};

// The module that finds the rows of a table's raw ids: of all of them, or of this rank's parts.
struct ManagedModule {
  std::string table;
  ManagedCollisionModule* module = nullptr;
};

// A part of a sharded table with the rule Dense that this rank holds: a variable, whose gradient
// counts all ranks' batches, with a name of its own.
struct DensePart {
  HeldShard held;
  NamedParameter parameter;  // "<table_prefix><table>[r0:r1,c0:c1].weight"
};

// Names in which a state dict and the model that it is loaded into differ (PyTorch's missing_keys,
// unexpected_keys).
struct UnmatchedNames {
  std::vector<std::string> missing;     // of the model's, which stay as they were
  std::vector<std::string> unexpected;  // of the state dict's, which are left
};

// Tables with managed collision take raw ids; a forward that is recorded may give these rows.
//
// The names of tables are `table_prefix` + table + ".weight". They are parameters only with the
// rule Dense, but always in StateDict.
class EmbeddingModel : public Module {
 public:
  using Embeddings =
      std::variant<EmbeddingBagCollection, ManagedCollisionEmbeddingBagCollection,
                   ShardedEmbeddingBagCollection, ShardedManagedCollisionEmbeddingBagCollection>;

  // The rows of all features, pooled, in table order, then feature order in the table: [B, ΣD].
  Variable Pool(Context& ctx, const KeyedJaggedTensor& features);

  // Appends what the dense optimizer trains: all but the tables that are updated inside backward,
  // and those that are sharded: see DenseParts.
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const final;
  // The parts of sharded tables with the rule Dense that this rank holds. The dense optimizer of
  // this rank trains them, too; their gradients are not averaged over ranks.
  std::vector<DensePart> DenseParts() const;
  // Everything a state_dict of this model has, but sharded tables; shares memory.
  std::vector<NamedTensor> StateDict() const;
  // Copies these, all that StateDict names, into the model. Throws Error, and changes nothing, for
  // a name that is missing, unknown or given twice, or a wrong shape or dtype. Without `strict`,
  // names may be missing, and unknown ones are left: what is returned says which.
  UnmatchedNames LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors,
                               bool strict = true);

  // Returns the state_dict of the model without shards: sharded tables are put together on every
  // rank. Copies, on ctx's device; tables on disk in host memory. Every rank calls.
  std::vector<NamedTensor> WholeStateDict(Context& ctx);
  // Each rank takes its parts. Every rank calls with the same tensors; if one's are refused, every
  // rank throws Error, and nothing has changed.
  UnmatchedNames LoadWholeStateDict(Context& ctx, const std::vector<NamedTensor>& tensors,
                                    bool strict = true);

  // State of managed collision (for sharded tables, of this rank's parts), as
  // "<table_prefix><table>.<name>"; copies.
  std::vector<NamedTensor> IdStateDict(Context& ctx);
  // Loads what IdStateDict returned. Throws Error for names that are missing or of no table, and
  // for tensors that a module refuses; those of tables before it are then taken.
  void LoadIdStateDict(Context& ctx, const std::vector<NamedTensor>& tensors);
  // "<table_prefix><table>.".
  std::string IdPrefix(const std::string& table) const { return table_prefix_ + table + "."; }

  const std::string& table_prefix() const { return table_prefix_; }
  // The collection that Pool asks.
  Embeddings& embeddings() { return embeddings_; }
  // REQUIRES: tables that are not sharded.
  EmbeddingBagCollection& embedding_bag_collection();
  const EmbeddingBagCollection& embedding_bag_collection() const;
  // Modules of tables with managed collision, in order; of sharded tables, those that this rank has
  // parts of.
  std::vector<ManagedModule> managed_modules();
  // Returns nullptr if the tables are not sharded.
  ShardedEmbeddingBagCollection* sharded();
  const ShardedEmbeddingBagCollection* sharded() const;
  // Returns nullptr if the tables are not sharded, or have no managed collision.
  ShardedManagedCollisionModules* sharded_modules();

 protected:
  // Makes a model; with `sharding` every rank makes one, and the same ctx.random() gives the same
  // numbers as without. Throws Error for managed collision of no table, or of a sharded one that is
  // in no parts.
  EmbeddingModel(Context& ctx, std::string table_prefix,
                 const std::vector<EmbeddingBagConfig>& tables,
                 const EmbeddingBagCollectionOptions& options,
                 const std::optional<ModelSharding>& sharding,
                 const ManagedTableConfigs& managed_collision = {});

  // All but tables.
  virtual void AppendDenseParameters(const std::string& prefix,
                                     std::vector<NamedParameter>& out) const = 0;

 private:
  static Embeddings MakeEmbeddings(Context& ctx, const std::vector<EmbeddingBagConfig>& tables,
                                   const EmbeddingBagCollectionOptions& options,
                                   const std::optional<ModelSharding>& sharding,
                                   const ManagedTableConfigs& managed_collision);
  std::vector<NamedTensor> TableTensors() const;
  void Take(Context& ctx, const std::map<std::string, Tensor>& given);

  std::string table_prefix_;
  Embeddings embeddings_;
};

// The blocks of columns of the pooled rows of a net's tables.
std::vector<PooledFeature> PooledFeatures(const std::vector<EmbeddingBagConfig>& tables,
                                          const RankingNetConfig& net);

}  // namespace tessera
#endif  // TESSERA_MODELS_EMBEDDING_MODEL_H_
