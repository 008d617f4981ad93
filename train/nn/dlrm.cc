#include "train/nn/dlrm.h"

#include <algorithm>
#include <map>
#include <variant>

#include "runtime/ops/shaping.h"
#include "train/nn/interaction.h"

namespace tessera {
namespace {

DlrmConfig Checked(DlrmConfig config) {
  TESSERA_CHECK(config.dense_in > 0, "DLRM: dense_in is {}", config.dense_in);
  TESSERA_CHECK(
      !config.dense_arch.empty() && config.over_arch.size() >= 2,
      "DLRM: expected at least one size of dense_arch and two of over_arch, got {} and {}",
      config.dense_arch.size(), config.over_arch.size());
  TESSERA_CHECK_EQ(config.over_arch.back(), 1, "DLRM: last size of over_arch");
  for (const EmbeddingBagConfig& table : config.tables)
    TESSERA_CHECK_EQ(table.embedding_dim, config.dense_arch.back(),
                     "DLRM: dim of table {} and last size of dense_arch", table.name);
  return config;
}

void CheckUpdatedInBackward(const DlrmConfig& config) {
  for (const EmbeddingBagConfig& table : config.tables)
    TESSERA_CHECK(!std::holds_alternative<Dense>(table.optimizer),
                  "DLRM: table {}: rule dense, but sharded tables are updated inside backward",
                  table.name);
}

int64_t OverArchInput(const DlrmConfig& config) {
  int64_t features = 0;
  for (const EmbeddingBagConfig& table : config.tables)
    features += static_cast<int64_t>(table.feature_names.size());
  return config.dense_arch.back() + features * (features + 1) / 2;
}

}  // namespace

std::vector<std::pair<int64_t, int64_t>> LinearLayersOf(const DlrmConfig& config) {
  std::vector<std::pair<int64_t, int64_t>> layers;
  const auto add = [&](int64_t in, const std::vector<int64_t>& sizes) {
    for (const int64_t out : sizes) {
      layers.emplace_back(in, out);
      in = out;
    }
  };
  add(config.dense_in, config.dense_arch);
  add(OverArchInput(config), config.over_arch);
  return layers;
}

Dlrm::Dlrm(Context& ctx, DlrmConfig config)
    : Dlrm(ctx, std::move(config), [&](const DlrmConfig& c) {
        return Embeddings(EmbeddingBagCollection(ctx, c.tables, c.embeddings));
      }) {}

Dlrm::Dlrm(Context& ctx, DlrmConfig config, Communicator& comm, const ShardingPlan& plan,
           ShardingOptions sharding)
    : Dlrm(ctx, std::move(config), [&](const DlrmConfig& c) {
        CheckUpdatedInBackward(c);
        return Embeddings(ShardedEmbeddingBagCollection(ctx, comm, c.tables, plan, c.embeddings,
                                                        std::move(sharding)));
      }) {}

Dlrm::Dlrm(Context& ctx, DlrmConfig config,
           const std::function<Embeddings(const DlrmConfig&)>& make_embeddings)
    : config_(Checked(std::move(config))),
      embeddings_(make_embeddings(config_)),
      dense_arch_(ctx, config_.dense_in, config_.dense_arch),
      over_arch_(ctx, OverArchInput(config_), config_.over_arch) {}

std::string Dlrm::TableParameterName(const std::string& table) {
  return kTablePrefix + table + ".weight";
}

EmbeddingBagCollection& Dlrm::embedding_bag_collection() {
  TESSERA_CHECK(sharded() == nullptr, "DLRM: its tables are sharded over ranks");
  return std::get<EmbeddingBagCollection>(embeddings_);
}
const EmbeddingBagCollection& Dlrm::embedding_bag_collection() const {
  TESSERA_CHECK(sharded() == nullptr, "DLRM: its tables are sharded over ranks");
  return std::get<EmbeddingBagCollection>(embeddings_);
}

Variable Dlrm::Forward(Context& ctx, const Variable& dense, const KeyedJaggedTensor& features) {
  const Variable sparse =
      std::visit([&](auto& e) { return e.Forward(ctx, features).values(); }, embeddings_);
  const Variable z = DotInteraction(ctx, dense_arch_.Forward(ctx, dense), sparse);
  return Reshape(ctx, over_arch_.Forward(ctx, z), {-1});
}

void Dlrm::AppendDenseTables(const std::string& prefix, std::vector<NamedParameter>& out) const {
  if (sharded() != nullptr) return;
  const TableBatchedEmbedding& tables = embedding_bag_collection().tables();
  for (int t = 0; t < tables.num_tables(); ++t)
    if (std::holds_alternative<Dense>(tables.rule(t)))
      out.push_back({prefix + TableParameterName(tables.table_name(t)), tables.weight_variable(t)});
}

void Dlrm::AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const {
  AppendDenseTables(prefix, out);
  dense_arch_.AppendParameters(prefix + "dense_arch.model.", out);
  over_arch_.AppendParameters(prefix + "over_arch.", out);
}

std::vector<NamedTensor> Dlrm::StateDict() const {
  std::vector<NamedTensor> tensors;
  if (sharded() == nullptr) {
    const TableBatchedEmbedding& tables = embedding_bag_collection().tables();
    for (int t = 0; t < tables.num_tables(); ++t)
      tensors.push_back({TableParameterName(tables.table_name(t)), tables.weight(t)});
  }
  for (const NamedParameter& p : Parameters())
    if (!p.name.starts_with("sparse_arch.")) tensors.push_back({p.name, p.variable.value()});
  return tensors;
}

void Dlrm::LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors) {
  std::map<std::string, Tensor> given;
  for (const NamedTensor& t : tensors)
    TESSERA_CHECK(given.emplace(t.name, t.tensor).second, "state dict: {} is given twice", t.name);
  if (sharded() == nullptr) {
    embedding_bag_collection().tables().Flush(ctx);
    embedding_bag_collection().tables().ResetCaches(ctx);
  }
  const std::vector<NamedTensor> own = StateDict();
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
  for (const NamedTensor& target : own) target.tensor.CopyFrom(ctx, given[target.name]);
}

}  // namespace tessera
