#include "train/pipeline/trainer_pipeline.h"

#include <utility>
#include <variant>

#include "embedding/config/placement.h"
#include "embedding/table/table_start.h"
#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/files/trace.h"
#include "runtime/tensor.h"
#include "sharding/kernel_location.h"
#include "train/pipeline/train_pipeline.h"

namespace tessera {
namespace {

// This rank's part.
struct Part {
  Batch batch;
  int64_t skipped_rows = 0;
  BadLineCounts skipped_by_reason = {};

  void RecordStream(const Context& ctx) const {
    batch.dense.RecordStream(ctx);
    for (const Tensor* tensor : {&batch.labels, &batch.weights, &batch.time})
      if (*tensor) tensor->RecordStream(ctx);
    tessera::RecordStream(batch.features, ctx);
  }
};

using Loop = TrainLoop<Part, TrainedBatch>;
using Pipeline = TrainPipeline<Part, TrainedBatch>;

TrainedBatch Train(Trainer& trainer, const Batch& batch, bool scored) {
  TrainedBatch trained;
  trained.rows = batch.whole_size();
  trained.fraction = batch.fraction;
  trained.loss = trainer.Step(batch, scored ? &trained.scored : nullptr);
  return trained;
}

class PlainSteps final : public TrainerSteps {
 public:
  PlainSteps(Trainer& trainer, DataSource& source, bool scored)
      : trainer_(trainer), source_(source), scored_(scored) {}

  std::optional<TrainedBatch> Next() override {
    const std::optional<Batch> batch = [&] {
      const TraceSpan span("data");
      return source_.Next();
    }();
    if (!batch) return std::nullopt;
    const TraceSpan span("step");
    TrainedBatch trained = Train(trainer_, *batch, scored_);
    trained.skipped_rows = source_.skipped_rows();
    trained.skipped_by_reason = source_.skipped_by_reason();
    return trained;
  }
  void Settle() override {}

 private:
  Trainer& trainer_;
  DataSource& source_;
  bool scored_;
};

class PipelinedSteps final : public TrainerSteps {
 public:
  PipelinedSteps(PipelineKind kind, Context& ctx, Loop loop)
      : pipeline_(Make(kind, ctx, std::move(loop))) {}
  std::optional<TrainedBatch> Next() override { return pipeline_->Progress(); }
  void Settle() override { pipeline_->Settle(); }

 private:
  static std::unique_ptr<Pipeline> Make(PipelineKind kind, Context& ctx, Loop loop) {
    switch (kind) {
      case PipelineKind::kSparseDist:
        return std::make_unique<TrainPipelineSparseDist<Part, TrainedBatch>>(ctx, std::move(loop));
      case PipelineKind::kPrefetch:
        return std::make_unique<PrefetchTrainPipelineSparseDist<Part, TrainedBatch>>(
            ctx, std::move(loop));
      case PipelineKind::kSemiSync:
        return std::make_unique<TrainPipelineSemiSync<Part, TrainedBatch>>(ctx, std::move(loop));
      default:
        return std::make_unique<TrainPipelineBase<Part, TrainedBatch>>(ctx, std::move(loop));
    }
  }

  std::unique_ptr<Pipeline> pipeline_;
};

[[noreturn]] void RefuseSemiSync(const std::string& why) {
  throw Error(why +
              ", but the pipeline semi_sync looks rows up before the step of the batch before; "
              "expected --pipeline none, base, sparse_dist or prefetch");
}

std::unique_ptr<PipelinedEmbeddings> EmbeddingsOf(Trainer& trainer, PipelineKind kind) {
  CheckPipelineKind(kind, trainer.config(), trainer.ranks() ? &trainer.ranks()->plan : nullptr);
  if (trainer.num_groups() > 1) CheckGroupPipeline(kind);
  if (kind == PipelineKind::kNone || kind == PipelineKind::kBase) return nullptr;
  // Position weights change in each step: nothing that depends on them is begun ahead.
  if (!trainer.config().model.position_weights.empty()) return nullptr;
  return std::visit([](auto& collection) { return Pipelined(collection); },
                    trainer.model().embeddings());
}

Loop LoopOf(Trainer& trainer, DataSource& source, bool scored) {
  return {.source = [&source]() -> std::optional<Part> {
            std::optional<Batch> batch = source.Next();
            if (!batch) return std::nullopt;
            return Part{std::move(*batch), source.skipped_rows(), source.skipped_by_reason()};
          },
          .copy =
              [&trainer, host = std::make_shared<Context>(ContextOptions{.threads = 1})](
                  Context& on, Part part) {
                part.batch = trainer.PartOf(*host, on, part.batch);
                return part;
              },
          .step =
              [&trainer, scored](Context&, const Part& part) {
                TrainedBatch trained = Train(trainer, part.batch, scored);
                trained.skipped_rows = part.skipped_rows;
                trained.skipped_by_reason = part.skipped_by_reason;
                return trained;
              }};
}

}  // namespace

void CheckPipelineKind(PipelineKind kind, const TrainConfig& config, const ShardingPlan* plan) {
  if (config.accumulate_steps > 1 && kind != PipelineKind::kNone && kind != PipelineKind::kBase)
    throw Error(
        Format("train.accumulate_steps: {} beside the pipeline {}, which brings the rows of a "
               "whole step's batch; expected --pipeline none or base",
               config.accumulate_steps, ToString(kind)));
  if (kind != PipelineKind::kSemiSync) return;
  if (!config.model.position_weights.empty())
    RefuseSemiSync(Format("feature {}: its position_weights are learned in each step",
                          config.model.position_weights.begin()->first));
  if (!config.managed_collision.empty())
    RefuseSemiSync(
        Format("table {}: its raw ids (managed_collision) find their rows inside the step",
               config.managed_collision.begin()->first));
  for (const EmbeddingBagConfig& table : config.tables) {
    const EmbeddingLocation location = LocationIn(plan, table.name, table.location);
    if (IsCached(location))
      RefuseSemiSync(
          Format("table {} ({}): its rows pass through a cache, which holds those of "
                 "one training batch at a time",
                 table.name, ToString(location)));
    if (internal::ActsBeforeLookup(table.optimizer))
      RefuseSemiSync(Format("table {}: its rule {} changes rows before they are looked up",
                            table.name, RuleName(table.optimizer)));
  }
}

TrainerPipeline::TrainerPipeline(Trainer& trainer, PipelineKind kind)
    : trainer_(trainer), kind_(kind), embeddings_(EmbeddingsOf(trainer, kind)) {}

std::unique_ptr<TrainerSteps> TrainerPipeline::Over(DataSource& source, bool scored) {
  if (kind_ == PipelineKind::kNone) return std::make_unique<PlainSteps>(trainer_, source, scored);
  Loop loop = LoopOf(trainer_, source, scored);
  if (embeddings_)
    loop.embeddings = {{embeddings_.get(), [](const Part& part) { return part.batch.features; }}};
  return std::make_unique<PipelinedSteps>(kind_, trainer_.context(), std::move(loop));
}

}  // namespace tessera
