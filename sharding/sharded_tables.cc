#include "sharding/sharded_tables.h"

#include <algorithm>
#include <utility>

#include "comm/leader.h"
#include "embedding/lookup/feature_ids.h"
#include "embedding/table/own_batches.h"
#include "runtime/base/build_id.h"
#include "runtime/tensor.h"
#include "sharding/exchange/replica_exchange.h"
#include "sharding/kernel_location.h"
#include "sharding/part_init.h"
#include "sharding/plan/column_cuts.h"
#include "sharding/plan/plan_json.h"
#include "sharding/sharded_settings.h"

namespace tessera {
namespace {

ShardingPlan Checked(const ShardingPlan& plan, const std::vector<BaseEmbeddingConfig>& tables,
                     Communicator& comm) {
  TESSERA_CHECK_EQ(plan.world_size, comm.size(), "ranks of the plan, and of the communicator");
  CheckPlan(plan, ShapesOf(tables));
  for (const BaseEmbeddingConfig& t : tables)
    TESSERA_CHECK(!t.growing || t.index_remap == nullptr,
                  "table {}: it grows, so it cannot be pruned", t.name);
  for (const BaseEmbeddingConfig& t : tables)
    CheckColumnCut(t.name, plan.tables.at(t.name), t.embedding_dim, RuleName(t.optimizer));
  CheckSameOnAllRanks(comm, "the program's build", BuildId());
  CheckSameOnAllRanks(comm, "the sharding plan", PlanLines(plan));
  return plan;
}

// Replicas start alike, and round alike by chance, only if all ranks draw the same random numbers.
void CheckReplicasStartAlike(Context& ctx, Communicator& comm, const DistLayout& layout) {
  if (std::find(layout.replicated.begin(), layout.replicated.end(), true) ==
      layout.replicated.end())
    return;
  CheckSameOnAllRanks(
      comm, "the seed of Context and the sequences drawn, where tables are data_parallel",
      Format("seed {}, {} sequences", ctx.random().seed(), ctx.random().next_sequence()));
}

// One feature for each table, which reads the table's distinct ids.
std::vector<EmbeddingFeature> FeaturePerTable(const std::vector<BaseEmbeddingConfig>& tables) {
  std::vector<EmbeddingFeature> features;
  for (size_t t = 0; t < tables.size(); ++t)
    features.push_back({tables[t].name, static_cast<int>(t), std::to_string(t)});
  return features;
}

// Whether there are nodes, of several ranks.
bool HasNodes(const ShardingPlan& plan) {
  return plan.local_size > 1 && plan.local_size < plan.world_size;
}

std::shared_ptr<const DistLayout> MakeLayout(const std::vector<BaseEmbeddingConfig>& tables,
                                             const std::vector<EmbeddingFeature>& features,
                                             const ShardingPlan& plan,
                                             const std::vector<PoolingType>& poolings,
                                             const ShardingOptions& options) {
  auto layout = std::make_shared<DistLayout>(tables, features, plan, options.num_parts);
  const bool sums =
      std::find(poolings.begin(), poolings.end(), PoolingType::kNone) == poolings.end();
  if (sums && HasNodes(plan) &&
      (options.route == OutputRoute::kByNode ||
       (options.route == OutputRoute::kAuto && PaysByNode(*layout, plan.local_size))))
    layout->local_size = plan.local_size;
  return layout;
}

}  // namespace

ShardedTables::ShardedTables(Context& ctx, Communicator& comm,
                             std::vector<BaseEmbeddingConfig> tables,
                             std::vector<PoolingType> poolings,
                             std::vector<EmbeddingFeature> features, const ShardingPlan& plan,
                             ShardedTablesOptions options)
    : comm_(comm),
      tables_(std::move(tables)),
      features_(std::move(features)),
      sent_features_(options.sharding.dedup_ids == IdDedup::kNone ? features_
                                                                  : FeaturePerTable(tables_)),
      plan_(Checked(plan, tables_, comm)),
      options_(std::move(options)),
      layout_(MakeLayout(tables_, sent_features_, plan_, poolings, options_.sharding)) {
  TESSERA_CHECK_EQ(poolings.size(), tables_.size(), "poolings, one a table");
  CheckSameOnAllRanks(comm_, "the settings of sharded tables",
                      internal::SettingsText(tables_, poolings, features_, options_));
  CheckReplicasStartAlike(ctx, comm_, *layout_);
  for (BaseEmbeddingConfig& table : tables_)
    table.location = LocationUnder(plan_.tables.at(table.name).kernel, table.location);
  std::vector<std::string> names;
  for (const EmbeddingFeature& f : features_)
    if (!layout_->HasParts(f.table)) names.push_back(f.name);
  findings_ = BoundsCheckLog(ctx, std::move(names));
  MakeForm(poolings);
  if (options_.sharding.dedup_ids == IdDedup::kNode && HasNodes(plan_))
    node_dedup_ = std::make_unique<const NodeDedup>(comm_, *form_, plan_.local_size);
  MakeParts(ctx, poolings);
}

void ShardedTables::MakeForm(const std::vector<PoolingType>& poolings) {
  form_ = std::make_shared<OutputForm>();
  form_->layout = layout_;
  form_->nodes = BlocksOfNodes(*layout_);
  if (layout_->local_size > 1)
    form_->by_node = std::make_shared<const NodeExchange>(comm_, layout_);
  if (!dedups()) {
    form_->output_type = options_.output_type;
    form_->max_gradient = options_.max_gradient;
  }
  form_->codecs = options_.sharding.codecs;
  const auto sequences = std::count(poolings.begin(), poolings.end(), PoolingType::kNone);
  form_->sequences = sequences > 0;
  TESSERA_CHECK(sequences == 0 || sequences == static_cast<int64_t>(poolings.size()),
                "{} of {} sharded tables have pooling NONE; expected all or none", sequences,
                poolings.size());
  TESSERA_CHECK(form_->sequences || !dedups(), "dedup_ids is for sequences; the tables are pooled");
  TESSERA_CHECK(options_.sharding.dedup_ids != IdDedup::kNode ||
                    options_.sharding.route != OutputRoute::kDirect,
                "dedup_ids = node beside route = direct: an id that travels once a node has its "
                "row return by node; expected dedup_ids = rank, or another route");
  int replicas = 0;
  for (const EmbeddingFeature& f : sent_features_) {
    const auto t = static_cast<size_t>(f.table);
    form_->features.push_back({f.key, tables_[t].embedding_dim,
                               layout_->row_split[t] && poolings[t] == PoolingType::kMean,
                               layout_->replicated[t] ? replicas++ : -1});
  }
}

void ShardedTables::MakeParts(Context& ctx, const std::vector<PoolingType>& poolings) {
  const DistRank& mine = layout_->ranks[static_cast<size_t>(comm_.rank())];
  std::vector<BaseEmbeddingConfig> own, replicas;
  std::vector<PoolingType> own_poolings, replica_poolings;
  std::vector<int> replica_of(tables_.size(), -1);
  internal::WholeTables wholes;
  std::vector<internal::PartInit> inits;
  for (size_t t = 0; t < tables_.size(); ++t) {
    const bool here = layout_->replicated[t] ||
                      std::any_of(mine.tables.begin(), mine.tables.end(), [&](const DistTable& d) {
                        return d.table == static_cast<int>(t);
                      });
    inits.push_back(internal::MakePartInit(ctx, tables_[t], here, wholes));
    if (!layout_->replicated[t]) continue;
    replica_of[t] = static_cast<int>(replicas.size());
    replicas.push_back(internal::PartConfig(
        tables_[t], {comm_.rank(), 0, 0, tables_[t].num_embeddings, tables_[t].embedding_dim},
        inits.back()));
    // Ids of replicas do not travel first, and so are not remapped on the way, unless they are made
    // unique.
    if (!dedups()) {
      replicas.back().index_remap = tables_[t].index_remap;
      replicas.back().bounds_check = tables_[t].bounds_check;
    }
    replica_poolings.push_back(poolings[t]);
  }
  for (const DistTable& d : mine.tables) {
    const auto t = static_cast<size_t>(d.table);
    const ComputeKernel kernel = plan_.tables.at(tables_[t].name).kernel;
    TESSERA_CHECK(
        kernel != ComputeKernel::kDense || std::holds_alternative<Dense>(tables_[t].optimizer),
        "table {}: the plan's kernel is dense, its rule {}; expected rule dense", tables_[t].name,
        RuleName(tables_[t].optimizer));
    own.push_back(internal::PartConfig(tables_[t], d.shard, inits[t]));
    // A rank with some of the rows sees only some ids of a bag: it sums them, and the rank of the
    // bag divides by the bag's length.
    own_poolings.push_back(form_->sequences        ? PoolingType::kNone
                           : layout_->row_split[t] ? PoolingType::kSum
                                                   : poolings[t]);
  }
  TableBatchedEmbeddingOptions part_options = {
      .weighted = options_.weighted,
      .bounds_check = BoundsCheckMode::kNone,
      .rounding_seed = options_.rounding_seed,
      .sharding = {.gradient_scale = options_.sharding.gradient_division
                                         ? 1.0f / static_cast<float>(comm_.size())
                                         : 1.0f,
                   .shares_max_counter = true}};
  const auto by_chance = [](const BaseEmbeddingConfig& t) { return t.stochastic_rounding; };
  if (!part_options.rounding_seed && std::any_of(tables_.begin(), tables_.end(), by_chance)) {
    const PhiloxBits bits = Philox(ctx.random().seed(), ctx.random().TakeSequence(), 0);
    part_options.rounding_seed = uint64_t{bits.v[1]} << 32 | bits.v[0];
  }
  std::vector<EmbeddingFeature> own_features, replica_features;
  for (const DistBlock& b : mine.blocks)
    own_features.push_back(
        {sent_features_[static_cast<size_t>(b.feature)].name, b.table, std::to_string(b.stream)});
  for (const EmbeddingFeature& f : sent_features_)
    if (const int table = replica_of[static_cast<size_t>(f.table)]; table >= 0)
      replica_features.push_back({f.name, table, f.key});
  if (!own.empty())
    own_ = std::make_unique<TableBatchedEmbedding>(ctx, std::move(own), std::move(own_poolings),
                                                   std::move(own_features), part_options);
  if (replicas.empty()) return;
  if (!dedups()) part_options.bounds_check = options_.bounds_check;
  part_options.sharding.exchange_updates = ExchangeWithReplicas(comm_, replica_features, replicas);
  replicas_ =
      std::make_unique<TableBatchedEmbedding>(ctx, std::move(replicas), std::move(replica_poolings),
                                              std::move(replica_features), part_options);
}

std::vector<DistFeature> ShardedTables::ReadFeatures(Context& ctx, const KeyedJaggedTensor& kjt) {
  kjt.FindTotals(ctx);
  std::vector<internal::ReadFeature> read;
  std::vector<DistFeature> features;
  for (const EmbeddingFeature& f : features_) {
    features.push_back(FeatureOfKey(kjt, f.key));
    if (layout_->HasParts(f.table)) continue;
    read.push_back(
        {f.name, static_cast<size_t>(kjt.IndexOf(f.key)), &tables_[static_cast<size_t>(f.table)]});
  }
  const std::vector<Tensor> ids =
      internal::ReadIds(ctx, options_.bounds_check, kjt, read, findings_);
  auto next = ids.begin();
  for (size_t f = 0; f < features.size(); ++f)
    if (!layout_->HasParts(features_[f].table)) features[f].ids = *next++;
  return features;
}

Awaitable<InputDist> ShardedTables::StartInputDist(Context& ctx, const KeyedJaggedTensor& kjt,
                                                   Communicator& comm) {
  TESSERA_CHECK(!options_.weighted || kjt.is_weighted(),
                "the collection is weighted, but the KeyedJaggedTensor has no weights");
  const KeyedJaggedTensor sent =
      options_.weighted || !kjt.is_weighted() ? kjt : kjt.WithWeights({});
  std::vector<DistFeature> features = ReadFeatures(ctx, kjt);
  if (!dedups()) return InputDist::Start(ctx, layout_, comm, sent, std::move(features));
  std::vector<int> tables;
  for (const EmbeddingFeature& f : features_) tables.push_back(f.table);
  const auto distinct =
      std::make_shared<const DedupedIds>(DedupIds(ctx, features, tables, tables_.size()));
  if (node_dedup_) return node_dedup_->StartInputDist(ctx, comm, distinct);
  return InputDist::Start(ctx, layout_, comm, distinct->kjt, distinct->features)
      .Then([distinct](InputDist dist) {
        dist.set_deduped(distinct);
        return dist;
      });
}

void ShardedTables::PrepareInputDist(Communicator& comm) const {
  if (node_dedup_) node_dedup_->PrepareInputDist(comm);
}

void ShardedTables::CheckRemapped(const InputDist& input) const {
  TESSERA_CHECK(input.remapped() || !layout_->AnyParts(),
                "{}: raw ids came, and nobody has made them rows", layout_->tables_text);
}

Awaitable<std::vector<Variable>> ShardedTables::StartOutputDist(Context& ctx,
                                                                const KeyedJaggedTensor& kjt,
                                                                const InputDist& input) {
  TESSERA_CHECK(form_->sequences || !kjt.variable_stride_per_key() ||
                    kjt.inverse_indices_or_none() != nullptr,
                "a KeyedJaggedTensor with a batch of its own for each key needs inverse indices");
  CheckRemapped(input);
  if (ctx.tape() != nullptr && forwards_done_++ % forwards_of_step_ == 0) BeginStep(ctx);
  const auto distinct = input.deduped();
  const KeyedJaggedTensor& sent = distinct ? distinct->kjt : kjt;
  EmbeddingOutputs own, replicas;
  if (own_) own = own_->ForwardAll(ctx, input.received().kjt);
  if (replicas_) replicas = replicas_->ForwardAll(ctx, internal::WithOwnBatches(ctx, sent));
  auto rows = node_dedup_
                  ? node_dedup_->StartOutputDist(ctx, input, std::move(own), std::move(replicas))
                  : tessera::StartOutputDist(ctx, form_, comm_, input, sent, std::move(own),
                                             std::move(replicas));
  if (!distinct) return rows;
  return std::move(rows).Then(
      [&ctx, distinct, options = SpreadOptions{options_.output_type, options_.max_gradient}](
          std::vector<Variable> of_ids) {
        return SpreadRows(ctx, distinct, std::move(of_ids), options);
      });
}

std::vector<Variable> ShardedTables::Forward(Context& ctx, const KeyedJaggedTensor& kjt) {
  const InputDist input = StartInputDist(ctx, kjt).Wait();
  return StartOutputDist(ctx, kjt, input).Wait();
}

std::vector<HeldShard> ShardedTables::shards() const {
  const DistRank& mine = layout_->ranks[static_cast<size_t>(comm_.rank())];
  std::vector<HeldShard> parts;
  int own = 0, replica = 0;
  for (size_t t = 0; t < tables_.size(); ++t) {
    const BaseEmbeddingConfig& table = tables_[t];
    if (layout_->replicated[t]) {
      parts.push_back({table.name,
                       {comm_.rank(), 0, 0, table.num_embeddings, table.embedding_dim},
                       true,
                       replicas_.get(),
                       replica++});
      continue;
    }
    for (; static_cast<size_t>(own) < mine.tables.size() &&
           mine.tables[static_cast<size_t>(own)].table == static_cast<int>(t);
         ++own)
      parts.push_back(
          {table.name, mine.tables[static_cast<size_t>(own)].shard, false, own_.get(), own});
  }
  return parts;
}

std::vector<TableBatchedEmbedding*> ShardedTables::parts() const {
  std::vector<TableBatchedEmbedding*> parts;
  for (TableBatchedEmbedding* part : {own_.get(), replicas_.get()})
    if (part != nullptr) parts.push_back(part);
  return parts;
}

void ShardedTables::Flush(Context& ctx) const {
  for (TableBatchedEmbedding* part : parts()) part->caches().Flush(ctx);
}

void ShardedTables::ResetCaches(Context& ctx) const {
  for (TableBatchedEmbedding* part : parts()) part->caches().Reset(ctx);
}

void ShardedTables::ForgetOldRows(Context& ctx) const {
  ResetCaches(ctx);
  for (TableBatchedEmbedding* part : parts()) part->rows().TouchAll();
}

void ShardedTables::Prefetch(Context& ctx, const InputDist& input) {
  CheckRemapped(input);
  if (own_) own_->caches().Prefetch(ctx, input.received().kjt);
}

void ShardedTables::ForgetPrefetched() {
  if (own_) own_->caches().ForgetPrefetched();
}

void ShardedTables::AllowForwardsAhead(int forwards) {
  for (TableBatchedEmbedding* part : parts()) part->AllowForwardsAhead(forwards);
}

void ShardedTables::AccumulateForwards(int forwards) {
  TESSERA_CHECK(forwards == 1 || !dedups(),
                "dedup_ids beside several forwards of one step: gradients of a row are summed "
                "before they travel, in each forward alone, so the step would not have the bits of "
                "one batch");
  for (TableBatchedEmbedding* part : parts()) part->AccumulateForwards(forwards);
  forwards_of_step_ = forwards;
  forwards_done_ = 0;
}

void ShardedTables::CheckForwardIsStep(std::string_view what) const {
  for (const TableBatchedEmbedding* part : parts()) part->CheckForwardIsStep(what);
}

}  // namespace tessera
