#include "train/config/train_config.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "metrics/rec_metrics_json.h"
#include "runtime/base/size_limits.h"
#include "runtime/files/files.h"
#include "runtime/json/json_object.h"
#include "train/config/data_json.h"
#include "train/config/dense_json.h"
#include "train/config/evaluation_json.h"
#include "train/config/managed_collision_json.h"
#include "train/config/model_json.h"
#include "train/config/number_json.h"
#include "train/config/rule_json.h"
#include "train/config/schedule_json.h"
#include "train/config/schema_checks.h"

namespace tessera {
namespace {

using internal::Json;
using internal::JsonObject;
using internal::ThrowExpected;

void ReadInitRange(JsonObject& object, EmbeddingBagConfig& table) {
  const Json* value = object.Find("init_range");
  if (value == nullptr) return;
  std::vector<float> range;
  internal::ReadJson(*value, object.at("init_range"), range);
  if (range.size() != 2 || range[0] > range[1])
    ThrowExpected(object.at("init_range"), "[low, high]", *value);
  table.init_range = {range[0], range[1]};
}

void ReadPlacement(JsonObject& object, EmbeddingBagConfig& table) {
  using Location = EmbeddingLocation;
  object.OptionalWord("location", table.location,
                      {Location::kDevice, Location::kHost, Location::kManaged,
                       Location::kManagedCaching, Location::kDisk});
  const Json* json = object.Find("cache");
  if (json == nullptr) return;
  if (!IsCached(table.location))
    throw Error(Format("{}: only a table whose location is MANAGED_CACHING or DISK has a cache",
                       object.at("cache")));
  JsonObject cache(*json, object.at("cache"));
  cache.OptionalWord("policy", table.cache.policy, {CachePolicy::kLru, CachePolicy::kLfu});
  int64_t ways = table.cache.ways;
  cache.Optional("ways", ways);
  CheckPositive(ways, SizeLimits::kWays, cache.at("ways"));
  table.cache.ways = static_cast<int>(ways);
  cache.Optional("load_factor", table.cache.load_factor);
  cache.Optional("bytes", table.cache.bytes);
  cache.Optional("scratch_rows", table.cache.scratch_rows);
  cache.Optional("folder", table.cache.folder);
  cache.Finish();
  try {
    CheckCacheConfig(table.cache);
  } catch (const Error& error) {
    throw Error(Format("{}: {}", object.at("cache"), error.what()));
  }
}

// The table's own, else that of the document.
void ReadManagedCollision(JsonObject& object, const EmbeddingBagConfig& table,
                          const std::optional<ManagedTableConfig>& of_all,
                          ManagedTableConfigs& configs) {
  const std::string where = object.at("managed_collision");
  const Json* own = object.Find("managed_collision");
  const auto config = own == nullptr ? of_all : internal::ManagedCollisionFromJson(*own, where);
  if (!config) return;
  internal::CheckManagedTable(*config, table, where);
  configs.insert_or_assign(table.name, *config);
}

EmbeddingBagConfig ReadTable(const Json& json, const std::string& where,
                             const std::optional<ManagedTableConfig>& managed_collision,
                             TrainConfig& config) {
  JsonObject object(json, where);
  EmbeddingBagConfig table;
  object.Required("name", table.name);
  if (table.name.empty())
    throw Error(Format("{}: expected a name that is not empty", object.at("name")));
  object.Required("rows", table.num_embeddings);
  object.Required("dim", table.embedding_dim);
  CheckTableSize(table.num_embeddings, table.embedding_dim, Format("{} ('{}')", where, table.name));
  object.OptionalWord("pooling", table.pooling, {PoolingType::kSum, PoolingType::kMean});
  object.Required("features", table.feature_names);
  if (table.feature_names.empty())
    throw Error(Format("{}: expected at least one feature", object.at("features")));
  object.OptionalWord("dtype", table.data_type, {DType::kF32, DType::kF16, DType::kBF16});
  object.OptionalWord("state_dtype", table.state_type, {DType::kF32, DType::kF16, DType::kBF16});
  object.Optional("stochastic_rounding", table.stochastic_rounding);
  ReadPlacement(object, table);
  ReadInitRange(object, table);
  const Json* rule = object.Find("optimizer");
  table.optimizer = rule == nullptr ? config.sparse_optimizer
                                    : internal::RuleFromJson(*rule, object.at("optimizer"));
  ReadManagedCollision(object, table, managed_collision, config.managed_collision);
  object.Finish();
  return table;
}

// Names are unique, and every feature is read by one table.
// Two tables that read one feature read the same numbers.
void CheckReaders(const std::string& feature, const EmbeddingBagConfig& first,
                  const EmbeddingBagConfig& second, const ManagedTableConfigs& managed) {
  if (first.name == second.name)
    throw Error(Format("tables: feature '{}' is there twice in '{}'", feature, first.name));
  if (first.num_embeddings != second.num_embeddings)
    throw Error(
        Format("tables: feature '{}' is read by '{}', of {} rows, and by '{}', of {}: its ids are "
               "taken modulo the rows, so expected as many",
               feature, first.name, first.num_embeddings, second.name, second.num_embeddings));
  for (const EmbeddingBagConfig* table : {&first, &second})
    if (managed.contains(table->name))
      throw Error(
          Format("tables: feature '{}' is read by '{}' and by '{}', but '{}' has "
                 "managed_collision: its ids can become the rows of one only",
                 feature, first.name, second.name, table->name));
}

void CheckNames(const std::vector<EmbeddingBagConfig>& tables, const ManagedTableConfigs& managed) {
  std::set<std::string> names;
  std::map<std::string, const EmbeddingBagConfig*> reader_of;
  for (const EmbeddingBagConfig& table : tables) {
    if (!names.insert(table.name).second)
      throw Error(Format("tables: two are called '{}'", table.name));
    for (const std::string& feature : table.feature_names) {
      const auto [entry, is_new] = reader_of.emplace(feature, &table);
      if (!is_new) CheckReaders(feature, *entry->second, table, managed);
    }
  }
}

void ReadTables(JsonObject& document, TrainConfig& config) {
  const Json& list = document.Require("tables");
  if (!list.is_array() || list.empty())
    ThrowExpected("tables", "a list of at least one table", list);
  std::optional<ManagedTableConfig> managed_collision;
  if (const Json* json = document.Find("managed_collision"))
    managed_collision = internal::ManagedCollisionFromJson(*json, "managed_collision");
  for (size_t i = 0; i < list.size(); ++i)
    config.tables.push_back(ReadTable(list[i], Format("tables[{}]", i), managed_collision, config));
  CheckNames(config.tables, config.managed_collision);
}

void ReadOptimizers(JsonObject& document, TrainConfig& config) {
  JsonObject object(document.Require("optimizer"), "optimizer");
  config.sparse_optimizer = internal::RuleFromJson(object.Require("sparse"), object.at("sparse"));
  config.dense_optimizer =
      internal::DenseOptimizerFromJson(object.Require("dense"), object.at("dense"));
  if (const Json* warmup = object.Find("warmup"))
    config.warmup = internal::WarmupFromJson(*warmup, object.at("warmup"));
  if (const Json* clipping = object.Find("gradient_clipping"))
    config.gradient_clipping =
        internal::ClippingFromJson(*clipping, object.at("gradient_clipping"));
  object.Finish();
}

// All tables have the dim that the model takes.
void CheckDims(const TrainConfig& config) {
  if (TakesAnyDims(config.model.type)) return;
  const bool has_arch = !config.model.dense_arch.empty();
  const int64_t dim =
      has_arch ? config.model.dense_arch.back() : config.tables.front().embedding_dim;
  for (const EmbeddingBagConfig& table : config.tables) {
    if (table.embedding_dim != dim)
      throw Error(Format("table '{}': expected dim {}, {}, got {}", table.name, dim,
                         has_arch ? "the last layer of model.dense_arch" : "as the first table's",
                         table.embedding_dim));
  }
}

// Labels that tasks name are among those of the data.
void CheckTasks(const TrainConfig& config) {
  const std::vector<std::string> labels = LabelNames(config.data);
  std::string there;
  for (const std::string& label : labels) there += (there.empty() ? "'" : ", '") + label + "'";
  const auto check = [&](size_t task, const char* key, const std::string& label) {
    if (std::ranges::find(labels, label) == labels.end())
      throw Error(Format("model.tasks[{}].{}: the data have no label '{}'; there is {}", task, key,
                         label, there.empty() ? "none" : there));
  };
  for (size_t t = 0; t < config.model.tasks.size(); ++t) {
    const TaskConfig& task = config.model.tasks[t];
    if (!task.label.empty()) check(t, "label", task.label);
    if (!task.where.empty()) check(t, "where", task.where);
  }
}

// Every feature that tables read belongs to a tower, and every tower's feature is read.
void CheckTowers(const TrainConfig& config) {
  if (config.model.type != RankingModelType::kTwoTower) return;
  const auto& [query, candidate] = std::tie(config.model.query, config.model.candidate);
  const std::vector<CategoricalFeature> features = Features(config);
  const auto is_read = [&](const std::string& name) {
    return std::ranges::any_of(features, [&](const auto& feature) { return feature.name == name; });
  };
  for (const std::string& name : query)
    if (!is_read(name)) throw Error(Format("model.query: no table reads the feature '{}'", name));
  for (const std::string& name : candidate)
    if (!is_read(name))
      throw Error(Format("model.candidate: no table reads the feature '{}'", name));
  for (const CategoricalFeature& feature : features)
    if (std::ranges::count(query, feature.name) + std::ranges::count(candidate, feature.name) == 0)
      throw Error(
          Format("model: feature '{}' is read by a table, but neither query nor candidate "
                 "names it",
                 feature.name));
}

void CheckPositionWeights(const TrainConfig& config) {
  const std::vector<CategoricalFeature> features = Features(config);
  for (const auto& [name, length] : config.model.position_weights)
    if (std::none_of(features.begin(), features.end(),
                     [&](const CategoricalFeature& f) { return f.name == name; }))
      throw Error(Format("model.position_weights: no table reads the feature '{}'", name));
}

// Throws unless the data have everything that the tables and the model need.
void CheckData(const TrainConfig& config) {
  for (const CategoricalFeature& feature : Features(config))
    internal::CheckFeature(config.data, feature.name);
  internal::CheckDenseIn(config.data, config.model.dense_in);
  internal::CheckSchema(config);
  if (config.data.format == DataFormat::kRandom && !config.managed_collision.empty())
    throw Error(
        "managed_collision: random data has no raw ids: expected the format \"criteo\", "
        "\"planted\", \"movielens\", or one of a user's own files");
}

void ReadTrain(JsonObject& document, TrainConfig& config) {
  const Json* json = document.Find("train");
  if (json == nullptr) return;
  JsonObject object(*json, "train");
  object.Optional("batch_size", config.batch_size);
  CheckPositive(config.batch_size, SizeLimits::kBatch, object.at("batch_size"));
  object.Optional("accumulate_steps", config.accumulate_steps);
  CheckPositive(config.accumulate_steps, SizeLimits::kBatch, object.at("accumulate_steps"));
  CheckAccumulation(config);
  object.Optional("epochs", config.epochs);
  CheckPositive(config.epochs, SizeLimits::kSteps, object.at("epochs"));
  internal::ReadSeed(object, config.seed);
  object.Finish();
}

Json TableToJson(const EmbeddingBagConfig& table, const ManagedTableConfigs& managed) {
  Json json = {{"name", table.name},
               {"rows", table.num_embeddings},
               {"dim", table.embedding_dim},
               {"pooling", ToString(table.pooling)},
               {"features", table.feature_names},
               {"dtype", ToString(table.data_type)},
               {"state_dtype", ToString(table.state_type)},
               {"stochastic_rounding", table.stochastic_rounding}};
  if (table.location != EmbeddingLocation::kDevice) json["location"] = ToString(table.location);
  if (IsCached(table.location))
    json["cache"] = {{"policy", ToString(table.cache.policy)},
                     {"ways", table.cache.ways},
                     {"load_factor", table.cache.load_factor},
                     {"bytes", table.cache.bytes},
                     {"scratch_rows", table.cache.scratch_rows}};
  if (table.location == EmbeddingLocation::kDisk && !table.cache.folder.empty())
    json["cache"]["folder"] = table.cache.folder;
  if (table.init_range)
    json["init_range"] = {internal::ShortestDouble(table.init_range->first),
                          internal::ShortestDouble(table.init_range->second)};
  if (const auto own = managed.find(table.name); own != managed.end())
    json["managed_collision"] = internal::ManagedCollisionToJson(own->second);
  json["optimizer"] = internal::RuleToJson(table.optimizer);
  return json;
}

}  // namespace

TrainConfig ParseTrainConfig(const std::string& text, const std::string& source) {
  try {
    const Json json = internal::ParseJson(text);
    JsonObject document(json, "");
    TrainConfig config;
    ReadOptimizers(document, config);
    ReadTables(document, config);
    config.model = internal::RankingNetFromJson(document.Require("model"), "model");
    CheckDims(config);
    CheckPositionWeights(config);
    if (const Json* data = document.Find("data"))
      config.data = internal::DataFromJson(*data, "data");
    CheckOptions(config.data.planted);
    CheckData(config);
    CheckTasks(config);
    CheckTowers(config);
    ReadTrain(document, config);
    if (const Json* evaluation = document.Find("evaluation"))
      config.evaluation = internal::EvaluationFromJson(*evaluation, "evaluation");
    if (const Json* metrics = document.Find("metrics")) {
      config.metrics = internal::RecMetricsFromJson(*metrics, "metrics");
      if (!metrics->contains("rec_tasks") && !config.model.tasks.empty())
        config.metrics->tasks = RecTasksOf(config.model.tasks);
    }
    document.Finish();
    return config;
  } catch (const Error& error) {
    throw Error(Format("{}: {}", source, error.what()));
  }
}

TrainConfig ReadTrainConfig(const std::string& path) {
  return ParseTrainConfig(ReadTextFile(path), path);
}

void CheckAccumulation(const TrainConfig& config) {
  if (config.accumulate_steps == 1) return;
  if (config.accumulate_steps > SizeLimits::kBatch / config.batch_size)
    throw Error(Format("train: {} micro-batches of {} examples are one batch of more than {}",
                       config.accumulate_steps, config.batch_size, SizeLimits::kBatch));
  for (const TaskConfig& task : config.model.tasks)
    if (task.loss == TaskLoss::kInBatchSoftmax)
      throw Error(
          Format("train.accumulate_steps: {} beside the loss in_batch_softmax of task '{}': "
                 "an example's candidate is compared with those of its whole batch, which "
                 "are not there in a micro-batch; expected accumulate_steps 1",
                 config.accumulate_steps, task.name));
  if (!config.managed_collision.empty())
    throw Error(
        Format("train.accumulate_steps: {} beside the raw ids (managed_collision) of table {}: "
               "rows change hands in each micro-batch, so a step would not have the bits of one "
               "batch; expected accumulate_steps 1, or tables without managed_collision",
               config.accumulate_steps, config.managed_collision.begin()->first));
}

RecTask RecTaskOf(const std::string& name) {
  return {.name = name,
          .label_name = "label_" + name,
          .prediction_name = "prediction_" + name,
          .weight_name = "weight_" + name};
}

std::vector<RecTask> RecTasksOf(const std::vector<TaskConfig>& tasks) {
  std::vector<RecTask> all;
  for (const TaskConfig& task : tasks) all.push_back(RecTaskOf(task.name));
  return all;
}

std::string ToJson(const TrainConfig& config) {
  Json json;
  for (const EmbeddingBagConfig& table : config.tables)
    json["tables"].push_back(TableToJson(table, config.managed_collision));
  json["model"] = internal::RankingNetToJson(config.model);
  json["optimizer"] = {{"sparse", internal::RuleToJson(config.sparse_optimizer)},
                       {"dense", internal::DenseOptimizerToJson(config.dense_optimizer)},
                       {"warmup", internal::WarmupToJson(config.warmup)},
                       {"gradient_clipping", internal::ClippingToJson(config.gradient_clipping)}};
  json["data"] = internal::DataToJson(config.data);
  json["train"] = {{"batch_size", config.batch_size},
                   {"accumulate_steps", config.accumulate_steps},
                   {"epochs", config.epochs},
                   {"seed", config.seed}};
  if (config.evaluation) json["evaluation"] = internal::EvaluationToJson(*config.evaluation);
  if (config.metrics) json["metrics"] = internal::RecMetricsToJson(*config.metrics);
  return json.dump();
}

std::vector<CategoricalFeature> Features(const TrainConfig& config) {
  std::vector<CategoricalFeature> features;
  for (const EmbeddingBagConfig& table : config.tables)
    for (const std::string& name : table.feature_names)
      if (std::none_of(features.begin(), features.end(),
                       [&](const CategoricalFeature& f) { return f.name == name; }))
        features.push_back(
            {name, table.num_embeddings, config.managed_collision.contains(table.name)});
  return features;
}

}  // namespace tessera
