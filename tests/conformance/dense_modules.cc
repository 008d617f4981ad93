#include "tests/conformance/dense_modules.h"

#include "embedding/config/pooling.h"
#include "runtime/ops/activation.h"

namespace tessera::conformance {

DenseOptimizerConfig ReadDenseOptimizer(const std::string& optimizer, const Json& hyper) {
  DenseOptimizerConfig config(optimizer);
  for (const auto& [key, value] : hyper.items()) {
    if (key == "betas") {
      config.beta1 = value.at(0).get<double>();
      config.beta2 = value.at(1).get<double>();
    } else {
      config.Set(key, value.is_boolean() ? (value.get<bool>() ? 1.0 : 0.0) : value.get<double>());
    }
  }
  return config;
}

namespace {

std::vector<EmbeddingBagConfig> ReadTables(const Case& c) {
  std::vector<EmbeddingBagConfig> tables;
  for (const Json& t : c.attrs.at("tables")) {
    EmbeddingBagConfig table;
    table.name = t.at("name").get<std::string>();
    table.num_embeddings = t.at("rows").get<int64_t>();
    table.embedding_dim = t.at("dim").get<int64_t>();
    table.feature_names = t.at("features").get<std::vector<std::string>>();
    table.pooling = ParsePoolingType(t.at("pooling").get<std::string>());
    tables.push_back(std::move(table));
  }
  return tables;
}

RankingModelType ReadType(const std::string& name) {
  using Type = RankingModelType;
  for (const Type type : {Type::kDlrm, Type::kDlrmDcn, Type::kDlrmProjection, Type::kDeepFm})
    if (name == ToString(type)) return type;
  throw Unsupported("model " + name);
}

}  // namespace

RankingModelConfig ReadRankingModel(const Case& c) {
  const Json& arch = c.attrs.at("arch");
  const auto size = [&](const char* key) { return arch.value(key, int64_t{0}); };
  const auto sizes = [&](const char* key) { return arch.value(key, std::vector<int64_t>()); };
  return {.tables = ReadTables(c),
          .net = {.type = ReadType(c.attrs.at("model").get<std::string>()),
                  .dense_in = size("dense_in"),
                  .dense_arch = sizes("dense_arch"),
                  .over_arch = sizes("over_arch"),
                  .dcn_layers = size("dcn_layers"),
                  .dcn_low_rank = size("dcn_low_rank"),
                  .branch1 = sizes("branch1"),
                  .branch2 = sizes("branch2"),
                  .hidden = size("hidden"),
                  .deep_fm_dim = size("deep_fm_dim")}};
}

Variable TorchRecOutputs(Context& ctx, RankingModel& model, const Variable& dense,
                         const KeyedJaggedTensor& features) {
  const Variable logits = model.Forward(ctx, dense, features);
  return model.config().net.type == RankingModelType::kDeepFm ? Sigmoid(ctx, logits) : logits;
}

TwoTowerConfig ReadTwoTower(const Case& c) {
  const std::vector<EmbeddingBagConfig> tables = ReadTables(c);
  return {.query_table = tables.at(0),
          .candidate_table = tables.at(1),
          .layers = c.attrs.at("arch").at("layers").get<std::vector<int64_t>>()};
}

std::vector<NamedTensor> WithPrefix(const Tensors& tensors, const std::string& prefix) {
  std::vector<NamedTensor> found;
  for (const auto& [name, tensor] : tensors)
    if (name.starts_with(prefix)) found.push_back({name.substr(prefix.size()), tensor});
  return found;
}

}  // namespace tessera::conformance
