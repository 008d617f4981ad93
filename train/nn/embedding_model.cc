#include "train/nn/embedding_model.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tessera {
namespace {

void CheckUpdatedInBackward(const std::vector<EmbeddingBagConfig>& tables) {
  for (const EmbeddingBagConfig& table : tables)
    TESSERA_CHECK(!std::holds_alternative<Dense>(table.optimizer),
                  "table {}: rule dense, but sharded tables are updated inside backward",
                  table.name);
}

std::variant<EmbeddingBagCollection, ShardedEmbeddingBagCollection> MakeEmbeddings(
    Context& ctx, const std::vector<EmbeddingBagConfig>& tables,
    const EmbeddingBagCollectionOptions& options, const std::optional<ModelSharding>& sharding) {
  if (!sharding) return EmbeddingBagCollection(ctx, tables, options);
  CheckUpdatedInBackward(tables);
  TESSERA_CHECK(sharding->comm != nullptr, "sharded tables without a communicator");
  return ShardedEmbeddingBagCollection(ctx, *sharding->comm, tables, sharding->plan, options,
                                       sharding->options);
}

// Throws Error unless `given` are the tensors `own`, each with its shape and dtype.
void CheckTensors(const std::vector<NamedTensor>& own, const std::map<std::string, Tensor>& given) {
  for (const NamedTensor& target : own) {
    const auto found = given.find(target.name);
    TESSERA_CHECK(found != given.end(), "state dict: {} is missing", target.name);
    TESSERA_CHECK_EQ(found->second.shape(), target.tensor.shape(), "state dict: {}", target.name);
    TESSERA_CHECK_EQ(found->second.dtype(), target.tensor.dtype(), "state dict: {}", target.name);
  }
  for (const auto& [name, tensor] : given) {
    const bool known =
        std::any_of(own.begin(), own.end(), [&](const NamedTensor& t) { return t.name == name; });
    TESSERA_CHECK(known, "state dict: the model has no parameter {}", name);
  }
}

}  // namespace

int64_t CountFeatures(const std::vector<EmbeddingBagConfig>& tables) {
  int64_t features = 0;
  for (const EmbeddingBagConfig& table : tables) features += std::ssize(table.feature_names);
  return features;
}

EmbeddingModel::EmbeddingModel(Context& ctx, std::string table_prefix,
                               const std::vector<EmbeddingBagConfig>& tables,
                               const EmbeddingBagCollectionOptions& options,
                               const std::optional<ModelSharding>& sharding)
    : table_prefix_(std::move(table_prefix)),
      embeddings_(MakeEmbeddings(ctx, tables, options, sharding)) {}

EmbeddingBagCollection& EmbeddingModel::embedding_bag_collection() {
  TESSERA_CHECK(sharded() == nullptr, "a model's tables are sharded over ranks");
  return std::get<EmbeddingBagCollection>(embeddings_);
}
const EmbeddingBagCollection& EmbeddingModel::embedding_bag_collection() const {
  TESSERA_CHECK(sharded() == nullptr, "a model's tables are sharded over ranks");
  return std::get<EmbeddingBagCollection>(embeddings_);
}

Variable EmbeddingModel::Pool(Context& ctx, const KeyedJaggedTensor& features) {
  return std::visit([&](auto& e) { return e.Forward(ctx, features).values(); }, embeddings_);
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

std::vector<NamedTensor> EmbeddingModel::TableTensors() const {
  std::vector<NamedTensor> tensors;
  if (sharded() != nullptr) return tensors;
  const TableBatchedEmbedding& tables = embedding_bag_collection().tables();
  for (int t = 0; t < tables.num_tables(); ++t)
    tensors.push_back({table_prefix_ + tables.table_name(t) + ".weight", tables.weight(t)});
  return tensors;
}

std::vector<NamedTensor> EmbeddingModel::StateDict() const {
  std::vector<NamedTensor> tensors = TableTensors();
  std::vector<NamedParameter> dense;
  AppendDenseParameters("", dense);
  for (const NamedParameter& p : dense) tensors.push_back({p.name, p.variable.value()});
  return tensors;
}

void EmbeddingModel::LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors) {
  std::map<std::string, Tensor> given;
  for (const NamedTensor& t : tensors)
    TESSERA_CHECK(given.emplace(t.name, t.tensor).second, "state dict: {} is given twice", t.name);
  if (sharded() == nullptr) {
    embedding_bag_collection().tables().Flush(ctx);
    embedding_bag_collection().tables().ResetCaches(ctx);
  }
  const std::vector<NamedTensor> own = StateDict();
  CheckTensors(own, given);
  for (const NamedTensor& target : own) target.tensor.CopyFrom(ctx, given[target.name]);
}

}  // namespace tessera
