#ifndef TESSERA_TESTS_TRAIN_PIPELINE_TESTING_SMALL_EMBEDDINGS_H_
#define TESSERA_TESTS_TRAIN_PIPELINE_TESTING_SMALL_EMBEDDINGS_H_
// Three small tables in a collection of any kind that pipelines know, here or on ranks:
//
//   bags, sequences           ids of f0 are rows of t0
//   raw_bags, raw_sequences   they are raw, and there are more than rows (managed collision)
//   itep_bags, itep_sequences there are more than rows (pruning)
//   processed                 pooled, with weights by position that are learned
#include <memory>
#include <string>
#include <vector>

#include "embedding/managed_collision/hash_zch_managed_collision_module.h"
#include "embedding/position_weighted.h"
#include "runtime/ops/shaping.h"
#include "sharding/plan/plan_makers.h"
#include "train/pipeline/pipelined_embeddings.h"

namespace tessera::testing {

struct SmallKind {
  std::string name = "bags";
  bool cached = false;             // tables have caches
  IdDedup dedup = IdDedup::kNone;  // of sequences; kNode: nodes have two ranks

  bool raw() const { return name.starts_with("raw"); }
  bool itep() const { return name.starts_with("itep"); }
  bool sequences() const { return name.ends_with("sequences"); }
};

inline constexpr int64_t kSmallRows = 48, kSmallParts = 6, kSmallIds = 120;

template <typename Config>
std::vector<Config> SmallConfigs(bool cached) {
  std::vector<Config> tables(3);
  const int64_t rows[] = {kSmallRows, 30, 5};
  const std::vector<std::string> features[] = {{"f0"}, {"f1", "f2"}, {"f3"}};
  for (size_t t = 0; t < 3; ++t) {
    tables[t].name = "t" + std::to_string(t);
    tables[t].num_embeddings = rows[t];
    tables[t].embedding_dim = 4;
    tables[t].feature_names = features[t];
    if (cached) tables[t].location = EmbeddingLocation::kManagedCaching;
    tables[t].cache = {.ways = 2, .load_factor = 0.3};
  }
  tables[0].optimizer = Adam{.lr = 0.05f};
  tables[1].optimizer = RowwiseAdagrad{.lr = 0.1f};
  tables[2].optimizer = Sgd{.lr = 0.1f};
  if constexpr (requires { tables[2].pooling; }) tables[2].pooling = PoolingType::kMean;
  return tables;
}
inline std::vector<EmbeddingBagConfig> SmallTables(bool cached) {
  return SmallConfigs<EmbeddingBagConfig>(cached);
}

// A row of each table to every rank; with `cached`, whole tables that have caches.
inline ShardingPlan SmallPlan(int ranks, const SmallKind& kind) {
  std::vector<TableShape> shapes;
  for (const EmbeddingBagConfig& t : SmallTables(false))
    shapes.push_back({t.name, t.num_embeddings, t.embedding_dim});
  const auto on = [&](TableSharder sharder) {
    return kind.cached ? WithKernel(std::move(sharder), ComputeKernel::kFusedUvmCaching) : sharder;
  };
  const int local_size = kind.dedup == IdDedup::kNode && ranks % 2 == 0 ? 2 : ranks;
  return MakeShardingPlan({ranks, local_size}, shapes,
                          {{"t0", on(kind.raw() ? RowWiseBuckets(kSmallParts) : RowWise())},
                           {"t1", on(TableWise(ranks - 1))},
                           {"t2", kind.cached ? on(TableWise(0)) : DataParallel()}});
}

// One matrix of a batch, [B, SmallWidth].
inline Variable SmallMatrix(Context&, const KeyedTensor& rows) { return rows.values(); }
inline Variable SmallMatrix(Context& ctx, const NamedSequences& rows) {
  std::vector<std::string> names;
  std::vector<Variable> padded;
  for (const auto& [name, feature] : rows) {
    names.push_back(name);
    padded.push_back(Reshape(ctx, feature.ToPaddedDense(ctx, 3), {feature.batch_size(), 12}));
  }
  return KeyedTensor::FromTensorList(ctx, names, padded).values();
}
template <typename Output>
requires requires(const Output& output) { output.embeddings; }
Variable SmallMatrix(Context& ctx, const Output& output) {
  return SmallMatrix(ctx, output.embeddings);
}
inline int64_t SmallWidth(const SmallKind& kind) { return kind.sequences() ? 4 * 12 : 4 * 4; }

class SmallEmbeddings {
 public:
  virtual ~SmallEmbeddings() = default;
  virtual Variable Pool(Context& ctx, const KeyedJaggedTensor& features) = 0;
  virtual std::unique_ptr<PipelinedEmbeddings> Pipelined() = 0;
  // One of the two is null.
  virtual TableBatchedEmbedding* tables() = 0;
  virtual ShardedTables* shards() = 0;
  virtual void AppendParameters(std::vector<NamedParameter>&) {}
  // State of raw ids.
  virtual std::vector<NamedTensor> IdState(Context&) { return {}; }
};

template <typename Collection>
class SmallEmbeddingsOf final : public SmallEmbeddings {
 public:
  template <typename... Args>
  explicit SmallEmbeddingsOf(Args&&... args) : collection_(std::forward<Args>(args)...) {}

  Variable Pool(Context& ctx, const KeyedJaggedTensor& features) override {
    return SmallMatrix(ctx, collection_.Forward(ctx, features));
  }
  std::unique_ptr<PipelinedEmbeddings> Pipelined() override {
    return tessera::Pipelined(collection_);
  }
  TableBatchedEmbedding* tables() override {
    if constexpr (std::is_same_v<Inner, TableBatchedEmbedding>) return &InnerOf(collection_);
    return nullptr;
  }
  ShardedTables* shards() override {
    if constexpr (std::is_same_v<Inner, ShardedTables>) return &InnerOf(collection_);
    return nullptr;
  }
  void AppendParameters(std::vector<NamedParameter>& out) override {
    if constexpr (requires { collection_.AppendParameters("", out); })
      collection_.AppendParameters("", out);
  }
  std::vector<NamedTensor> IdState(Context& ctx) override {
    if constexpr (requires { collection_.managed_collision_collection(); })
      return collection_.managed_collision_collection().StateDict(ctx);
    else if constexpr (requires { collection_.modules(); })
      return collection_.modules().StateDict(ctx);
    else if constexpr (requires { collection_.StateDict(ctx); })
      return collection_.StateDict(ctx);
    return {};
  }

 private:
  static auto& InnerOf(Collection& c) {
    if constexpr (requires { c.tables(); })
      return c.tables();
    else if constexpr (requires { c.embedding_bag_collection(); })
      return c.embedding_bag_collection().tables();
    else if constexpr (requires { c.embedding_collection(); })
      return c.embedding_collection().tables();
    else
      return c.collection().tables();
  }
  using Inner = std::remove_reference_t<decltype(InnerOf(std::declval<Collection&>()))>;

  Collection collection_;
};

// Much is evicted, and random numbers are drawn.
inline std::shared_ptr<ManagedCollisionModule> SmallModule(Context& ctx, int64_t rows) {
  return std::make_shared<HashZchManagedCollisionModule>(
      ctx, HashZchOptions{.zch_size = rows,
                          .max_probe = 4,
                          .eviction = HashZchEviction::kSingleTtl,
                          .single_ttl = 2,
                          .clock = HashZchClock::kForwards,
                          .opt_in_prob = 70,
                          .percent_reserved_slots = 25});
}

template <typename Config>
std::unique_ptr<GenericITEPModule> SmallPruning(Context& ctx, const std::vector<Config>& configs) {
  return std::make_unique<GenericITEPModule>(
      ctx, std::vector<BaseEmbeddingConfig>(configs.begin(), configs.end()),
      ItepOptions{.table_name_to_unpruned_hash_sizes = {{"t0", kSmallIds}}});
}

inline std::unique_ptr<PositionWeightedModuleCollection> SmallProcessor(Context& ctx) {
  return std::make_unique<PositionWeightedModuleCollection>(
      ctx, std::vector<std::pair<std::string, int64_t>>{{"f0", 3}, {"f2", 3}});
}

// Whole: a collection; Managed and Pruned: those in front of it.
template <typename Config, typename Whole, typename Managed, typename Pruned>
std::unique_ptr<SmallEmbeddings> MakeWhole(Context& ctx, const SmallKind& kind) {
  const std::vector<Config> configs = SmallConfigs<Config>(kind.cached);
  if (kind.raw())
    return std::make_unique<SmallEmbeddingsOf<Managed>>(
        std::make_unique<Whole>(ctx, configs),
        std::make_shared<ManagedCollisionCollection>(
            std::vector<ManagedTable>{{"t0", SmallModule(ctx, kSmallRows)}},
            std::vector<BaseEmbeddingConfig>{configs[0]}));
  if (kind.itep())
    return std::make_unique<SmallEmbeddingsOf<Pruned>>(std::make_unique<Whole>(ctx, configs),
                                                       SmallPruning(ctx, configs));
  return std::make_unique<SmallEmbeddingsOf<Whole>>(ctx, configs);
}

template <typename Config, typename Shards, typename Managed, typename Pruned, typename Options>
std::unique_ptr<SmallEmbeddings> MakeSharded(Context& ctx, Communicator& comm,
                                             const SmallKind& kind) {
  const std::vector<Config> configs = SmallConfigs<Config>(false);
  const ShardingPlan plan = SmallPlan(comm.size(), kind);
  const ShardingOptions sharding{.dedup_ids = kind.dedup};
  if (kind.raw())
    return std::make_unique<SmallEmbeddingsOf<Managed>>(
        ctx, comm, configs,
        std::vector<ShardedManagedTable>{
            {"t0", kSmallParts,
             [](Context& c, int64_t, int64_t rows) { return SmallModule(c, rows); }}},
        plan, Options{}, sharding);
  if (kind.itep())
    return std::make_unique<SmallEmbeddingsOf<Pruned>>(
        std::make_unique<Shards>(ctx, comm, configs, plan, Options{}, sharding),
        SmallPruning(ctx, configs));
  return std::make_unique<SmallEmbeddingsOf<Shards>>(ctx, comm, configs, plan, Options{}, sharding);
}

inline std::unique_ptr<SmallEmbeddings> MakeProcessed(Context& ctx, Communicator* comm,
                                                      const SmallKind& kind) {
  if (comm == nullptr)
    return std::make_unique<SmallEmbeddingsOf<FeatureProcessedEmbeddingBagCollection>>(
        std::make_unique<EmbeddingBagCollection>(
            ctx, SmallTables(kind.cached), EmbeddingBagCollectionOptions{.is_weighted = true}),
        SmallProcessor(ctx));
  return std::make_unique<SmallEmbeddingsOf<ShardedFeatureProcessedEmbeddingBagCollection>>(
      std::make_unique<ShardedEmbeddingBagCollection>(
          ctx, *comm, SmallTables(false), SmallPlan(comm->size(), kind),
          EmbeddingBagCollectionOptions{.is_weighted = true}),
      SmallProcessor(ctx));
}

// comm: null for tables here.
inline std::unique_ptr<SmallEmbeddings> MakeSmallEmbeddings(Context& ctx, Communicator* comm,
                                                            const SmallKind& kind) {
  if (kind.name == "processed") return MakeProcessed(ctx, comm, kind);
  if (comm == nullptr && kind.sequences())
    return MakeWhole<EmbeddingConfig, EmbeddingCollection, ManagedCollisionEmbeddingCollection,
                     ITEPEmbeddingCollection>(ctx, kind);
  if (comm == nullptr)
    return MakeWhole<EmbeddingBagConfig, EmbeddingBagCollection,
                     ManagedCollisionEmbeddingBagCollection, ITEPEmbeddingBagCollection>(ctx, kind);
  if (kind.sequences())
    return MakeSharded<EmbeddingConfig, ShardedEmbeddingCollection,
                       ShardedManagedCollisionEmbeddingCollection, ShardedITEPEmbeddingCollection,
                       EmbeddingCollectionOptions>(ctx, *comm, kind);
  return MakeSharded<EmbeddingBagConfig, ShardedEmbeddingBagCollection,
                     ShardedManagedCollisionEmbeddingBagCollection,
                     ShardedITEPEmbeddingBagCollection, EmbeddingBagCollectionOptions>(ctx, *comm,
                                                                                       kind);
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TRAIN_PIPELINE_TESTING_SMALL_EMBEDDINGS_H_
