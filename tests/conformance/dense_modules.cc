#include "tests/conformance/dense_modules.h"

#include "embedding/pooling.h"

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

DlrmConfig ReadDlrm(const Case& c) {
  const std::string model = c.attrs.at("model").get<std::string>();
  if (model != "dlrm") throw Unsupported("model " + model);
  DlrmConfig config;
  const Json& arch = c.attrs.at("arch");
  config.dense_in = arch.at("dense_in").get<int64_t>();
  config.dense_arch = arch.at("dense_arch").get<std::vector<int64_t>>();
  config.over_arch = arch.at("over_arch").get<std::vector<int64_t>>();
  for (const Json& t : c.attrs.at("tables")) {
    EmbeddingBagConfig table;
    table.name = t.at("name").get<std::string>();
    table.num_embeddings = t.at("rows").get<int64_t>();
    table.embedding_dim = t.at("dim").get<int64_t>();
    table.feature_names = t.at("features").get<std::vector<std::string>>();
    table.pooling = ParsePoolingType(t.at("pooling").get<std::string>());
    config.tables.push_back(std::move(table));
  }
  return config;
}

std::vector<NamedTensor> WithPrefix(const Tensors& tensors, const std::string& prefix) {
  std::vector<NamedTensor> found;
  for (const auto& [name, tensor] : tensors)
    if (name.starts_with(prefix)) found.push_back({name.substr(prefix.size()), tensor});
  return found;
}

}  // namespace tessera::conformance
