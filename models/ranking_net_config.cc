#include "models/ranking_net_config.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "models/layers/interaction.h"
#include "runtime/base/check.h"
#include "runtime/base/size_limits.h"

namespace tessera {

using Type = RankingModelType;

std::string ToString(Type type) {
  switch (type) {
    case Type::kDlrm:
      return "dlrm";
    case Type::kDlrmDcn:
      return "dlrm_dcn";
    case Type::kDlrmProjection:
      return "dlrm_projection";
    case Type::kDeepFm:
      return "deepfm";
    case Type::kMmoe:
      return "mmoe";
    case Type::kPle:
      return "ple";
    case Type::kTwoTower:
      return "two_tower";
  }
  TESSERA_FAIL("unknown type of model {}", static_cast<int>(type));
}

std::string ToString(TaskLoss loss) {
  return loss == TaskLoss::kBce ? "bce" : loss == TaskLoss::kMse ? "mse" : "in_batch_softmax";
}

bool TakesAnyDims(Type type) {
  return type == Type::kMmoe || type == Type::kPle || type == Type::kTwoTower;
}

namespace {

void CheckSizes(const RankingNetConfig& config, const char* name, const std::vector<int64_t>& sizes,
                bool wanted) {
  TESSERA_CHECK(sizes.empty() != wanted, "{}: {} of {}: expected {}", ToString(config.type), name,
                sizes.size(), wanted ? "at least one size" : "no such sizes");
  CheckLayers(sizes, Format("{}: {}", ToString(config.type), name));
}

void CheckSize(const RankingNetConfig& config, const char* name, int64_t size, bool wanted) {
  TESSERA_CHECK(wanted ? size > 0 : size == 0, "{}: {}: expected {}, got {}", ToString(config.type),
                name, wanted ? "a number above 0" : "none", size);
  CheckCount(size, SizeLimits::kDim, Format("{}: {}", ToString(config.type), name));
}

// The sizes of an MLP that ends in a linear layer of `outputs`.
void CheckOutputs(const RankingNetConfig& config, const char* name,
                  const std::vector<int64_t>& sizes, int64_t outputs) {
  TESSERA_CHECK(sizes.size() >= 2, "{}: {}: expected at least two sizes, got {}",
                ToString(config.type), name, sizes.size());
  TESSERA_CHECK_EQ(sizes.back(), outputs, "{}: last size of {}", ToString(config.type), name);
}

void CheckTasks(const RankingNetConfig& config) {
  std::set<std::string> names;
  for (const TaskConfig& task : config.tasks) {
    TESSERA_CHECK(names.insert(task.name).second, "{}: two tasks are called '{}'",
                  ToString(config.type), task.name);
    TESSERA_CHECK(std::isfinite(task.weight) && task.weight >= 0,
                  "{}: task '{}': expected a weight of 0 or more, got {}", ToString(config.type),
                  task.name, task.weight);
    TESSERA_CHECK(task.loss != TaskLoss::kInBatchSoftmax || config.type == Type::kTwoTower,
                  "{}: task '{}': in_batch_softmax is of two_tower, whose candidates it compares",
                  ToString(config.type), task.name);
  }
}

void CheckTowers(const RankingNetConfig& config) {
  const bool two_tower = config.type == Type::kTwoTower;
  for (const auto* features : {&config.query, &config.candidate})
    TESSERA_CHECK(features->empty() != two_tower, "{}: query and candidate: expected {}",
                  ToString(config.type), two_tower ? "features of each" : "none");
  CheckSizes(config, "layers", config.tower_layers, two_tower);
  TESSERA_CHECK(std::isfinite(config.temperature) && config.temperature > 0,
                "{}: temperature: expected a number above 0, got {}", ToString(config.type),
                config.temperature);
  TESSERA_CHECK(two_tower || (config.temperature == 1 && !config.normalize),
                "{}: temperature and normalize are of two_tower", ToString(config.type));
}

}  // namespace

double BytesOfSlots(const RankingNetConfig& config) {
  constexpr double kSlot = sizeof(int64_t) + sizeof(float);
  return config.sampling_correction ? kSlot * static_cast<double>(config.sampling_correction->slots)
                                    : 0;
}

void CheckSamplingCorrection(const RankingNetConfig& config) {
  if (!config.sampling_correction) return;
  TESSERA_CHECK(
      std::ranges::any_of(config.tasks,
                          [](const auto& task) { return task.loss == TaskLoss::kInBatchSoftmax; }),
      "model.sampling_correction beside tasks none of which has the loss in_batch_softmax, "
      "which it corrects");
  const auto& [slots, alpha] = *config.sampling_correction;
  CheckPositive(slots, SamplingCorrection::kMaxSlots, "sampling_correction: slots");
  TESSERA_CHECK(alpha > 0 && alpha <= 1,
                "sampling_correction: alpha: expected a number above 0, up to 1, got {}", alpha);
}

void CheckAttention(const RankingNetConfig& config) {
  TESSERA_CHECK(config.attention.empty() || config.type != Type::kTwoTower,
                "two_tower beside attention: a sequence would see the target of the other tower, "
                "whose rows are made without it");
  std::set<std::string> sequences;
  for (const auto& [sequence, target, max_length, layers] : config.attention) {
    const std::string where = Format("attention of '{}'", sequence);
    TESSERA_CHECK(sequences.insert(sequence).second, "{}: the sequence is there twice", where);
    TESSERA_CHECK(!config.position_weights.contains(sequence),
                  "{}: beside position_weights of it: expected one of them", where);
    CheckPositive(max_length, kMaxPositions, where + ": max_length");
    TESSERA_CHECK(!layers.empty(), "{}: layers: expected at least one size", where);
    CheckLayers(layers, where + ": layers");
  }
  for (const SequenceAttention& one : config.attention)
    TESSERA_CHECK(!sequences.contains(one.target),
                  "attention of '{}': its target '{}' is a sequence itself; expected a feature of "
                  "one row",
                  one.sequence, one.target);
}

AttendedBlocks FindAttendedBlocks(const SequenceAttention& attention,
                                  const std::vector<PooledFeature>& features,
                                  const std::string& where) {
  const auto block_of = [&](const std::string& name) {
    const auto is_named = [&](const PooledFeature& feature) { return feature.feature == name; };
    const auto readers = std::ranges::count_if(features, is_named);
    TESSERA_CHECK(readers == 1, "{}: expected one table that reads the feature '{}', got {}", where,
                  name, readers);
    return static_cast<size_t>(std::ranges::find_if(features, is_named) - features.begin());
  };
  const AttendedBlocks blocks = {block_of(attention.sequence), block_of(attention.target)};
  const int64_t sequence = features[blocks.sequence].dim, target = features[blocks.target].dim;
  TESSERA_CHECK(sequence == target,
                "{}: the rows of '{}' are compared with those of '{}': expected tables of one dim, "
                "got {} and {}",
                where, attention.sequence, attention.target, sequence, target);
  return blocks;
}

void CheckInteraction(const RankingNetConfig& config, int64_t features, int64_t dim) {
  const bool dot = config.type == Type::kDlrm, projection = config.type == Type::kDlrmProjection;
  if (!dot && !projection && config.type != Type::kDlrmDcn) return;
  const int64_t blocks = features + (config.dense_in > 0 ? 1 : 0);
  TESSERA_CHECK(blocks > 0, "{}: expected a feature", ToString(config.type));
  TESSERA_CHECK(!dot || config.dense_in > 0 || features > 1,
                "dlrm: expected dense features (dense_in above 0), or two others: there are no dot "
                "products of one");
  if (projection) ProjectionInteraction::CheckBranches(config.branch1, config.branch2, dim);
}

int64_t PositionsOf(const RankingNetConfig& config, const std::string& feature) {
  for (const SequenceAttention& one : config.attention)
    if (one.sequence == feature) return one.max_length;
  return 0;
}

std::optional<int64_t> MaxBagLength(const RankingNetConfig& config, const std::string& feature) {
  if (const int64_t positions = PositionsOf(config, feature); positions > 0) return positions;
  const auto weights = config.position_weights.find(feature);
  return weights == config.position_weights.end() ? std::nullopt : std::optional(weights->second);
}

void CheckRankingNetConfig(const RankingNetConfig& config) {
  const bool deepfm = config.type == Type::kDeepFm, dcn = config.type == Type::kDlrmDcn,
             projection = config.type == Type::kDlrmProjection, ple = config.type == Type::kPle,
             mixture = ple || config.type == Type::kMmoe, has_dense = config.dense_in > 0,
             two_tower = config.type == Type::kTwoTower, over = !deepfm && !mixture && !two_tower;
  CheckSize(config, "dense_in", config.dense_in, has_dense);
  CheckSizes(config, "dense_arch", config.dense_arch, !deepfm && has_dense);
  CheckSizes(config, "over_arch", config.over_arch, over);
  TESSERA_CHECK(!two_tower || !has_dense, "two_tower: dense_in: expected 0, no dense features");
  CheckTowers(config);
  CheckSize(config, "dcn_layers", config.dcn_layers, dcn);
  CheckCount(config.dcn_layers, SizeLimits::kLayers, "dcn_layers");
  CheckSize(config, "dcn_low_rank", config.dcn_low_rank, dcn);
  CheckSizes(config, "branch1", config.branch1, projection);
  CheckSizes(config, "branch2", config.branch2, projection);
  CheckSize(config, "hidden", config.hidden, deepfm && has_dense);
  CheckSize(config, "deep_fm_dim", config.deep_fm_dim, deepfm);
  CheckSize(config, "experts", config.experts, mixture);
  CheckSizes(config, "expert_arch", config.expert_arch, mixture);
  CheckSizes(config, "tower_arch", config.tower_arch, mixture);
  CheckSize(config, "layers", config.extraction_layers, ple);
  CheckCount(config.extraction_layers, SizeLimits::kLayers, "layers");
  CheckSize(config, "task_experts", config.task_experts, ple);
  TESSERA_CHECK(!config.weighted || config.position_weights.empty(),
                "weighted beside position_weights, which would take the place of the weights that "
                "ids come with");
  CheckAttention(config);
  CheckTasks(config);
  CheckSamplingCorrection(config);
  if (mixture) CheckOutputs(config, "tower_arch", config.tower_arch, 1);
  if (over) CheckOutputs(config, "over_arch", config.over_arch, config.num_tasks());
}

}  // namespace tessera
