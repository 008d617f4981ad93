#include "tests/crossings/training_config.h"

#include <regex>
#include <string>

#include "tests/crossings/rules.h"

namespace tessera::testing {
namespace {

// Tables of fewer rows than there are ids, so that raw ids are turned away and evicted.
constexpr char kConfig[] = R"({
  "tables": [
    {"name": "a", "rows": 24, "dim": 8, "features": ["cat_0"]},
    {"name": "b", "rows": 32, "dim": 8, "features": ["cat_1", "cat_2"]},
    {"name": "c", "rows": 16, "dim": 8, "features": ["cat_9"]}],
  "model": {"type": "dlrm", "dense_arch": [8, 8], "over_arch": [8, 1]},
  "optimizer": {"sparse": {"name": "sgd", "lr": 0.1}, "dense": {"name": "sgd", "lr": 0.05}},
  "data": {"format": "planted", "rows": 192, "eval_rows": 64, "vocabulary": 60, "strength": 3},
  "train": {"batch_size": 32, "epochs": 1, "seed": 3}})";

DType TypeOf(const std::string& name) {
  if (name.starts_with("f16")) return DType::kF16;
  return name.starts_with("bf16") ? DType::kBF16 : DType::kF32;
}

ManagedCollisionConfig ModuleOf(const std::string& ids) {
  if (ids == "growing") return GrowingIndexOptions{.score = MchEviction::kLfu, .admit_after = 2};
  if (ids == "mch")
    return MchConfig{.eviction = MchEviction::kLru, .eviction_interval = 2, .mch_size = 1};
  return HashZchOptions{.max_probe = 4,
                        .eviction = HashZchEviction::kSingleTtl,
                        .single_ttl = 2,
                        .clock = HashZchClock::kForwards};
}

void SetTables(const Point& point, TrainConfig& config) {
  for (EmbeddingBagConfig& t : config.tables) {
    t.optimizer = RuleNamed(point["rule"]);
    t.pooling = point.Is("pooling", "MEAN") ? PoolingType::kMean : PoolingType::kSum;
    t.data_type = TypeOf(point["rows"]);
    t.stochastic_rounding = point["rows"].ends_with("by_chance");
    t.state_type = TypeOf(point["state"]);
    t.location = ParseEmbeddingLocation(point["location"]);
    t.cache = {.ways = 2, .load_factor = 0.3};
  }
  if (point.Is("ids", "rows")) return;
  for (const char* table : {"a", "b"})
    config.managed_collision[table] = {ModuleOf(point["ids"]),
                                       point.Is("sharding", "none") ? 0 : kTrainingParts};
}

// One task, that of choosing an example's candidate among those of its batch.
RankingNetConfig Towers(bool corrected) {
  RankingNetConfig model{.type = RankingModelType::kTwoTower};
  model.tasks = {{.name = "in_batch_softmax", .label = "", .loss = TaskLoss::kInBatchSoftmax}};
  model.query = {"cat_0", "cat_9"};
  model.candidate = {"cat_1", "cat_2"};
  model.tower_layers = {8, 4};
  model.temperature = 0.5f;
  model.normalize = true;
  if (corrected) model.sampling_correction = {.slots = 64, .alpha = 0.1};
  return model;
}

void SetModel(const Point& point, RankingNetConfig& model) {
  if (point.Is("model", "two_tower|two_tower_corrected")) {
    model = Towers(point.Is("model", "two_tower_corrected"));
  } else if (point.Is("model", "dlrm_dcn")) {
    model.type = RankingModelType::kDlrmDcn;
    model.dcn_layers = 2;
    model.dcn_low_rank = 4;
  } else if (point.Is("model", "dlrm_projection")) {
    model.type = RankingModelType::kDlrmProjection;
    model.branch1 = model.branch2 = {16};
  } else if (point.Is("model", "deepfm")) {
    model.type = RankingModelType::kDeepFm;
    model.dense_arch = model.over_arch = {};
    model.hidden = 16;
    model.deep_fm_dim = 4;
  }
  if (point.Is("processor", "position")) model.position_weights = {{"cat_1", 3}, {"cat_9", 1}};
  if (point.Is("processor", "attention"))
    model.attention = {{.sequence = "cat_2", .target = "cat_0", .max_length = 3, .layers = {4}}};
}

void SetDensePart(const Point& point, TrainConfig& config) {
  config.dense_optimizer = DenseOptimizerConfig(point["dense"]);
  config.dense_optimizer.lr = 0.05;
  if (point.Is("clipping", "norm"))
    config.gradient_clipping = {.mode = GradientClipping::kNorm, .max_gradient = 0.1};
  if (point.Is("clipping", "value"))
    config.gradient_clipping = {.mode = GradientClipping::kValue, .max_gradient = 0.01};
  if (point.Is("products", "portable")) config.dense_products = DenseProducts::kPortable;
  if (point.Is("products", "library")) config.dense_products = DenseProducts::kLibrary;
}

// Enough examples for each rank's two micro-batches.
void SetAccumulation(const Point& point, TrainConfig& config) {
  if (point.Is("accumulation", "none")) return;
  config.batch_size = 128 * (point.Is("sharding", "none") ? 1 : std::stoi(point["ranks"]));
  config.accumulate_steps = 2;
  config.data.rows = kTrainingSteps * ExamplesOfStep(config);
  CheckAccumulation(config);
}

}  // namespace

TrainConfig TrainingConfigOf(const Point& point) {
  std::string text = kConfig;
  if (point.Is("keys", "shared"))
    text = std::regex_replace(text, std::regex(R"(16, "dim": 8, "features": \["cat_9"\])"),
                              R"(32, "dim": 8, "features": ["cat_9", "cat_1"])");
  TrainConfig config = ParseTrainConfig(text, "crossings.json");
  SetTables(point, config);
  SetModel(point, config.model);
  SetDensePart(point, config);
  if (point.Is("schedule", "warmup"))
    config.warmup = {{.policy = WarmupPolicy::kLinear, .max_iters = 4, .value = 0.1},
                     {.policy = WarmupPolicy::kConstant, .max_iters = 100, .value = 0.5}};
  if (!point.Is("evaluation", "ends")) config.evaluation = {.every_steps = 2};
  SetAccumulation(point, config);
  return config;
}

}  // namespace tessera::testing
