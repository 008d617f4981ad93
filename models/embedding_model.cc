#include "models/embedding_model.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "comm/leader.h"
#include "embedding/table/table_start.h"
#include "sharding/managed_collision/make_managed_tables.h"
#include "sharding/whole_rows.h"

namespace tessera {
namespace {

// The tables that take raw ids, in their order.
std::vector<BaseEmbeddingConfig> ManagedTables(const std::vector<EmbeddingBagConfig>& tables,
                                               const ManagedTableConfigs& configs) {
  std::vector<BaseEmbeddingConfig> managed;
  for (const EmbeddingBagConfig& table : tables)
    if (configs.contains(table.name)) managed.push_back(table);
  TESSERA_CHECK_EQ(managed.size(), configs.size(),
                   "managed collision: tables of the model that have it, and tables named for it");
  return managed;
}

// Growing tables whose raw ids are in parts have all rows from the start, as over ranks.
std::vector<EmbeddingBagConfig> InOneProcess(const Context& ctx,
                                             std::vector<EmbeddingBagConfig> tables,
                                             const ManagedTableConfigs& configs) {
  for (EmbeddingBagConfig& table : tables) {
    const auto raw_ids = configs.find(table.name);
    if (!table.growing || raw_ids == configs.end() || raw_ids->second.num_parts == 0) continue;
    table.growing = table.place.all_rows = internal::TakesRowsOnUse(ctx, table);
  }
  return tables;
}

ManagedCollisionEmbeddingBagCollection MakeManaged(Context& ctx,
                                                   const std::vector<EmbeddingBagConfig>& given,
                                                   const EmbeddingBagCollectionOptions& options,
                                                   const ManagedTableConfigs& configs) {
  const std::vector<EmbeddingBagConfig> tables = InOneProcess(ctx, given, configs);
  const std::vector<BaseEmbeddingConfig> managed = ManagedTables(tables, configs);
  auto embeddings = std::make_unique<EmbeddingBagCollection>(ctx, tables, options);
  std::vector<ManagedTable> modules;
  for (const BaseEmbeddingConfig& table : managed)
    modules.push_back({table.name, MakeManagedCollisionModule(ctx, configs.at(table.name), table)});
  return {std::move(embeddings),
          std::make_shared<ManagedCollisionCollection>(std::move(modules), managed)};
}

ShardedManagedCollisionEmbeddingBagCollection MakeShardedManaged(
    Context& ctx, const std::vector<EmbeddingBagConfig>& tables,
    const EmbeddingBagCollectionOptions& options, const ModelSharding& sharding,
    const ManagedTableConfigs& configs) {
  std::vector<ShardedManagedTable> managed;
  for (const BaseEmbeddingConfig& table : ManagedTables(tables, configs))
    managed.push_back(ShardedManagedTableOf(configs.at(table.name), table));
  return {ctx, *sharding.comm, tables, managed, sharding.plan, options, sharding.options};
}

using TensorsByName = std::map<std::string, Tensor>;

TensorsByName ByName(const std::vector<NamedTensor>& tensors) {
  TensorsByName by_name;
  for (const NamedTensor& t : tensors)
    TESSERA_CHECK(by_name.emplace(t.name, t.tensor).second, "state dict: {} is given twice",
                  t.name);
  return by_name;
}

// The names that only one of the two has. Throws Error for such names if `strict`, and always for
// tensors of another shape or dtype.
UnmatchedNames Matched(const std::vector<NamedTensor>& own, const TensorsByName& given,
                       bool strict) {
  UnmatchedNames unmatched;
  std::set<std::string> known;
  for (const NamedTensor& target : own) {
    known.insert(target.name);
    const auto found = given.find(target.name);
    if (found == given.end()) {
      TESSERA_CHECK(!strict, "state dict: {} is missing", target.name);
      unmatched.missing.push_back(target.name);
      continue;
    }
    TESSERA_CHECK_EQ(found->second.shape(), target.tensor.shape(), "state dict: {}", target.name);
    TESSERA_CHECK_EQ(found->second.dtype(), target.tensor.dtype(), "state dict: {}", target.name);
  }
  for (const auto& [name, tensor] : given) {
    if (known.contains(name)) continue;
    TESSERA_CHECK(!strict, "state dict: the model has no parameter {}", name);
    unmatched.unexpected.push_back(name);
  }
  return unmatched;
}

// The pooled rows in what a collection's Forward returns, with or without managed collision.
Variable PooledRows(const KeyedTensor& output) { return output.values(); }
template <typename Output>
Variable PooledRows(const Output& output) {
  return output.embeddings.values();
}

std::vector<int64_t> AllRows(const Tensor& table) {
  std::vector<int64_t> rows(static_cast<size_t>(table.dim(0)));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

Tensor CopyOf(Context& ctx, const NamedTensor& named) {
  if (!named.stored) return named.tensor.Clone(ctx);
  const Tensor copy = Tensor::EmptyHost(named.tensor.shape(), named.tensor.dtype());
  named.stored->read(AllRows(copy), copy.raw_data());
  return copy;
}

}  // namespace

EmbeddingModel::Embeddings EmbeddingModel::MakeEmbeddings(
    Context& ctx, const std::vector<EmbeddingBagConfig>& tables,
    const EmbeddingBagCollectionOptions& options, const std::optional<ModelSharding>& sharding,
    const ManagedTableConfigs& managed_collision) {
  if (!sharding && managed_collision.empty()) return EmbeddingBagCollection(ctx, tables, options);
  if (!sharding) return MakeManaged(ctx, tables, options, managed_collision);
  TESSERA_CHECK(sharding->comm != nullptr, "sharded tables without a communicator");
  if (!managed_collision.empty())
    return MakeShardedManaged(ctx, tables, options, *sharding, managed_collision);
  return ShardedEmbeddingBagCollection(ctx, *sharding->comm, tables, sharding->plan, options,
                                       sharding->options);
}

std::vector<PooledFeature> PooledFeatures(const std::vector<EmbeddingBagConfig>& tables,
                                          const RankingNetConfig& net) {
  std::vector<PooledFeature> features;
  for (const EmbeddingBagConfig& table : tables)
    for (const std::string& feature : table.feature_names)
      features.push_back({feature, table.embedding_dim, PositionsOf(net, feature)});
  return features;
}

EmbeddingModel::EmbeddingModel(Context& ctx, std::string table_prefix,
                               const std::vector<EmbeddingBagConfig>& tables,
                               const EmbeddingBagCollectionOptions& options,
                               const std::optional<ModelSharding>& sharding,
                               const ManagedTableConfigs& managed_collision)
    : table_prefix_(std::move(table_prefix)),
      embeddings_(MakeEmbeddings(ctx, tables, options, sharding, managed_collision)) {}

const EmbeddingBagCollection& EmbeddingModel::embedding_bag_collection() const {
  TESSERA_CHECK(sharded() == nullptr, "a model's tables are sharded over ranks");
  if (const auto* managed = std::get_if<ManagedCollisionEmbeddingBagCollection>(&embeddings_))
    return managed->embedding_bag_collection();
  return std::get<EmbeddingBagCollection>(embeddings_);
}
EmbeddingBagCollection& EmbeddingModel::embedding_bag_collection() {
  return const_cast<EmbeddingBagCollection&>(std::as_const(*this).embedding_bag_collection());
}

const ShardedEmbeddingBagCollection* EmbeddingModel::sharded() const {
  return const_cast<EmbeddingModel*>(this)->sharded();
}
ShardedEmbeddingBagCollection* EmbeddingModel::sharded() {
  if (auto* managed = std::get_if<ShardedManagedCollisionEmbeddingBagCollection>(&embeddings_))
    return &managed->embedding_bag_collection();
  return std::get_if<ShardedEmbeddingBagCollection>(&embeddings_);
}

ShardedManagedCollisionModules* EmbeddingModel::sharded_modules() {
  auto* managed = std::get_if<ShardedManagedCollisionEmbeddingBagCollection>(&embeddings_);
  return managed == nullptr ? nullptr : &managed->modules();
}

std::vector<ManagedModule> EmbeddingModel::managed_modules() {
  std::vector<ManagedModule> modules;
  if (auto* managed = std::get_if<ManagedCollisionEmbeddingBagCollection>(&embeddings_)) {
    ManagedCollisionCollection& collection = managed->managed_collision_collection();
    for (const BaseEmbeddingConfig& table : collection.configs())
      modules.push_back({table.name, &collection.module(table.name)});
  }
  if (sharded_modules() != nullptr)
    for (const std::string& table : sharded_modules()->tables())
      modules.push_back({table, &sharded_modules()->module(table)});
  return modules;
}

Variable EmbeddingModel::Pool(Context& ctx, const KeyedJaggedTensor& features) {
  return std::visit([&](auto& collection) { return PooledRows(collection.Forward(ctx, features)); },
                    embeddings_);
}

void EmbeddingModel::AppendParameters(const std::string& prefix,
                                      std::vector<NamedParameter>& out) const {
  if (sharded() == nullptr) {
    const TableBatchedEmbedding& tables = embedding_bag_collection().tables();
    for (int t = 0; t < tables.num_tables(); ++t)
      if (std::holds_alternative<Dense>(tables.rule(t)))
        out.push_back(
            {prefix + table_prefix_ + tables.table_name(t) + ".weight", tables.weight_variable(t)});
  }
  AppendDenseParameters(prefix, out);
}

std::vector<DensePart> EmbeddingModel::DenseParts() const {
  std::vector<DensePart> parts;
  if (sharded() == nullptr) return parts;
  for (HeldShard& held : sharded()->tables().shards()) {
    if (!std::holds_alternative<Dense>(held.tables->rule(held.index))) continue;
    const std::string name = table_prefix_ + StoredName(held.table, held.shard, kWeightName);
    const Variable weight = held.tables->weight_variable(held.index);
    parts.push_back({std::move(held), {name, weight}});
  }
  return parts;
}

std::vector<NamedTensor> EmbeddingModel::TableTensors() const {
  if (sharded() != nullptr) return {};
  std::vector<NamedTensor> tensors = embedding_bag_collection().tables().rows().weights();
  for (NamedTensor& table : tensors) table.name = table_prefix_ + table.name;
  return tensors;
}

std::vector<NamedTensor> EmbeddingModel::StateDict() const {
  std::vector<NamedTensor> tensors = TableTensors();
  std::vector<NamedParameter> dense;
  AppendDenseParameters("", dense);
  for (NamedTensor& value : ValuesOf(dense)) tensors.push_back(std::move(value));
  return tensors;
}

std::vector<NamedTensor> EmbeddingModel::IdStateDict(Context& ctx) {
  std::vector<NamedTensor> all;
  for (const auto& [table, module] : managed_modules())
    for (NamedTensor& state : module->StateDict(ctx))
      all.push_back({IdPrefix(table) + state.name, std::move(state.tensor)});
  return all;
}

void EmbeddingModel::LoadIdStateDict(Context& ctx, const std::vector<NamedTensor>& tensors) {
  size_t known = 0;
  std::vector<std::vector<NamedTensor>> states;
  for (const auto& [table, module] : managed_modules()) {
    const std::string prefix = IdPrefix(table);
    std::vector<NamedTensor>& state = states.emplace_back();
    for (const NamedTensor& named : tensors)
      if (named.name.starts_with(prefix + "_"))
        state.push_back({named.name.substr(prefix.size()), named.tensor});
    TESSERA_CHECK(!state.empty(),
                  "managed collision: it lacks '{}_*', which ids of this model have", prefix);
    known += state.size();
  }
  TESSERA_CHECK(known == tensors.size(),
                "managed collision: it has state of ids of tables that take no raw ids here");
  size_t t = 0;
  for (const auto& [table, module] : managed_modules()) module->LoadStateDict(ctx, states[t++]);
}

void EmbeddingModel::Take(Context& ctx, const TensorsByName& given) {
  if (sharded() == nullptr) {
    embedding_bag_collection().tables().caches().Flush(ctx);
    embedding_bag_collection().tables().caches().Reset(ctx);
    embedding_bag_collection().tables().rows().TouchAll();
  }
  for (const NamedTensor& target : StateDict()) {
    const auto found = given.find(target.name);
    if (found == given.end()) continue;
    if (!target.stored) {
      target.tensor.CopyFrom(ctx, found->second);
      continue;
    }
    const Tensor from = found->second.To(ctx, Device::Cpu()).Contiguous(ctx);
    target.stored->write(AllRows(from), from.raw_data());
  }
}

UnmatchedNames EmbeddingModel::LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors,
                                             bool strict) {
  const TensorsByName given = ByName(tensors);
  UnmatchedNames unmatched = Matched(StateDict(), given, strict);
  Take(ctx, given);
  return unmatched;
}

std::vector<NamedTensor> EmbeddingModel::WholeStateDict(Context& ctx) {
  if (sharded() == nullptr) embedding_bag_collection().tables().caches().Flush(ctx);
  std::vector<NamedTensor> whole;
  if (sharded() != nullptr) whole = WholeRows(ctx, sharded()->tables(), table_prefix_);
  for (const NamedTensor& named : StateDict()) whole.push_back({named.name, CopyOf(ctx, named)});
  return whole;
}

UnmatchedNames EmbeddingModel::LoadWholeStateDict(Context& ctx,
                                                  const std::vector<NamedTensor>& tensors,
                                                  bool strict) {
  if (sharded() == nullptr) return LoadStateDict(ctx, tensors, strict);
  ShardedTables& tables = sharded()->tables();
  std::vector<NamedTensor> own = StateDict();
  for (const BaseEmbeddingConfig& t : tables.tables())
    own.push_back({table_prefix_ + t.name + ".weight",
                   Tensor::Borrow(nullptr, {t.num_embeddings, t.embedding_dim}, t.data_type)});
  TensorsByName given;
  UnmatchedNames unmatched;
  GatherResultsSync(tables.comm(), "loading a state dict", [&] {
    given = ByName(tensors);
    unmatched = Matched(own, given, strict);
    return std::string();
  });
  Take(ctx, given);
  TakeWholeRows(ctx, tables, table_prefix_, given);
  return unmatched;
}

}  // namespace tessera
