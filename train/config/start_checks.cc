#include "train/config/start_checks.h"

#include "embedding/config/placement.h"
#include "embedding/plugin_rules.h"
#include "embedding/table/table_memory.h"
#include "runtime/base/check.h"
#include "runtime/json/json_object.h"

namespace tessera {
namespace {

using internal::Json;
using internal::JsonProblems;

// Calls fn for each object of the document.
template <typename Fn>
void ForEachObject(const Json& json, Fn&& fn) {
  if (json.is_object()) fn(json);
  for (const Json& part : json)
    if (part.is_structured()) ForEachObject(part, fn);
}

// Calls check, whose errors are about the key.
template <typename Fn>
void TryKey(JsonProblems& problems, const std::string& key, Fn&& check) {
  internal::Try(&problems, [&] {
    try {
      check();
    } catch (const Error& error) {
      throw Error(Format("{}: {}", key, error.what()));
    }
  });
}

// Its state has a number for each row of a matrix, and every type of model has biases.
void CheckDenseOptimizer(const DenseOptimizerConfig& config) {
  if (config.name == "rowwise_adagrad")
    throw Error(
        "rowwise_adagrad keeps one number for each row of a matrix, but every model has biases, "
        "which are no matrices: expected adagrad, which keeps one for each weight, or sgd, adam, "
        "adamw");
}

void CheckCacheOf(const EmbeddingBagConfig& table) {
  CheckCacheBytes(table.cache,
                  static_cast<int64_t>(BytesOfRows(table, /*rows=*/1, table.embedding_dim)));
}

std::string HashIn(const Json& rule) {
  if (!rule.contains("plugin") || !rule["plugin"].is_object()) return "";
  return rule["plugin"].value("sha256", std::string());
}

}  // namespace

void CheckStart(const TrainConfig& config, const std::string& source, bool of_ranks) {
  JsonProblems problems;
  for (size_t t = 0; t < config.tables.size(); ++t) {
    const EmbeddingBagConfig& table = config.tables[t];
    TryKey(problems, Format("tables[{}].dim", t),
           [&] { CheckDimOfRule(table.optimizer, table.embedding_dim); });
    if (of_ranks) continue;
    TryKey(problems, Format("tables[{}].location", t),
           [&] { CheckLocationOfRule(table.name, table.location, table.optimizer); });
    if (IsCached(table.location))
      TryKey(problems, Format("tables[{}].cache.bytes", t), [&] { CheckCacheOf(table); });
  }
  TryKey(problems, "optimizer.dense.name", [&] { CheckDenseOptimizer(config.dense_optimizer); });
  problems.ThrowIfAny(source);
}

void CheckPluginRules(const TrainConfig& config, const std::string& source,
                      const std::string& device) {
  for (const EmbeddingBagConfig& table : config.tables) {
    if (const AbsentRule* absent = AbsentRuleIn(table.optimizer))
      throw Error(
          Format("{}: table '{}' is trained by the rule {}, which is that of a plugin: give "
                 "the shared object, by --plugin FILE",
                 source, table.name, absent->name()));
    const PluginRule* rule = PluginRuleIn(table.optimizer);
    if (rule != nullptr && device != "cpu")
      throw Error(
          Format("--device {} beside --plugin {}: its rule {}, of table '{}', runs on CPUs "
                 "alone: leave --device out, or choose a rule of the library",
                 device, rule->plugin().path, rule->name(), table.name));
  }
}

std::vector<std::string> PluginChanges(const std::string& saved_config) {
  std::vector<std::string> changes;
  if (saved_config.empty()) return changes;
  const Json saved = internal::ParseJson(saved_config);
  for (const RulePlugin* plugin : LoadedRulePlugins()) {
    std::string was;
    ForEachObject(saved, [&](const Json& object) {
      const bool named = object.contains("name") && object["name"] == plugin->rule();
      if (named && was.empty()) was = HashIn(object);
    });
    if (!was.empty() && was != plugin->sha256)
      changes.push_back(
          Format("--plugin {}: the file with the rule {} is another one than before (SHA-256 was "
                 "{}, is {}), so what follows may have other bits",
                 plugin->path, plugin->rule(), was, plugin->sha256));
  }
  return changes;
}

}  // namespace tessera
