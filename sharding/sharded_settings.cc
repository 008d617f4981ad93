#include "sharding/sharded_settings.h"

#include "embedding/table/fused_states.h"
#include "runtime/base/check.h"

namespace tessera::internal {
namespace {

std::string TableText(const BaseEmbeddingConfig& table, PoolingType pooling) {
  std::string text;
  const auto add = [&](const char* setting, const auto& value) {
    text += Format("table {}: {} {}\n", table.name, setting, value);
  };
  const auto [low, high] = InitRange(table);
  add("num_embeddings", table.num_embeddings);
  add("embedding_dim", table.embedding_dim);
  add("data_type", table.data_type);
  add("pooling", ToString(pooling));
  add("init_range", Format("{} to {}", low, high));
  add("init_fn", table.init_fn != nullptr);
  add("optimizer", RuleName(table.optimizer));
  for (const auto& [option, value] : FusedOptionsOf(table.optimizer))
    add(option.c_str(), static_cast<float>(value));
  add("state_type", table.state_type);
  add("stochastic_rounding", table.stochastic_rounding);
  add("lr_scale", table.lr_scale);
  add("index_remap", table.index_remap != nullptr);
  add("bounds_check", table.bounds_check ? ToString(*table.bounds_check) : "of the collection");
  add("growing", table.growing);
  return text;
}

std::string OptionsText(const ShardedTablesOptions& options) {
  const ShardingOptions& sharding = options.sharding;
  const std::string seed =
      options.rounding_seed ? std::to_string(*options.rounding_seed) : "of the context";
  std::string text = Format("weighted {}\nmax_gradient {}\noutput_type {}\nrounding_seed {}\n",
                            options.weighted, options.max_gradient, options.output_type, seed);
  text +=
      Format("codecs {}\ngradient_division {}\ndedup_ids {}\nroute {}\n", ToString(sharding.codecs),
             sharding.gradient_division, ToString(sharding.dedup_ids), ToString(sharding.route));
  for (size_t t = 0; t < sharding.num_parts.size(); ++t)
    text += Format("num_parts[{}] {}\n", t, sharding.num_parts[t]);
  return text;
}

}  // namespace

std::string SettingsText(const std::vector<BaseEmbeddingConfig>& tables,
                         const std::vector<PoolingType>& poolings,
                         const std::vector<EmbeddingFeature>& features,
                         const ShardedTablesOptions& options) {
  std::string text;
  for (size_t t = 0; t < tables.size(); ++t) text += TableText(tables[t], poolings[t]);
  for (const EmbeddingFeature& f : features)
    text += Format("feature {}: table {}, key {}\n", f.name,
                   tables[static_cast<size_t>(f.table)].name, f.key);
  return text + OptionsText(options);
}

}  // namespace tessera::internal
