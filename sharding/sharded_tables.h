#ifndef TESSERA_SHARDING_SHARDED_TABLES_H_
#define TESSERA_SHARDING_SHARDED_TABLES_H_
// A TableBatchedEmbedding cut over ranks by a plan: every rank gives its own bags and gets their
// embeddings, as if it had all tables. The sharded collections are built on it.
//
//   forward    ids -> input_dist -> lookup of this rank's parts -> output_dist
//   backward   gradients -> output_dist in reverse -> update of this rank's parts
//
// A step acts on the bags of all ranks as on one batch: a row's gradient is summed over them (in
// the order of the ranks), divided by their number if asked, and its rule acts once. Under
// gradient division a loss that is a mean over each rank's equal batch trains as the mean over all
// of them, as dense parameters do whose gradients are averaged. (TorchRec's convention.)
//
// A rule that sums over a row (row-wise Adagrad) sums over the columns of a shard: under
// column_wise, table_column_wise and grid_shard it has a state for each block of columns. All else
// is as without shards, but for the order of some sums: tables split over rows add partial sums.
//
// Every rank makes the same calls in the same order. Ranks may have different batches, also none.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.h"
#include "embedding/table_batched_embedding.h"
#include "runtime/context.h"
#include "sharding/exchange/dedup.h"
#include "sharding/exchange/input_dist.h"
#include "sharding/exchange/node/node_dedup.h"
#include "sharding/exchange/output_dist.h"

namespace tessera {

// Options that sharding adds to those of a collection.
struct ShardingOptions {
  // Codecs of the rows sent between ranks and of their gradients; a rank's own rows are encoded
  // too, so that they have the same bits. Ids, and all of data_parallel tables, are sent as they
  // are. (`dense` is DistributedModelParallel's.)
  WireCodecs codecs = {};
  // Gradients of rows are divided by the number of ranks; false: summed.
  bool gradient_division = true;
  // For sequences: each id of a table travels once a batch and rank, or node; its row comes back
  // once, and gradients of a row are summed before they travel (sharding/exchange/dedup.h,
  // node/node_dedup.h). Rows are the same; updates differ by the order of these sums, which for
  // kNode depends on which ranks share a node. Nodes have the plan's local_size ranks.
  IdDedup dedup_ids = IdDedup::kNone;
  // One entry a table, or none: number of parts into which a hash cuts the table's ids, any 64-bit
  // numbers (hash_parts.h); 0: ids are row numbers. A caller that asks for parts replaces ids by
  // rows of this rank's shard between input_dist and lookup (InputDist::SetRemapped), as
  // sharding/managed_collision does; a forward without that is an error.
  std::vector<int64_t> num_parts = {};
  // How pooled rows return to the ranks of their bags, over nodes of the plan's local_size ranks.
  OutputRoute route = OutputRoute::kAuto;
};

struct ShardedTablesOptions {
  bool weighted = false;
  // Bounds check of ids before they leave their rank, on each rank on its own.
  BoundsCheckMode bounds_check = BoundsCheckMode::kFatal;
  float max_gradient = 0;  // above 0: incoming gradients are clamped to ± this
  DType output_type = DType::kF32;
  std::optional<uint64_t> rounding_seed = {};
  ShardingOptions sharding = {};
};

// A part of a table that this rank holds.
struct HeldShard {
  std::string table;
  Shard shard;
  bool replicated = false;  // every rank has one like it
  TableBatchedEmbedding* tables;
  int index;  // in `tables`
};

class ShardedTables {
 public:
  // REQUIRES: the same arguments and the same ctx.random() on all ranks; all poolings are NONE or
  // none is. Rows start as without shards: an init_fn is called for the whole table, on every rank.
  // Throws Error for a plan that does not fit the tables (CheckPlan) or the ranks, for settings
  // that differ between ranks (sharded_settings.h), for dedup_ids of pooled tables, and for
  // dedup_ids kNode beside the route kDirect.
  ShardedTables(Context& ctx, Communicator& comm, std::vector<BaseEmbeddingConfig> tables,
                std::vector<PoolingType> poolings, std::vector<EmbeddingFeature> features,
                const ShardingPlan& plan, ShardedTablesOptions options = {});

  // The two halves of a forward, of the same kjt. Other work may be done before each result is
  // waited for.
  Awaitable<InputDist> StartInputDist(Context& ctx, const KeyedJaggedTensor& kjt) {
    return StartInputDist(ctx, kjt, comm_);
  }
  // Starts an input_dist over `comm`, a group of the same ranks. With a group of its own
  // (comm().Split), a second thread makes the input_dists of batches to come, one after another,
  // while this one trains: on one group, the calls of two threads could come in another order on
  // each rank. Without a tape on ctx nothing is recorded, and weights of ids get no gradient. Call
  // PrepareInputDist first, from the thread that makes groups; every rank calls.
  Awaitable<InputDist> StartInputDist(Context& ctx, const KeyedJaggedTensor& kjt,
                                      Communicator& comm);
  void PrepareInputDist(Communicator& comm) const;
  // Looks rows up and starts the output_dist. Pooled: one matrix [B, ΣD], columns in the order of
  // the features; sequences: one [N_f, D] a feature.
  Awaitable<std::vector<Variable>> StartOutputDist(Context& ctx, const KeyedJaggedTensor& kjt,
                                                   const InputDist& input);
  // Both halves, one after the other.
  std::vector<Variable> Forward(Context& ctx, const KeyedJaggedTensor& kjt);

  // Like TableCaches'. Prefetch brings rows of this rank's parts, for the ids that came by the
  // input_dist; throws Error for raw ids that SetRemapped has not replaced.
  void Prefetch(Context& ctx, const InputDist& input);
  void ForgetPrefetched();
  // Like TableBatchedEmbedding's.
  void AllowForwardsAhead(int forwards);
  // Like TableBatchedEmbedding's; every rank calls. Throws Error with dedup_ids, which sums a row's
  // gradients within one forward.
  void AccumulateForwards(int forwards);
  void CheckForwardIsStep(std::string_view what) const;

  // Configurations of the tables, with the current learning rates.
  const std::vector<BaseEmbeddingConfig>& tables() const { return tables_; }
  const std::vector<EmbeddingFeature>& features() const { return features_; }
  const ShardingPlan& plan() const { return plan_; }
  // Layout of what StartInputDist sends: with dedup_ids a feature is a table.
  const DistLayout& layout() const { return *layout_; }
  // The exchange of rows over nodes; nullptr where rows return directly.
  const NodeExchange* by_node() const { return form_->by_node.get(); }
  // Whether each id travels once a node: dedup_ids is kNode, and nodes have several ranks.
  bool dedups_in_nodes() const { return node_dedup_ != nullptr; }
  const ShardedTablesOptions& options() const { return options_; }
  Communicator& comm() const { return comm_; }
  // In the order of the tables; parts of one in the order of the plan.
  std::vector<HeldShard> shards() const;
  // The embeddings that hold this rank's tables: the parts of cut tables, and the tables that every
  // rank has; either may be missing.
  std::vector<TableBatchedEmbedding*> parts() const;
  // Flush and reset the caches of all parts() (embedding/table_caches.h).
  void Flush(Context& ctx) const;
  void ResetCaches(Context& ctx) const;
  // Resets caches and counts all rows as changed (TableRows::TouchAll), where they were loaded.
  void ForgetOldRows(Context& ctx) const;
  // lr times the table's lr_scale, for every table; lr itself, for one, in the order of tables().
  // Every rank sets the same rates. REQUIRES: a table that is there.
  void SetLearningRate(float lr);
  void SetLearningRate(int table, float lr);
  // Steps so far, as t of the rules: the same on every rank. set_iter sets that of every table.
  int64_t iter() const;
  void set_iter(int64_t iter);
  // The max_counter of a table's rule, in the order of tables(), and the largest of all, as
  // TableBatchedEmbedding::max_counter; the same on every rank.
  float max_counter(int table) const;
  float max_counter() const;
  void set_max_counter(int table, float max_counter);
  // Findings of the bounds check of this rank's own ids in mode WARNING; waits for the device.
  BoundsCheckReport bounds_check_report() const { return findings_.ReportSync(); }

 private:
  void MakeForm(const std::vector<PoolingType>& poolings);
  void MakeParts(Context& ctx, const std::vector<PoolingType>& poolings);
  std::vector<DistFeature> ReadFeatures(Context& ctx, const KeyedJaggedTensor& kjt);
  void CheckRemapped(const InputDist& input) const;
  void BeginStep(Context& ctx);
  float LargestCounterSync(Context& ctx) const;
  bool dedups() const { return options_.sharding.dedup_ids != IdDedup::kNone; }

  Communicator& comm_;
  std::vector<BaseEmbeddingConfig> tables_;
  std::vector<EmbeddingFeature> features_;
  std::vector<EmbeddingFeature> sent_features_;  // one a table, if ids are made unique
  ShardingPlan plan_;
  ShardedTablesOptions options_;
  std::shared_ptr<const DistLayout> layout_;
  std::shared_ptr<OutputForm> form_;
  std::unique_ptr<const NodeDedup> node_dedup_;
  BoundsCheckLog findings_;
  std::unique_ptr<TableBatchedEmbedding> own_, replicas_;  // null without tables
  int64_t iter_ = 0;
  int forwards_of_step_ = 1, forwards_done_ = 0;
};

}  // namespace tessera
#endif  // TESSERA_SHARDING_SHARDED_TABLES_H_
