#include "tests/crossings/live_tables.h"

#include <cstring>
#include <functional>
#include <numeric>

#include "embedding/fused_optimizer.h"
#include "embedding/itep/itep_embedding.h"
#include "embedding/managed_collision/managed_collision_embedding.h"
#include "embedding/quantized/quantize_tables.h"
#include "sharding/itep/sharded_itep_embedding.h"
#include "sharding/managed_collision/make_managed_tables.h"
#include "sharding/managed_collision/managed_collision_checkpoint.h"
#include "sharding/managed_collision/sharded_managed_collision_embedding.h"
#include "tests/crossings/tables_parts.h"

namespace tessera::testing {
namespace {

// The outputs of all kinds of collections as variables.
std::vector<Variable> ValuesOf(const KeyedTensor& pooled) { return {pooled.values()}; }
std::vector<Variable> ValuesOf(const NamedSequences& sequences) {
  std::vector<Variable> values;
  for (const auto& [name, sequence] : sequences) values.push_back(sequence.values());
  return values;
}
template <typename Output>
auto ValuesOf(const Output& output) -> decltype(ValuesOf(output.embeddings)) {
  return ValuesOf(output.embeddings);
}

// A collection behind the functions that tests call.
class AnyTables final : public LiveTables {
 public:
  std::function<std::vector<Variable>(Context&, const KeyedJaggedTensor&)> forward;
  std::function<std::unique_ptr<PipelinedEmbeddings>()> pipelined;
  std::function<std::vector<NamedTensor>(Context&)> ids_state;
  std::function<void(Context&, const std::vector<NamedTensor>&)> load_ids_state;
  std::function<void(Context&, std::map<std::string, Tensor>&)> put_quantized;
  TableBatchedEmbedding* whole = nullptr;  // or, over ranks,
  ShardedTables* sharded = nullptr;
  ShardedManagedCollisionModules* modules = nullptr;
  std::shared_ptr<void> owner;

  std::vector<Variable> Forward(Context& ctx, const KeyedJaggedTensor& features) override {
    return forward(ctx, features);
  }
  void SetLearningRate(float lr) override {
    if (sharded != nullptr)
      sharded->SetLearningRate(lr);
    else
      whole->SetLearningRate(lr);
  }
  void AccumulateForwards(int forwards) override {
    if (sharded != nullptr)
      sharded->AccumulateForwards(forwards);
    else
      whole->AccumulateForwards(forwards);
  }
  std::unique_ptr<PipelinedEmbeddings> Pipelined() override { return pipelined(); }
  std::vector<NamedTensor> IdsState(Context& ctx) override {
    return ids_state ? ids_state(ctx) : std::vector<NamedTensor>{};
  }
  void PutQuantized(Context& ctx, std::map<std::string, Tensor>& to) override {
    put_quantized(ctx, to);
  }

  void PutParts(Context& ctx, int rank, std::map<std::string, Tensor>& to) override {
    if (sharded != nullptr) {
      for (const HeldShard& held : sharded->shards())
        if (!held.replicated || rank == 0)
          PutPart(ctx, *held.tables, held.index, {held.table, held.shard}, to);
      return;
    }
    for (int t = 0; t < whole->num_tables(); ++t)
      PutPart(ctx, *whole, t, {whole->table_name(t), {}}, to);
  }

  void MoveTo(Context& ctx, LiveTables& to, const std::string& folder) override {
    auto& next = static_cast<AnyTables&>(to);
    if (sharded != nullptr)
      MoveByFolder(ctx, next, folder);
    else
      MoveByStateDicts(ctx, next);
  }

 private:
  void MoveByFolder(Context& ctx, AnyTables& next, const std::string& folder) {
    if (modules != nullptr) {
      SaveManagedTables(ctx, folder, *sharded, *modules, "t.");
      ShardedCheckpoint checkpoint(folder);
      LoadManagedTables(ctx, checkpoint, *next.sharded, *next.modules, "t.");
      return;
    }
    SaveTables(ctx, folder, *sharded, "t.");
    ShardedCheckpoint checkpoint(folder);
    LoadTables(ctx, checkpoint, *next.sharded);
    if (ids_state) next.load_ids_state(ctx, ids_state(ctx));
  }

  void MoveByStateDicts(Context& ctx, AnyTables& next) {
    if (ids_state) next.load_ids_state(ctx, ids_state(ctx));
    whole->caches().Flush(ctx);
    next.whole->caches().Reset(ctx);
    for (int t = 0; t < whole->num_tables(); ++t) {
      if (whole->table(t).growing) next.whole->rows().SetInUse(ctx, t, whole->rows().in_use(t));
      MoveRows(ctx, t, *next.whole);
    }
    const bool on_disk = whole->table(0).location == EmbeddingLocation::kDisk;
    if (!on_disk)
      FusedOptimizer(*next.whole).LoadStateDict(ctx, FusedOptimizer(*whole).StateDict());
    next.whole->set_iter(whole->iter());
    next.whole->set_max_counter(whole->max_counter());
  }
  // Moves the weights; for a table on disk, the states too.
  void MoveRows(Context& ctx, int t, TableBatchedEmbedding& next) {
    for (int part = 0; part < whole->rows().num_parts(t); ++part) {
      const NamedTensor from = whole->rows().part(t, part), to = next.rows().part(t, part);
      if (!from.stored) {
        if (part == 0) to.tensor.CopyFrom(ctx, from.tensor);
        continue;
      }
      std::vector<int64_t> rows(static_cast<size_t>(from.tensor.dim(0)));
      std::iota(rows.begin(), rows.end(), int64_t{0});
      std::vector<char> bytes(
          static_cast<size_t>(from.tensor.numel() * SizeOf(from.tensor.dtype())));
      from.stored->read(rows, bytes.data());
      to.stored->write(rows, bytes.data());
    }
  }
};

template <typename Config>
std::vector<Config> ConfigsOf(Context& ctx, const TablesCase& c) {
  std::vector<Config> configs;
  for (const BaseEmbeddingConfig& base : c.Tables(ctx)) {
    Config config;
    static_cast<BaseEmbeddingConfig&>(config) = base;
    if constexpr (std::is_same_v<Config, EmbeddingBagConfig>) config.pooling = c.pooling();
    // On ranks rows take memory as they come into use; the plainest run has all rows.
    if (c.sharded() && c.point().Is("ids", "growing") && c.point().Is("remap", "none"))
      config.growing = c.Managed().contains(base.name);
    configs.push_back(config);
  }
  return configs;
}

// Types and members of the two kinds of collections.
struct Pooled {
  using Config = EmbeddingBagConfig;
  using Options = EmbeddingBagCollectionOptions;
  using Whole = EmbeddingBagCollection;
  using Sharded = ShardedEmbeddingBagCollection;
  using Managed = ManagedCollisionEmbeddingBagCollection;
  using ShardedManaged = ShardedManagedCollisionEmbeddingBagCollection;
  static Whole& CollectionOf(Managed& m) { return m.embedding_bag_collection(); }
  static Sharded& CollectionOf(ShardedManaged& m) { return m.embedding_bag_collection(); }
  static Options OptionsOf(const TablesCase& c) {
    return {.is_weighted = c.weighted(),
            .max_gradient = c.max_gradient(),
            .output_type = OutputTypeOf(c),
            .rounding_seed = kRoundingSeed};
  }
};
struct Sequences {
  using Config = EmbeddingConfig;
  using Options = EmbeddingCollectionOptions;
  using Whole = EmbeddingCollection;
  using Sharded = ShardedEmbeddingCollection;
  using Managed = ManagedCollisionEmbeddingCollection;
  using ShardedManaged = ShardedManagedCollisionEmbeddingCollection;
  static Whole& CollectionOf(Managed& m) { return m.embedding_collection(); }
  static Sharded& CollectionOf(ShardedManaged& m) { return m.embedding_collection(); }
  static Options OptionsOf(const TablesCase& c) {
    return {.max_gradient = c.max_gradient(),
            .output_type = OutputTypeOf(c),
            .rounding_seed = kRoundingSeed};
  }
};

template <typename Collection>
void SetCollection(AnyTables& live, const std::shared_ptr<Collection>& collection) {
  live.owner = collection;
  live.pipelined = [&c = *collection] { return tessera::Pipelined(c); };
  live.forward = [&c = *collection](Context& ctx, const KeyedJaggedTensor& features) {
    return ValuesOf(c.Forward(ctx, features));
  };
}
// Looks up the last batch in int8 rows of `tables`; rows_of turns its ids into rows.
template <typename Collection>
void SetQuantized(AnyTables& live, const TablesCase& c, Collection& tables,
                  std::function<KeyedJaggedTensor(Context&, const KeyedJaggedTensor&)> rows_of) {
  live.put_quantized = [&c, &tables, rows_of](Context& ctx, std::map<std::string, Tensor>& to) {
    const KeyedJaggedTensor rows = rows_of(ctx, c.Batch(ctx, kTablesSteps - 1, 0, c.parts()));
    const std::vector<Variable> outputs =
        ValuesOf(quant::Quantize(ctx, tables, {}, {.bounds_check = c.bounds()}).Forward(ctx, rows));
    for (size_t o = 0; o < outputs.size(); ++o)
      to[Format("quantized output {}", o)] = outputs[o].value().ToHost();
  };
}

KeyedJaggedTensor AsTheyAre(Context&, const KeyedJaggedTensor& features) { return features; }

template <typename Kind>
std::unique_ptr<AnyTables> MakeWhole(Context& ctx, const TablesCase& c) {
  auto live = std::make_unique<AnyTables>();
  const auto configs = ConfigsOf<typename Kind::Config>(ctx, c);
  auto tables = std::make_unique<typename Kind::Whole>(ctx, configs, Kind::OptionsOf(c));
  live->whole = &tables->tables();
  auto& plain = *tables;
  if (const auto itep = c.Itep()) {
    const auto front = std::make_shared<ItepCollection<typename Kind::Whole>>(
        std::move(tables), std::make_unique<GenericITEPModule>(ctx, c.Tables(ctx), *itep));
    SetCollection(*live, front);
    live->ids_state = [front](Context& on) { return front->StateDict(on); };
    live->load_ids_state = [front](Context& on, const std::vector<NamedTensor>& state) {
      front->LoadStateDict(on, state);
    };
    SetQuantized(*live, c, plain, [front](Context& on, const KeyedJaggedTensor& features) {
      return front->itep_module().Forward(on, features, front->iter(), /*training=*/false);
    });
    return live;
  }
  if (!c.raw_ids()) {
    const std::shared_ptr<typename Kind::Whole> collection = std::move(tables);
    SetCollection(*live, collection);
    SetQuantized(*live, c, *collection, AsTheyAre);
    return live;
  }
  std::vector<ManagedTable> modules;
  std::vector<BaseEmbeddingConfig> managed;
  for (const BaseEmbeddingConfig& t : c.Tables(ctx))
    if (const auto of = c.Managed(); of.contains(t.name)) {
      modules.push_back({t.name, MakeManagedCollisionModule(ctx, of.at(t.name), t)});
      managed.push_back(t);
    }
  const auto collisions = std::make_shared<ManagedCollisionCollection>(modules, managed);
  const auto front = std::make_shared<typename Kind::Managed>(std::move(tables), collisions);
  SetCollection(*live, front);
  live->ids_state = [collisions](Context& on) { return collisions->StateDict(on); };
  live->load_ids_state = [collisions](Context& on, const std::vector<NamedTensor>& state) {
    collisions->LoadStateDict(on, state);
  };
  SetQuantized(*live, c, plain, [collisions](Context& on, const KeyedJaggedTensor& features) {
    return collisions->Forward(on, features);
  });
  return live;
}

template <typename Kind>
std::unique_ptr<AnyTables> MakeSharded(Context& ctx, Communicator& comm, const TablesCase& c,
                                       bool after_checkpoint) {
  auto live = std::make_unique<AnyTables>();
  const auto configs = ConfigsOf<typename Kind::Config>(ctx, c);
  const ShardingPlan plan = c.Plan(after_checkpoint);
  const ShardingOptions sharding{.codecs = ParseWireCodecs(c.point()["codec"]),
                                 .dedup_ids = ParseIdDedup(c.point()["dedup"])};
  if (c.raw_ids()) {
    std::vector<ShardedManagedTable> managed;
    for (const BaseEmbeddingConfig& t : c.Tables(ctx))
      if (const auto of = c.Managed(); of.contains(t.name))
        managed.push_back(ShardedManagedTableOf(of.at(t.name), t));
    const auto front = std::make_shared<typename Kind::ShardedManaged>(
        ctx, comm, configs, managed, plan, Kind::OptionsOf(c), sharding);
    SetCollection(*live, front);
    live->sharded = &Kind::CollectionOf(*front).tables();
    live->modules = &front->modules();
    live->ids_state = [front](Context& on) { return front->modules().StateDict(on); };
    return live;
  }
  auto tables = std::make_unique<typename Kind::Sharded>(ctx, comm, configs, plan,
                                                         Kind::OptionsOf(c), sharding);
  live->sharded = &tables->tables();
  if (const auto itep = c.Itep()) {
    const auto front = std::make_shared<ShardedItepCollection<typename Kind::Sharded>>(
        std::move(tables), std::make_unique<GenericITEPModule>(ctx, c.Tables(ctx), *itep));
    SetCollection(*live, front);
    live->ids_state = [front](Context& on) { return front->StateDict(on); };
    live->load_ids_state = [front](Context& on, const std::vector<NamedTensor>& state) {
      front->LoadStateDict(on, state);
    };
    return live;
  }
  const std::shared_ptr<typename Kind::Sharded> collection = std::move(tables);
  SetCollection(*live, collection);
  return live;
}

void Freeze(AnyTables& live) {
  if (live.sharded != nullptr) {
    for (const HeldShard& held : live.sharded->shards())
      if (held.table == kFrozenTable) held.tables->SetFrozen(held.index, true);
    return;
  }
  for (int t = 0; t < live.whole->num_tables(); ++t)
    if (live.whole->table_name(t) == kFrozenTable) live.whole->SetFrozen(t, true);
}

template <typename Kind>
std::unique_ptr<AnyTables> Make(Context& ctx, Communicator* comm, const TablesCase& c,
                                bool after_checkpoint) {
  if (comm == nullptr) return MakeWhole<Kind>(ctx, c);
  return MakeSharded<Kind>(ctx, *comm, c, after_checkpoint);
}

}  // namespace

std::unique_ptr<LiveTables> MakeLiveTables(Context& ctx, Communicator* comm, const TablesCase& c,
                                           bool after_checkpoint) {
  const Random before = ctx.random();
  std::unique_ptr<AnyTables> live = c.pooled() ? Make<Pooled>(ctx, comm, c, after_checkpoint)
                                               : Make<Sequences>(ctx, comm, c, after_checkpoint);
  if (c.point().Is("control", "frozen")) Freeze(*live);
  if (after_checkpoint) ctx.random() = before;  // a resumed run goes on with those of the first
  return live;
}

}  // namespace tessera::testing
