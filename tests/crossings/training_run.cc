#include "tests/crossings/training_run.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <regex>

#include "comm/local_communicator.h"
#include "runtime/files/safetensors.h"
#include "serve/export/delta_writer.h"
#include "serve/export/model_writer.h"
#include "serve/predictor.h"
#include "serve/tessera_c.h"
#include "sharding/plan/plan_makers.h"
#include "tests/crossings/rules.h"
#include "train/checkpoint/whole_tables.h"
#include "train/config/train_config.h"
#include "train/run/training_run.h"

namespace tessera::testing {
namespace {

constexpr int64_t kParts = 4, kSteps = 6, kBreakAfter = 3;

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

void SetModel(const Point& point, RankingNetConfig& model) {
  if (point.Is("model", "dlrm_dcn")) {
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
}

TrainConfig ConfigOf(const Point& point) {
  std::string text = kConfig;
  if (point.Is("keys", "shared"))
    text = std::regex_replace(text, std::regex(R"(16, "dim": 8, "features": \["cat_9"\])"),
                              R"(32, "dim": 8, "features": ["cat_9", "cat_1"])");
  TrainConfig config = ParseTrainConfig(text, "crossings.json");
  for (EmbeddingBagConfig& t : config.tables) {
    t.optimizer = RuleNamed(point["rule"]);
    t.pooling = point.Is("pooling", "MEAN") ? PoolingType::kMean : PoolingType::kSum;
    t.data_type = TypeOf(point["rows"]);
    t.stochastic_rounding = point["rows"].ends_with("by_chance");
    t.state_type = TypeOf(point["state"]);
    t.location = ParseEmbeddingLocation(point["location"]);
    t.cache = {.ways = 2, .load_factor = 0.3};
  }
  if (!point.Is("ids", "rows"))
    for (const char* table : {"a", "b"})
      config.managed_collision[table] = {ModuleOf(point["ids"]),
                                         point.Is("sharding", "none") ? 0 : kParts};
  if (point.Is("accumulation", "2")) {  // enough examples for each rank's two micro-batches
    config.batch_size = 128 * (point.Is("sharding", "none") ? 1 : std::stoi(point["ranks"]));
    config.accumulate_steps = 2;
    config.data.rows = kSteps * ExamplesOfStep(config);
    CheckAccumulation(config);
  }
  config.dense_optimizer = DenseOptimizerConfig(point["dense"]);
  config.dense_optimizer.lr = 0.05;
  if (point.Is("clipping", "norm"))
    config.gradient_clipping = {.mode = GradientClipping::kNorm, .max_gradient = 0.1};
  if (point.Is("clipping", "value"))
    config.gradient_clipping = {.mode = GradientClipping::kValue, .max_gradient = 0.01};
  if (point.Is("schedule", "warmup"))
    config.warmup = {{.policy = WarmupPolicy::kLinear, .max_iters = 4, .value = 0.1},
                     {.policy = WarmupPolicy::kConstant, .max_iters = 100, .value = 0.5}};
  if (!point.Is("evaluation", "ends")) config.evaluation = {.every_steps = 2};
  SetModel(point, config.model);
  if (point.Is("processor", "position"))
    config.model.position_weights = {{"cat_1", 3}, {"cat_9", 1}};
  if (point.Is("processor", "attention"))
    config.model.attention = {
        {.sequence = "cat_2", .target = "cat_0", .max_length = 3, .layers = {4}}};
  return config;
}

ShardingPlan PlanOf(const Point& point, const TrainConfig& config, const std::string& type) {
  const int world = std::stoi(point["ranks"]);
  std::vector<TableShape> shapes;
  for (const EmbeddingBagConfig& t : config.tables)
    shapes.push_back({t.name, t.num_embeddings, t.embedding_dim});
  const int last = world - 1;
  const std::map<std::string, TableSharder> sharders = {
      {"data_parallel", DataParallel()},
      {"table_wise", TableWise(last)},
      {"column_wise", ColumnWise({0, last})},
      {"row_wise", RowWise()},
      {"table_row_wise", TableRowWise(0)},
      {"table_column_wise", TableColumnWise({last, last})},
      {"grid_shard", GridShard({0, world == 4 ? 1 : 0}, 4)}};
  const RankLayout layout{world, world == 4 ? 2 : world};
  if (type == "mixed")
    return MakeShardingPlan(
        layout, shapes,
        {{"a", sharders.at("row_wise")}, {"b", TableWise(0)}, {"c", sharders.at("column_wise")}});
  return MakeShardingPlan(layout, shapes, sharders.at(type));
}

// Another type with the same blocks of columns.
std::string OtherType(const std::string& type) {
  if (type == "table_wise") return "row_wise";
  if (type == "row_wise") return "table_row_wise";
  if (type == "column_wise") return "grid_shard";
  if (type == "table_column_wise" || type == "grid_shard") return "column_wise";
  return type == "mixed" ? type : "table_wise";
}

Tensor Numbers(const std::vector<double>& numbers) {
  Context host({.threads = 1});
  return Tensor::From(host, numbers);
}

std::vector<int64_t> LengthsAndIds(const KeyedJaggedTensor& features, int64_t batch,
                                   tessera_predictor* predictor, std::vector<int64_t>& lengths) {
  Context host({.threads = 1});
  std::vector<int64_t> ids;
  for (int64_t f = 0; f < tessera_c_num_features(predictor); ++f) {
    const JaggedTensor of = features.At(host, tessera_c_feature_name(predictor, f));
    const Tensor n = of.lengths(host).To(host, DType::kI64);
    const Tensor values = of.values().value().To(host, DType::kI64);
    lengths.insert(lengths.end(), n.data<int64_t>(), n.data<int64_t>() + batch);
    ids.insert(ids.end(), values.data<int64_t>(), values.data<int64_t>() + values.numel());
  }
  return ids;
}

Tensor ScoresByC(const std::string& model, const Batch& batch) {
  Context host({.threads = 1});
  const std::unique_ptr<tessera_predictor, void (*)(tessera_predictor*)> predictor(
      tessera_c_create(1), tessera_c_destroy);
  if (tessera_c_load(predictor.get(), model.c_str()) != 0) throw Error(tessera_c_last_error());
  const int64_t n = batch.dense.dim(0);
  std::vector<int64_t> lengths;
  const std::vector<int64_t> ids = LengthsAndIds(batch.features, n, predictor.get(), lengths);
  std::vector<float> scores(static_cast<size_t>(n));
  if (tessera_c_predict(predictor.get(), n, batch.dense.data<float>(), lengths.data(), ids.data(),
                        scores.data()) != 0)
    throw Error(tessera_c_last_error());
  return Tensor::From(host, scores);
}

// One training, by one process or by all ranks together.
class Training {
 public:
  Training(const Point& point, std::string folder, bool alone, bool one_batch)
      : point_(point),
        folder_(std::move(folder)),
        sharded_(!alone && !point.Is("sharding", "none")),
        config_(ConfigOf(point)) {
    if (!one_batch) return;
    config_.batch_size = ExamplesOfStep(config_);
    config_.accumulate_steps = 1;
  }

  TrainingOutcome Run() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    if (sharded_)
      RunLocalRanks(std::stoi(point_["ranks"]), [&](Communicator& comm) { RunRank(&comm); });
    else
      RunRank(nullptr);
    Finish();
    std::filesystem::remove_all(folder_);
    return outcome_;
  }

 private:
  void RunRank(Communicator* comm) {
    auto ctx = std::make_unique<Context>(ContextOptions{.threads = 1, .seed = config_.seed});
    auto trainer = MakeTrainer(*ctx, comm, point_["sharding"]);
    std::vector<double> losses;
    RunPart(*trainer, kBreakAfter, losses);
    trainer->Save(folder_ + "/half");
    if (!point_.Is("checkpoint", "none")) {
      const std::string type = point_["sharding"];
      trainer.reset();
      ctx = std::make_unique<Context>(ContextOptions{.threads = 1, .seed = 99});
      trainer =
          MakeTrainer(*ctx, comm, point_.Is("checkpoint", "resharded") ? OtherType(type) : type);
      Resume(*trainer);
    }
    const TrainingRunReport report = RunPart(*trainer, kSteps, losses);
    const Tensor scores = trainer->Predict(*DataSets(config_, {}).OpenEval()->Next()).ToHost();
    trainer->Save(folder_ + "/end");
    if (comm != nullptr && comm->rank() != 0) return;
    outcome_.tensors["losses"] = Numbers(losses);
    outcome_.tensors["evaluation"] =
        Numbers({report.evaluation.value().auc, report.evaluation->log_loss});
    outcome_.tensors["predictions"] = scores;
  }

  std::unique_ptr<Trainer> MakeTrainer(Context& ctx, Communicator* comm,
                                       const std::string& type) const {
    if (comm == nullptr) return std::make_unique<Trainer>(ctx, config_);
    return std::make_unique<Trainer>(
        ctx, config_,
        TrainingRanks{comm, PlanOf(point_, config_, type), ParseWireCodecs(point_["codec"])});
  }

  bool incremental() const { return point_.Is("checkpoint", "incremental"); }
  std::string ChainFolder() const { return folder_ + "/chain"; }
  std::string SavedHalf() const { return incremental() ? ChainFolder() : folder_ + "/half"; }

  TrainingRunReport RunPart(Trainer& trainer, int64_t end, std::vector<double>& losses) const {
    TrainingRunOptions options{.pipeline = ParsePipelineKind(point_["pipeline"])};
    if (point_.Is("evaluation", "best")) options.best = folder_ + "/best";
    if (incremental()) {
      options.checkpoint = ChainFolder();
      // A save takes back the batch that semi_sync has looked up ahead: this run saves there, too.
      options.checkpoint_every = point_.Is("pipeline", "semi_sync") ? 0 : 1;
      options.incremental = {.max_deltas = 16, .max_delta_share = 100};
      if (end > kBreakAfter && sharded_) options.resumed_of_ranks = ChainFolder();
      if (end > kBreakAfter && !sharded_) options.resumed = ReadCheckpoint(ChainFolder()).chain;
    }
    // The epoch's end brings the evaluation.
    if (end < kSteps) options.stop = [&trainer, end] { return trainer.progress().step >= end; };
    options.on_step = [&](const StepReport& step) { losses.push_back(step.loss); };
    return RunTraining(trainer, DataSets(config_, {}), options);
  }

  void Resume(Trainer& trainer) const {
    if (sharded_) {
      ShardedCheckpoint saved = OpenFolderOfRanks(SavedHalf());
      trainer.Load(saved);
    } else {
      trainer.Load(ReadCheckpoint(SavedHalf()));
    }
  }

  // Reads the checkpoint whole, also one of ranks.
  Checkpoint Whole(const std::string& name) const { return ReadCheckpoint(folder_ + "/" + name); }

  // The checkpoint at the end, and the model that is served from it.
  void Finish() {
    Context ctx({.threads = 1});
    const Checkpoint end = Whole("end");
    for (const CheckpointEntry& entry : end.tensors)
      outcome_.tensors[entry.name] = end.Read(ctx, entry).ToHost();
    outcome_.tensors["step and iter"] =
        Numbers({static_cast<double>(end.progress->step), static_cast<double>(end.progress->iter)});
    if (point_.Is("after", "nothing")) return;
    const std::string model = folder_ + "/model";
    const serve::WriteModelOptions options{
        .codec = ParseRowCodec(point_.Is("after", "int8") ? "int8" : "f32")};
    if (point_.Is("after", "delta")) {
      serve::WriteModel(ctx, Whole("half"), {}, model, options);
      serve::ModelChain chain(model);
      serve::WriteDelta(ctx, end, {}, chain);
    } else {
      serve::WriteModel(ctx, end, {}, model, options);
    }
    const Batch batch = *DataSets(config_, {}).OpenEval()->Next();
    if (point_.Is("after", "c_api")) {
      outcome_.tensors["scores"] = ScoresByC(model, batch);
    } else {
      serve::Predictor predictor(model);
      outcome_.tensors["scores"] =
          Tensor::From(ctx, predictor.Predict({.dense = batch.dense, .features = batch.features}));
    }
  }

  const Point& point_;
  std::string folder_;
  bool sharded_;
  TrainConfig config_;
  TrainingOutcome outcome_;
};

std::vector<std::string> TrainingRules() {
  std::vector<std::string> rules = RuleNames();
  rules.push_back(kDenseRule);
  return rules;
}

}  // namespace

const std::vector<Axis>& TrainingAxes() {
  static const std::vector<Axis> axes = {
      {"rule", TrainingRules()},
      {"rows", {"f32", "f16", "bf16", "f16_by_chance", "bf16_by_chance"}},
      {"state", {"f32", "f16", "bf16"}},
      {"pooling", {"SUM", "MEAN"}},
      {"keys", {"own", "shared"}},
      {"location", {"DEVICE", "HOST", "MANAGED", "MANAGED_CACHING", "DISK"}},
      {"ids", {"rows", "growing", "mch", "hash_zch"}},
      {"sharding",
       {"none", "data_parallel", "table_wise", "column_wise", "row_wise", "table_row_wise",
        "table_column_wise", "grid_shard", "mixed"}},
      {"ranks", {"1", "2", "4"}},
      {"codec", {"fp32", "bf16", "int8"}},
      {"pipeline", {"none", "base", "sparse_dist", "prefetch", "semi_sync"}},
      {"model", {"dlrm", "dlrm_dcn", "dlrm_projection", "deepfm"}},
      {"processor", {"none", "position", "attention"}},
      {"dense", DenseOptimizerConfig::AllNames()},
      {"clipping", {"none", "norm", "value"}},
      {"schedule", {"none", "warmup"}},
      {"accumulation", {"none", "2"}},
      {"evaluation", {"ends", "steps", "best"}},
      {"checkpoint", {"none", "same", "resharded", "incremental"}},
      {"after", {"nothing", "f32", "int8", "delta", "c_api"}}};
  return axes;
}

TrainingOutcome RunTrainingPoint(const Point& point, const std::string& folder) {
  return Training(point, folder, /*alone=*/false, /*one_batch=*/false).Run();
}

TrainingOutcome RunTrainingAlone(const Point& point, const std::string& folder) {
  return Training(point, folder, /*alone=*/true, /*one_batch=*/true).Run();
}

TrainingOutcome RunTrainingPlainly(const Point& point, const std::string& folder) {
  Point plain = point;
  // Behind a cache, a table of growing raw ids has all rows from the start, with other values.
  const bool other_start =
      point.Is("ids", "growing") && point.Is("location", "MANAGED_CACHING|DISK");
  plain.Set("location", other_start ? "MANAGED_CACHING" : "DEVICE");
  if (!point.Is("pipeline", "semi_sync")) plain.Set("pipeline", "none");
  plain.Set("evaluation", "ends");
  const bool resharded = point.Is("checkpoint", "resharded") && !point.Is("sharding", "none");
  if (!resharded) plain.Set("checkpoint", "none");
  return Training(plain, folder, /*alone=*/false, /*one_batch=*/true).Run();
}

}  // namespace tessera::testing
