#include "train/config/train_config.h"

#include <algorithm>
#include <tuple>

#include "metrics/rec_metrics_json.h"
#include "runtime/base/size_limits.h"
#include "runtime/files/files.h"
#include "runtime/json/json_object.h"
#include "train/config/data_json.h"
#include "train/config/dense_json.h"
#include "train/config/evaluation_json.h"
#include "train/config/model_json.h"
#include "train/config/rule_json.h"
#include "train/config/schedule_json.h"
#include "train/config/schema_checks.h"
#include "train/config/split_json.h"
#include "train/config/tables_json.h"

namespace tessera {
namespace {

using internal::Json;
using internal::JsonNeed;
using internal::JsonObject;
using internal::JsonProblems;

void ReadOptimizers(const Json& value, const std::string& where, JsonProblems* problems,
                    TrainConfig& config) {
  JsonObject object(value, where, problems);
  object.Part("sparse", JsonNeed::kRequired, [&](const auto&... rule) {
    config.sparse_optimizer = internal::RuleFromJson(rule...);
  });
  object.Part("dense", JsonNeed::kRequired, [&](const auto&... optimizer) {
    config.dense_optimizer = internal::DenseOptimizerFromJson(optimizer...);
  });
  object.Try([&] { internal::ReadWarmup(object, config.warmup); });
  object.Part("gradient_clipping", JsonNeed::kOptional, [&](const auto&... clipping) {
    config.gradient_clipping = internal::ClippingFromJson(clipping...);
  });
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

// REQUIRES: CheckDims found nothing.
void CheckInteractionOf(const TrainConfig& config) {
  const RankingNetConfig& model = config.model;
  const int64_t dim = config.tables.front().embedding_dim;
  int64_t features = 0;
  for (const EmbeddingBagConfig& table : config.tables) features += std::ssize(table.feature_names);
  try {
    CheckInteraction(model, features, dim);
  } catch (const Error& error) {
    throw Error(Format("model: {}", error.what()));
  }
}

void CheckAttention(const TrainConfig& config) {
  std::vector<PooledFeature> features;
  for (const EmbeddingBagConfig& table : config.tables)
    for (const std::string& feature : table.feature_names)
      features.push_back({feature, table.embedding_dim});
  for (const SequenceAttention& one : config.model.attention)
    FindAttendedBlocks(one, features, "model.attention");
}

// Throws unless the data have everything that the tables and the model need.
void CheckData(const TrainConfig& config) {
  for (const CategoricalFeature& feature : Features(config))
    internal::CheckFeature(config.data, feature.name);
  internal::CheckDenseIn(config.data, config.model.dense_in);
  internal::CheckSchema(config);
  internal::CheckSplit(config.data, Features(config));
  if (config.data.format == DataFormat::kRandom && !config.managed_collision.empty())
    throw Error(
        "managed_collision: random data has no raw ids: expected the format \"criteo\", "
        "\"planted\", \"movielens\", or one of a user's own files");
}

void ReadTrain(const Json& value, const std::string& where, JsonProblems* problems,
               TrainConfig& config) {
  JsonObject object(value, where, problems);
  const auto read = [&](const char* key, int64_t most, int64_t& number) {
    object.Try([&] { object.OptionalPositive(key, number, most); });
  };
  read("batch_size", SizeLimits::kBatch, config.batch_size);
  read("accumulate_steps", SizeLimits::kBatch, config.accumulate_steps);
  read("epochs", SizeLimits::kSteps, config.epochs);
  internal::ReadSeed(object, config.seed);
  object.Try([&] {
    object.OptionalWord("dense_products", config.dense_products,
                        {DenseProducts::kDefault, DenseProducts::kPortable, DenseProducts::kLibrary,
                         DenseProducts::kTf32, DenseProducts::kBf16});
  });
  object.Finish();
}

// Reads every section, whatever is wrong with the others.
void ReadSections(JsonObject& document, TrainConfig& config) {
  document.Part("optimizer", JsonNeed::kRequired,
                [&](const auto&... part) { ReadOptimizers(part..., config); });
  document.Try([&] { internal::ReadTables(document, config); });
  document.Part("model", JsonNeed::kRequired,
                [&](const auto&... part) { config.model = internal::RankingNetFromJson(part...); });
  document.Part("data", JsonNeed::kOptional,
                [&](const auto&... part) { config.data = internal::DataFromJson(part...); });
  document.Part("train", JsonNeed::kOptional,
                [&](const auto&... part) { ReadTrain(part..., config); });
  document.Part("evaluation", JsonNeed::kOptional, [&](const auto&... part) {
    config.evaluation = internal::EvaluationFromJson(part...);
  });
  document.Part("metrics", JsonNeed::kOptional, [&](const auto&... part) {
    config.metrics = internal::MetricsFromJson(part..., config);
  });
  document.Try([&] {
    std::string for_editors;
    document.Optional("$schema", for_editors);
  });
  document.Finish();
}

// Checks that sections fit each other, where each is good by itself.
void CheckSections(const TrainConfig& config, JsonProblems* problems) {
  using internal::Try;
  for (const char* section : {"tables", "managed_collision", "model", "data"})
    if (problems->In(section)) return;
  if (Try(problems, [&] { CheckDims(config); })) Try(problems, [&] { CheckInteractionOf(config); });
  Try(problems, [&] { CheckPositionWeights(config); });
  Try(problems, [&] { CheckAttention(config); });
  if (Try(problems, [&] { CheckOptions(config.data.planted); }))
    Try(problems, [&] { CheckData(config); });
  Try(problems, [&] { CheckTasks(config); });
  Try(problems, [&] { CheckTowers(config); });
  if (!problems->In("train")) Try(problems, [&] { CheckAccumulation(config); });
}

}  // namespace

TrainConfig ParseTrainConfig(const std::string& text, const std::string& source) {
  JsonProblems problems;
  TrainConfig config;
  internal::Try(&problems, [&] {
    const Json json = internal::ParseJson(text);
    JsonObject document(json, "", &problems);
    ReadSections(document, config);
    CheckSections(config, &problems);
  });
  problems.ThrowIfAny(source);
  return config;
}

std::string DescribeTrainConfig() {
  Json schema;
  JsonProblems problems(&schema);
  const Json nothing = Json::object();
  JsonObject document(nothing, "", &problems);
  TrainConfig config;
  ReadSections(document, config);
  return schema.dump();
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
  const Json shared = internal::RuleToJson(config.sparse_optimizer);
  for (const EmbeddingBagConfig& table : config.tables) {
    Json one = internal::TableToJson(table, config.managed_collision);
    if (one.at("optimizer") == shared) one.erase("optimizer");
    json["tables"].push_back(std::move(one));
  }
  json["model"] = internal::RankingNetToJson(config.model);
  json["optimizer"] = {{"sparse", shared},
                       {"dense", internal::DenseOptimizerToJson(config.dense_optimizer)},
                       {"warmup", internal::WarmupToJson(config.warmup)},
                       {"gradient_clipping", internal::ClippingToJson(config.gradient_clipping)}};
  json["data"] = internal::DataToJson(config.data);
  json["train"] = {{"batch_size", config.batch_size},
                   {"accumulate_steps", config.accumulate_steps},
                   {"epochs", config.epochs},
                   {"seed", config.seed},
                   {"dense_products", ToString(config.dense_products)}};
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
        features.push_back({name, table.num_embeddings,
                            config.managed_collision.contains(table.name),
                            MaxBagLength(config.model, name)});
  return features;
}

}  // namespace tessera
