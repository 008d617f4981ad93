#ifndef TESSERA_TESTS_TRAIN_PIPELINE_TESTING_SMALL_RUN_H_
#define TESSERA_TESTS_TRAIN_PIPELINE_TESTING_SMALL_RUN_H_
// Trainings of a PipelinedModel, plain and by pipelines.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/train/pipeline/testing/small_model.h"
#include "train/pipeline/train_pipeline.h"

namespace tessera::testing {

struct SmallRun {
  std::vector<float> losses, state;
  friend bool operator==(const SmallRun&, const SmallRun&) = default;
};

struct SmallRunOptions {
  Device device = Device::Cpu();
  int batches = 8;
  SmallKind kind = {};
  std::string pipeline = "none";
  int leave_after = -1;   // trains the rest without a pipeline
  int settle_after = -1;  // and Settle after so many steps
  int64_t start_batch = 0;
};

using SmallLoop = TrainLoop<SmallBatch, float>;
using SmallPipeline = TrainPipeline<SmallBatch, float>;

inline std::unique_ptr<SmallPipeline> MakeSmallPipeline(const std::string& name, Context& ctx,
                                                        SmallLoop loop, int64_t start_batch = 0) {
  if (name == "base") return std::make_unique<TrainPipelineBase<SmallBatch, float>>(ctx, loop);
  if (name == "sparse_dist")
    return std::make_unique<TrainPipelineSparseDist<SmallBatch, float>>(ctx, loop);
  if (name == "prefetch")
    return std::make_unique<PrefetchTrainPipelineSparseDist<SmallBatch, float>>(ctx, loop);
  if (name == "semi_sync")
    return std::make_unique<TrainPipelineSemiSync<SmallBatch, float>>(ctx, loop, start_batch);
  throw Error("pipeline " + name);
}

class SmallTraining {
 public:
  explicit SmallTraining(const SmallRunOptions& options, Communicator* comm = nullptr)
      : options_(options),
        rank_(comm == nullptr ? 0 : comm->rank()),
        ctx_({.device = options.device, .threads = 1, .seed = 5}),
        model_(ctx_, comm, options.kind) {}

  Context& ctx() { return ctx_; }
  PipelinedModel& model() { return model_; }
  int read() const { return read_; }  // batches

  // Makes a step with a rate of its own: an update that takes a neighbour's rate is seen.
  float Step(Context& ctx, const SmallBatch& batch) {
    const float loss = model_.Step(ctx, batch);
    model_.SetLearningRate(0.2f / static_cast<float>(2 + batch.number));
    return loss;
  }
  SmallLoop Loop(const std::vector<PipelinedFeatures<SmallBatch>>& embeddings) {
    return {.source = [this]() -> std::optional<SmallBatch> {
              if (read_ == options_.batches) return std::nullopt;
              return DrawSmallBatch(read_++, rank_, options_.kind);
            },
            .copy = [](Context& on, SmallBatch batch) { return batch.To(on); },
            .step = [this](Context& ctx, const SmallBatch& batch) { return Step(ctx, batch); },
            .embeddings = embeddings};
  }

  SmallRun Run() {
    SmallRun run;
    if (options_.pipeline != "none") RunPipeline(run);
    for (auto n = static_cast<int>(run.losses.size()); n < options_.batches; ++n)
      run.losses.push_back(Step(ctx_, DrawSmallBatch(n, rank_, options_.kind).To(ctx_)));
    run.state = model_.State(ctx_);
    return run;
  }

 private:
  void RunPipeline(SmallRun& run) {
    const auto embeddings = model_.Embeddings();
    const auto features = [](const SmallBatch& batch) { return batch.features; };
    const auto pipeline = MakeSmallPipeline(
        options_.pipeline, ctx_, Loop({{embeddings.get(), features}}), options_.start_batch);
    while (static_cast<int>(run.losses.size()) != options_.leave_after) {
      const std::optional<float> loss = pipeline->Progress();
      if (!loss) return;
      run.losses.push_back(*loss);
      if (static_cast<int>(run.losses.size()) == options_.settle_after) pipeline->Settle();
    }
  }

  SmallRunOptions options_;
  int rank_;
  Context ctx_;
  PipelinedModel model_;
  int read_ = 0;
};

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TRAIN_PIPELINE_TESTING_SMALL_RUN_H_
