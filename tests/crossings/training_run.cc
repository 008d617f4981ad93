#include "tests/crossings/training_run.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "comm/local_communicator.h"
#include "runtime/files/safetensors.h"
#include "serve/export/delta_writer.h"
#include "serve/export/model_writer.h"
#include "serve/predictor.h"
#include "serve/tessera_c.h"
#include "tests/crossings/rules.h"
#include "tests/crossings/training_config.h"
#include "tests/crossings/training_plan.h"
#include "tests/crossings/training_rows.h"
#include "train/checkpoint/kept_checkpoints.h"
#include "train/checkpoint/whole_tables.h"
#include "train/run/training_run.h"
#include "train/verify/run_verifier.h"

namespace tessera::testing {
namespace {

constexpr int64_t kBreakAfter = 3;

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
  Training(const Point& point, std::string folder, bool alone, bool plainly)
      : point_(point),
        folder_(std::move(folder)),
        sharded_(!alone && !point.Is("sharding", "none")),
        groups_(point.Is("sharding", "none") || point.Is("groups", "none")
                    ? 1
                    : std::stoi(point["groups"])),
        plainly_(plainly),
        config_(TrainingConfigOf(point)) {
    if (!plainly) return;
    config_.batch_size = ExamplesOfStep(config_);
    config_.accumulate_steps = 1;
  }

  // The training is held against a record, to which it adds steps that it has not; with `flips` a
  // bit of a row changes halfway.
  void Verify(const std::string& record, bool flips) {
    record_ = record;
    flips_ = flips;
  }

  TrainingOutcome Run() {
    if (!record_.empty()) CheckCanDigest(config_, Device::Cpu(), groups_);
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    WriteRows();
    if (on_ranks())
      RunLocalRanks(ranks(), [&](Communicator& comm) { RunRank(&comm); });
    else
      RunRank(nullptr);
    Finish();
    std::filesystem::remove_all(folder_);
    return outcome_;
  }

 private:
  // Groups whose tables are not cut are of one rank each.
  int ranks() const { return groups_ * (sharded_ ? std::stoi(point_["ranks"]) : 1); }
  bool on_ranks() const { return sharded_ || groups_ > 1; }

  void WriteRows() {
    if (point_.Is("split", "none")) return;
    const SplitBy by = point_.Is("split", "random") ? SplitBy::kRandom
                       : point_.Is("split", "key")  ? SplitBy::kKey
                                                    : SplitBy::kTime;
    selection_ =
        plainly_ ? WriteRowsApart(by, folder_, config_) : WriteSplitRows(by, folder_, config_);
  }

  DataSets OpenData() const { return DataSets(config_, selection_); }
  // The model may leave the dense features of the rows, which a served one does not take then.
  Batch FirstEvalBatch() const {
    Batch batch = *OpenData().OpenEval()->Next();
    Context host({.threads = 1});
    if (config_.model.dense_in == 0) batch.dense = Tensor::Zeros(host, {batch.size(), 0});
    return batch;
  }

  std::unique_ptr<Context> MakeContext(uint64_t seed) const {
    return std::make_unique<Context>(
        ContextOptions{.threads = 1, .seed = seed, .dense_products = config_.dense_products});
  }

  void RunRank(Communicator* comm) {
    auto ctx = MakeContext(config_.seed);
    auto trainer = MakeTrainer(*ctx, comm, point_["sharding"]);
    std::map<int64_t, double> losses;
    std::unique_ptr<RunVerifier> verifier = BeginVerify(*trainer);
    RunPart(*trainer, kBreakAfter, losses);
    trainer->Save(folder_ + "/half");
    EndVerify(*trainer, verifier);
    if (!point_.Is("checkpoint", "none")) {
      const std::string type = point_["sharding"];
      trainer.reset();
      ctx = MakeContext(99);
      trainer = MakeTrainer(*ctx, comm,
                            point_.Is("checkpoint", "resharded") ? OtherShardingOf(type) : type);
      Resume(*trainer);
    }
    verifier = BeginVerify(*trainer);
    if (flips_) FlipBit(*trainer);
    const TrainingRunReport report = RunPart(*trainer, std::nullopt, losses);
    const Tensor scores = trainer->Predict(FirstEvalBatch()).ToHost();
    trainer->Save(folder_ + "/end");
    EndVerify(*trainer, verifier);
    if (comm != nullptr && comm->rank() != 0) return;
    std::vector<double> by_step;
    for (const auto& [step, loss] : losses) by_step.push_back(loss);
    outcome_.tensors["losses"] = Numbers(by_step);
    outcome_.tensors["evaluation"] = Numbers(
        {report.evaluation.value().auc, report.evaluation->log_loss, report.evaluation->loss});
    outcome_.tensors["predictions"] = scores;
  }

  std::unique_ptr<RunVerifier> BeginVerify(Trainer& trainer) const {
    if (record_.empty()) return nullptr;
    const RunTerms terms = TermsOf(ParsePipelineKind(point_["pipeline"]), trainer.ranks());
    auto record = std::make_unique<RunRecord>(record_, config_, terms, trainer.comm());
    return std::make_unique<RunVerifier>(trainer, std::move(record), /*every=*/1);
  }
  void EndVerify(const Trainer& trainer, std::unique_ptr<RunVerifier>& verifier) {
    if (verifier == nullptr) return;
    verifier->End();
    if (trainer.comm() == nullptr || IsLeader(*trainer.comm())) {
      outcome_.equal_digests += verifier->report().equal;
      outcome_.added_digests += verifier->report().added;
    }
    verifier.reset();
  }

  // Changes the last bit of the first weight of the first table, on one rank that has it.
  void FlipBit(Trainer& trainer) const {
    const auto flip = [](const TableBatchedEmbedding& tables, int index) {
      *static_cast<unsigned char*>(tables.rows().part(index, 0).tensor.raw_data()) ^= 1;
    };
    const auto* const sharded = trainer.model().sharded();
    if (sharded == nullptr) return flip(trainer.model().embedding_bag_collection().tables(), 0);
    for (const HeldShard& held : sharded->tables().shards())
      if (held.table == config_.tables.front().name && held.shard.row_offset == 0 &&
          held.shard.column_offset == 0 && (!held.replicated || IsLeader(*trainer.comm())))
        flip(*held.tables, held.index);
  }

  std::unique_ptr<Trainer> MakeTrainer(Context& ctx, Communicator* comm,
                                       const std::string& type) const {
    if (comm == nullptr) return std::make_unique<Trainer>(ctx, config_);
    Point point = point_;
    if (!sharded_) point.Set("ranks", "1");
    TrainingRanks ranks{comm, TrainingPlanOf(point, config_, sharded_ ? type : "table_wise"),
                        ParseWireCodecs(point_["codec"])};
    if (groups_ > 1)
      ranks.groups = std::make_shared<TwoDimensionalGroups>(
          MakeTwoDimensionalGroups(*comm, ranks.plan.world_size));
    return std::make_unique<Trainer>(ctx, config_, std::move(ranks));
  }

  bool incremental() const { return point_.Is("checkpoint", "incremental"); }
  bool keeps() const { return !point_.Is("kept", "none"); }
  std::string ChainFolder() const { return folder_ + "/chain"; }
  std::string Newest() const { return folder_ + "/newest.safetensors"; }
  // A save takes back the batch that semi_sync has looked up ahead: a run that is to have the bits
  // of another one saves where that does.
  int64_t SavedEvery() const { return point_.Is("pipeline", "semi_sync") ? 0 : 1; }

  // The training goes on from this path. Where it keeps checkpoints, that is the last but one, as
  // after a kill, but not under another plan, by which the step between has other sums.
  std::string SavedHalf() const {
    if (incremental()) return ChainFolder();
    if (!keeps()) return folder_ + "/half";
    const bool repeats = SavedEvery() > 0 && !point_.Is("checkpoint", "resharded");
    return repeats ? KeptPath(Newest(), kBreakAfter - 1) : Newest();
  }

  void SetCheckpoints(bool goes_on, TrainingRunOptions& options) const {
    options.checkpoint_every = incremental() || keeps() ? SavedEvery() : 0;
    if (keeps()) {
      options.checkpoint = Newest();
      options.keep_last = 2;
      options.goes_on_there = goes_on;
    }
    if (!incremental()) return;
    options.checkpoint = ChainFolder();
    options.incremental = {.max_deltas = 16, .max_delta_share = 100};
    if (goes_on && on_ranks()) options.resumed_of_ranks = ChainFolder();
    if (goes_on && !on_ranks()) options.resumed = ReadCheckpoint(ChainFolder()).chain;
  }

  // Trains to step `end`, or, without one, to the end of the epoch, which brings the evaluation.
  TrainingRunReport RunPart(Trainer& trainer, std::optional<int64_t> end,
                            std::map<int64_t, double>& losses) const {
    TrainingRunOptions options{.pipeline = ParsePipelineKind(point_["pipeline"])};
    if (point_.Is("evaluation", "best")) options.best = folder_ + "/best";
    SetCheckpoints(/*goes_on=*/!end, options);
    if (end) options.stop = [&trainer, end] { return trainer.progress().step >= *end; };
    options.on_step = [&](const StepReport& step) { losses[step.step] = step.loss; };
    return RunTraining(trainer, OpenData(), options);
  }

  void Resume(Trainer& trainer) const {
    if (on_ranks()) {
      ShardedCheckpoint saved = OpenFolderOfRanks(SavedHalf());
      trainer.Load(saved);
    } else {
      trainer.Load(ReadCheckpoint(SavedHalf()));
    }
  }

  // The newest checkpoint is that of the end, the one before lies beside it.
  void CheckKept(int64_t steps) const {
    const std::vector<KeptCheckpoint> kept = KeptBeside(Newest());
    TESSERA_CHECK_EQ(kept.size(), 1u, "checkpoints beside the newest");
    const int64_t before = SavedEvery() == 0 ? kBreakAfter : steps - 1;
    TESSERA_CHECK_EQ(ReadCheckpoint(kept[0].path).progress->step, before, "the kept one's step");
    TESSERA_CHECK_EQ(ReadCheckpoint(Newest()).progress->step, steps, "the newest one's step");
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
    if (keeps()) CheckKept(end.progress->step);
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
    const Batch batch = FirstEvalBatch();
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
  int groups_;
  bool plainly_;
  TrainConfig config_;
  DataSelection selection_;
  std::string record_;  // "": none
  bool flips_ = false;
  TrainingOutcome outcome_;
};

std::string RecordOf(const std::string& folder) { return folder + ".jsonl"; }

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
      {"groups", {"none", "2"}},
      {"codec", {"fp32", "bf16", "int8"}},
      {"pipeline", {"none", "base", "sparse_dist", "prefetch", "semi_sync"}},
      {"model",
       {"dlrm", "dlrm_dcn", "dlrm_projection", "deepfm", "two_tower", "two_tower_corrected"}},
      {"processor", {"none", "position", "attention"}},
      {"dense", DenseOptimizerConfig::AllNames()},
      {"clipping", {"none", "norm", "value"}},
      {"schedule", {"none", "warmup"}},
      {"products", {"default", "portable", "library"}},
      {"accumulation", {"none", "2"}},
      {"split", {"none", "random", "key", "time"}},
      {"evaluation", {"ends", "steps", "best"}},
      {"checkpoint", {"none", "same", "resharded", "incremental"}},
      {"kept", {"none", "2"}},
      {"verify", {"none", "again", "one_rank"}},
      {"after", {"nothing", "f32", "int8", "delta", "c_api"}}};
  return axes;
}

TrainingOutcome RunTrainingPoint(const Point& point, const std::string& folder) {
  Training training(point, folder, /*alone=*/false, /*plainly=*/false);
  if (!point.Is("verify", "none")) {
    std::filesystem::remove(RecordOf(folder));
    training.Verify(RecordOf(folder), /*flips=*/false);
  }
  return training.Run();
}

TrainingOutcome RunTrainingVerified(const Point& point, const std::string& folder, bool flips) {
  Point again = point;
  if (!point.Is("pipeline", "semi_sync")) again.Set("pipeline", "none");
  if (point.Is("verify", "one_rank") && point.Is("sharding", "none")) {
    again.Set("sharding", "row_wise");
    again.Set("ranks", "1");
    again.Set("codec", "fp32");
    again.Set("groups", "none");
  }
  again.Set("after", "nothing");
  Training training(again, folder, /*alone=*/false, /*plainly=*/false);
  training.Verify(RecordOf(folder), flips);
  return training.Run();
}

TrainingOutcome RunTrainingAlone(const Point& point, const std::string& folder) {
  return Training(point, folder, /*alone=*/true, /*plainly=*/true).Run();
}

TrainingOutcome RunTrainingPlainly(const Point& point, const std::string& folder) {
  Point plain = point;
  // Behind a cache, a table of growing raw ids has all rows from the start, with other values.
  const bool other_start =
      point.Is("ids", "growing") && point.Is("location", "MANAGED_CACHING|DISK");
  plain.Set("location", other_start ? "MANAGED_CACHING" : "DEVICE");
  if (!point.Is("pipeline", "semi_sync")) plain.Set("pipeline", "none");
  if (point.Is("products", "portable")) plain.Set("products", "default");
  plain.Set("evaluation", "ends");
  plain.Set("kept", "none");
  const bool resharded = point.Is("checkpoint", "resharded") && !point.Is("sharding", "none");
  if (!resharded) plain.Set("checkpoint", "none");
  return Training(plain, folder, /*alone=*/false, /*plainly=*/true).Run();
}

}  // namespace tessera::testing
