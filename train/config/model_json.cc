#include "train/config/model_json.h"

#include "data/click_row.h"
#include "runtime/base/size_limits.h"
#include "runtime/json/json_kinds.h"
#include "train/config/tasks_json.h"

namespace tessera::internal {
namespace {

using Type = RankingModelType;

bool IsMixture(const RankingNetConfig& config) {
  return config.type == Type::kMmoe || config.type == Type::kPle;
}

JsonKinds ModelTypes() {
  JsonKinds kinds = {.key = "type", .words = {}};
  for (const Type type : kRankingModelTypes) kinds.words.push_back(ToString(type));
  return kinds;
}

Type ReadType(JsonObject& object) {
  std::string name;
  object.Required("type", name);
  for (const Type type : kRankingModelTypes)
    if (name == ToString(type)) return type;
  ThrowExpectedWord(object.at("type"), ModelTypes().words, name);
}

void ReadSize(JsonObject& object, const char* key, int64_t& size, int64_t most = SizeLimits::kDim) {
  object.Try([&] {
    object.Required(key, size);
    object.Note(key, Within(1, most));
    CheckPositive(size, most, object.at(key));
  });
}

bool ReadSizes(JsonObject& object, const char* key, std::vector<int64_t>& sizes) {
  return object.Try([&] {
    object.Required(key, sizes);
    Json size = TypeSchema(int64_t{});
    size.update(Within(1, SizeLimits::kDim));
    object.Note(key, ListSchema(size, 1, SizeLimits::kLayers));
    if (sizes.empty()) throw Error(Format("{}: expected at least one layer", object.at(key)));
    CheckLayers(sizes, object.at(key));
  });
}

// Dense features are left out by a 0 that is said, never by a dense_arch that is forgotten.
void ReadDenseIn(JsonObject& object, RankingNetConfig& config) {
  config.dense_in = ClickRow::kIntegers;
  object.Find("dense_in");
  const char* const dense = config.type == Type::kDeepFm ? "hidden" : "dense_arch";
  object.Find(dense);
  object.Try([&] {
    int64_t dense_in = config.dense_in;
    object.OptionalCount("dense_in", dense_in, SizeLimits::kDim);
    if (object.Has(dense)) CheckPositive(dense_in, SizeLimits::kDim, object.at("dense_in"));
    config.dense_in = dense_in;
  });
}

void ReadDenseArch(JsonObject& object, RankingNetConfig& config) {
  if (config.dense_in > 0) ReadSizes(object, "dense_arch", config.dense_arch);
  object.NeededUnless("dense_arch", "dense_in", 0);
}

// The last size of a branch is so many times the dim of the tables.
void ReadBranch(JsonObject& object, const char* key, const RankingNetConfig& config,
                std::vector<int64_t>& sizes) {
  if (!ReadSizes(object, key, sizes)) return;
  // Without dense_arch the dim is that of the tables: see MakeRankingNet. One below 1 was refused.
  if (config.dense_arch.empty() || config.dense_arch.back() < 1) return;
  const int64_t dim = config.dense_arch.back();
  object.Try([&] {
    if (sizes.back() % dim != 0)
      throw Error(
          Format("{}: expected a last layer that is a multiple of {}, the last of dense_arch, "
                 "got {}",
                 object.at(key), dim, sizes.back()));
  });
}

void ReadDlrm(JsonObject& object, RankingNetConfig& config) {
  ReadDenseArch(object, config);
  ReadSizes(object, "over_arch", config.over_arch);
  if (config.type == Type::kDlrmDcn) {
    ReadSize(object, "dcn_layers", config.dcn_layers, SizeLimits::kLayers);
    ReadSize(object, "dcn_low_rank", config.dcn_low_rank);
  }
  if (config.type == Type::kDlrmProjection) {
    ReadBranch(object, "branch1", config, config.branch1);
    ReadBranch(object, "branch2", config, config.branch2);
  }
}

void ReadDeepFm(JsonObject& object, RankingNetConfig& config) {
  if (config.dense_in > 0) ReadSize(object, "hidden", config.hidden);
  object.NeededUnless("hidden", "dense_in", 0);
  ReadSize(object, "deep_fm_dim", config.deep_fm_dim);
}

void ReadMixture(JsonObject& object, RankingNetConfig& config) {
  ReadDenseArch(object, config);
  ReadSize(object, "experts", config.experts);
  ReadSizes(object, "expert_arch", config.expert_arch);
  ReadSizes(object, "tower_arch", config.tower_arch);
  if (config.type == Type::kMmoe) return;
  ReadSize(object, "layers", config.extraction_layers, SizeLimits::kLayers);
  ReadSize(object, "task_experts", config.task_experts);
}

void ReadTemperature(JsonObject& object, RankingNetConfig& config) {
  object.Try([&] {
    object.Optional("temperature", config.temperature);
    object.Note("temperature", Above(0));
    if (!(config.temperature > 0))
      ThrowExpected(object.at("temperature"), "a number above 0", config.temperature);
  });
}

SamplingCorrection ReadSamplingCorrection(const Json& value, const std::string& where,
                                          JsonProblems* problems) {
  JsonObject object(value, where, problems);
  SamplingCorrection correction;
  object.Try(
      [&] { object.OptionalPositive("slots", correction.slots, SamplingCorrection::kMaxSlots); });
  object.Try([&] {
    object.Optional("alpha", correction.alpha);
    object.Note("alpha", {{"exclusiveMinimum", 0}, {"maximum", 1}});
    if (!(correction.alpha > 0 && correction.alpha <= 1))
      ThrowExpected(object.at("alpha"), "a number above 0, up to 1", correction.alpha);
  });
  object.Finish();
  return correction;
}

// Dense features are left alone.
void ReadTowers(JsonObject& object, RankingNetConfig& config) {
  for (const auto& [key, features] :
       {std::pair{"query", &config.query}, std::pair{"candidate", &config.candidate}}) {
    object.Try([&, key = key, features = features] {
      object.Required(key, *features);
      object.Note(key, {{"minItems", 1}});
      if (features->empty())
        throw Error(Format("{}: expected at least one feature", object.at(key)));
    });
  }
  ReadSizes(object, "layers", config.tower_layers);
  ReadTemperature(object, config);
  object.Try([&] { object.Optional("normalize", config.normalize); });
  object.Part("sampling_correction", JsonNeed::kOptional, [&](const auto&... correction) {
    config.sampling_correction = ReadSamplingCorrection(correction...);
  });
}

void ReadPositionWeights(JsonObject& object, RankingNetConfig& config) {
  const Json length_of_bag = {{"type", "integer"}, {"minimum", 1}, {"maximum", SizeLimits::kDim}};
  const Json* json = object.Find("position_weights",
                                 {{"type", "object"}, {"additionalProperties", length_of_bag}});
  if (json == nullptr) return;
  if (config.weighted)
    throw Error(Format("{}: beside weighted, the weights that ids come with: expected one of them",
                       object.at("position_weights")));
  const std::string where = object.at("position_weights");
  if (!json->is_object()) ThrowExpected(where, "an object {feature: longest bag, …}", *json);
  for (const auto& [feature, value] : json->items()) {
    const std::string place = Format("{}.{}", where, feature);
    int64_t& length = config.position_weights[feature];
    object.Try([&, &value = value] {
      ReadJson(value, place, length);
      CheckPositive(length, SizeLimits::kDim, place);
    });
  }
}

void ReadIdWeights(JsonObject& object, RankingNetConfig& config) {
  object.Try([&] { object.Optional("weighted", config.weighted); });
  object.Try([&] { ReadPositionWeights(object, config); });
}

SequenceAttention ReadSequence(const Json& value, const std::string& where,
                               JsonProblems* problems) {
  JsonObject object(value, where, problems);
  SequenceAttention attention;
  object.Try([&] { object.Required("sequence", attention.sequence); });
  object.Try([&] { object.Required("target", attention.target); });
  ReadSize(object, "max_length", attention.max_length, kMaxPositions);
  ReadSizes(object, "layers", attention.layers);
  object.Finish();
  return attention;
}

void ReadAttention(JsonObject& object, RankingNetConfig& config) {
  if (config.type == Type::kTwoTower) {
    object.Try([&] {
      object.Refuse("attention", "beside the type two_tower: its towers do not see each other");
    });
    return;
  }
  object.Parts("attention", JsonNeed::kOptional, 0, "a list of objects",
               [&](const Json& value, const std::string& where, JsonProblems* problems) {
                 config.attention.push_back(ReadSequence(value, where, problems));
               });
}

// The last layer of what ends in one output, or in one a task.
void CheckOutputs(const std::string& where, const std::vector<int64_t>& sizes, int64_t outputs) {
  if (sizes.size() < 2) throw Error(Format("{}: expected at least two layers", where));
  if (sizes.back() != outputs)
    throw Error(Format("{}: expected a last layer of {}, {}, got {}", where, outputs,
                       outputs == 1 ? "the logit" : "an output for each of the tasks",
                       sizes.back()));
}

void ReadSizesOfType(JsonObject& object, RankingNetConfig& config) {
  if (config.type == Type::kTwoTower) return ReadTowers(object, config);
  ReadDenseIn(object, config);
  if (config.type == Type::kDeepFm) return ReadDeepFm(object, config);
  return IsMixture(config) ? ReadMixture(object, config) : ReadDlrm(object, config);
}

// REQUIRES: all keys were read without a problem.
void CheckLosses(const std::string& where, const RankingNetConfig& config) {
  for (const TaskConfig& task : config.tasks)
    if (task.loss == TaskLoss::kInBatchSoftmax && config.type != Type::kTwoTower)
      throw Error(
          Format("{}: task '{}': the loss in_batch_softmax is of the type two_tower, whose "
                 "candidates it compares; got the type {}",
                 where, task.name, ToString(config.type)));
}

void CheckOutputsOfType(const JsonObject& object, const RankingNetConfig& config) {
  if (IsMixture(config)) return CheckOutputs(object.at("tower_arch"), config.tower_arch, 1);
  if (config.type != Type::kDeepFm && config.type != Type::kTwoTower)
    CheckOutputs(object.at("over_arch"), config.over_arch, config.num_tasks());
}

RankingNetConfig ReadNet(const Json& value, const std::string& where, JsonProblems* problems) {
  JsonObject object(value, where, problems);
  RankingNetConfig config;
  config.type = ReadType(object);
  ReadSizesOfType(object, config);
  ReadIdWeights(object, config);
  ReadAttention(object, config);
  ReadTasks(object, config.tasks);
  object.Finish();
  if (problems != nullptr && problems->In(where)) return config;
  object.Try([&] { CheckAttention(config); });
  object.Try([&] { CheckLosses(object.at("tasks"), config); });
  object.Try([&] { CheckSamplingCorrection(config); });
  object.Try([&] { CheckOutputsOfType(object, config); });
  return config;
}

}  // namespace

RankingNetConfig RankingNetFromJson(const Json& value, const std::string& where,
                                    JsonProblems* problems) {
  return ReadKinds(value, problems, ModelTypes(),
                   [&](const Json& net, JsonProblems* of) { return ReadNet(net, where, of); });
}

Json RankingNetToJson(const RankingNetConfig& config) {
  Json json = {{"type", ToString(config.type)}};
  if (config.type != Type::kTwoTower) json["dense_in"] = config.dense_in;
  if (config.weighted) json["weighted"] = true;
  if (!config.position_weights.empty()) json["position_weights"] = config.position_weights;
  const auto add_size = [&](const char* key, int64_t size) {
    if (size > 0) json[key] = size;
  };
  const auto add_sizes = [&](const char* key, const std::vector<int64_t>& sizes) {
    if (!sizes.empty()) json[key] = sizes;
  };
  add_size("hidden", config.hidden);
  add_size("deep_fm_dim", config.deep_fm_dim);
  add_sizes("dense_arch", config.dense_arch);
  add_sizes("over_arch", config.over_arch);
  add_size("dcn_layers", config.dcn_layers);
  add_size("dcn_low_rank", config.dcn_low_rank);
  add_sizes("branch1", config.branch1);
  add_sizes("branch2", config.branch2);
  add_size("experts", config.experts);
  add_sizes("expert_arch", config.expert_arch);
  add_sizes("tower_arch", config.tower_arch);
  add_size("layers", config.extraction_layers);
  add_size("task_experts", config.task_experts);
  add_sizes("layers", config.tower_layers);
  if (!config.query.empty()) json["query"] = config.query;
  if (!config.candidate.empty()) json["candidate"] = config.candidate;
  if (config.temperature != 1) json["temperature"] = ShortestDouble(config.temperature);
  if (config.normalize) json["normalize"] = true;
  if (config.sampling_correction)
    json["sampling_correction"] = {{"slots", config.sampling_correction->slots},
                                   {"alpha", config.sampling_correction->alpha}};
  for (const SequenceAttention& one : config.attention)
    json["attention"].push_back({{"sequence", one.sequence},
                                 {"target", one.target},
                                 {"max_length", one.max_length},
                                 {"layers", one.layers}});
  if (!config.tasks.empty()) json["tasks"] = TasksToJson(config.tasks);
  return json;
}

}  // namespace tessera::internal
