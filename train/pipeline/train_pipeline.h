#ifndef TESSERA_TRAIN_PIPELINE_TRAIN_PIPELINE_H_
#define TESSERA_TRAIN_PIPELINE_TRAIN_PIPELINE_H_
// Training loops that prepare the next batches while this one is trained, as far as its update does
// not matter to them. TorchRec's, under its names; batch i is the one that is trained:
//
//   pipeline                        thread 1     thread 2           beside the training of i
//   TrainPipelineBase               copy i+1
//   TrainPipelineSparseDist         copy i+2     input_dist i+1
//   PrefetchTrainPipelineSparseDist copy i+3     input_dist i+2     rows of i+1 into the caches
//   TrainPipelineSemiSync           copy i+3     input_dist i+2     lookup of i+1, output_dist
//   EvalPipelineSparseDist          copy i+2     input_dist i+1     (nothing is recorded)
//
// The step is the caller's function, the same as without a pipeline, and gives the same bits, but
// for TrainPipelineSemiSync: there batch i+1 reads rows as they were before the update of batch i.
//
//   auto tables = Pipelined(collection);
//   TrainPipelineSparseDist<Batch, double> pipeline(ctx, {
//       .source = [&] { return source.Next(); },
//       .copy = [](Context& on, Batch b) { return b.To(on); },
//       .step = [&](Context& ctx, const Batch& b) { return TrainOn(ctx, b); },
//       .embeddings = {{tables.get(), [](const Batch& b) { return b.features; }}}});
//   while (const std::optional<double> loss = pipeline.Progress()) …
//
// A step may score its batch before it trains on it, or only score it: TrainPipelineSparseDist and
// EvalPipelineSparseDist give what they did ahead to the first forward of the batch's features, the
// other two to the first training one, and a scoring forward is made by itself. Features are the
// same where ids, bags, keys and weights are the same tensors: a step that gives its ids other
// weights is an error, since the pipeline did not know them.
//
// An evaluation between steps may have a pipeline of its own while that of the training lives. Over
// sharded tables each has tables by a Pipelined of its own, which every rank makes and ends in one
// order:
//
//   auto eval_tables = Pipelined(collection);
//   EvalPipelineSparseDist<Batch, float> predictions(ctx, {… {{eval_tables.get(), …}}});
//
// A step that throws before its forward leaves the pipeline as after a step: later batches are
// trained as in the plain loop.
//
// An exception of the source, copy or exchange of batch i, which run ahead, is thrown by the
// Progress of batch i: batches before it are trained first. (On ranks the last two training
// pipelines throw it by the Progress of batch i−1, in which the other ranks wait for batch i.) A
// pipeline may be destroyed at any time, which undoes what it did ahead. With ranks, all make the
// same number of calls, and a rank that fails has to end the group (Communicator::Abort), as
// RunLocalRanks and RunMpiRank do.
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/files/trace.h"
#include "train/pipeline/staged_train_pipeline.h"
#include "train/pipeline/step_forwards.h"

namespace tessera {

// A collection, and what of a batch it reads: the very KJT that the step gives to its Forward.
template <typename BatchT>
struct PipelinedFeatures {
  PipelinedEmbeddings* embeddings;
  std::function<KeyedJaggedTensor(const BatchT&)> features;
};

// Result: of a step; copyable or movable. On a GPU a BatchT needs RecordStream(const Context&)
// const, which calls that of its tensors.
template <typename BatchT, typename Result>
struct TrainLoop {
  std::function<std::optional<BatchT>()> source;           // thread 1; nullopt at the end
  std::function<BatchT(Context&, BatchT)> copy = {};       // thread 1, to the device; {}: as it is
  std::function<Result(Context&, const BatchT&)> step;     // the caller's thread
  std::vector<PipelinedFeatures<BatchT>> embeddings = {};  // which outlive the pipeline
  int threads = 1;                                         // of the context of thread 1, and of 2
};

template <typename BatchT, typename Result>
class TrainPipeline {
 public:
  virtual ~TrainPipeline() = default;

  // Trains the next batch; nullopt if there is none.
  std::optional<Result> Progress() {
    std::optional<Item> item = next_ ? std::exchange(next_, {}) : staged_.Next();
    if (!item) return std::nullopt;
    const TraceSpan span("step", number_++);
    std::optional<Result> result;
    const auto step = [&] { result.emplace(step_(ctx_, item->batch)); };
    if (forwards_)
      forwards_->Run(
          item->inputs, [this] { return TakeNext(); }, step);
    else
      step();
    return result;
  }
  // Reads no more batches; Progress still trains those that were read, as many on each rank.
  void StopReading() { staged_.StopReading(); }
  // Undoes what was done ahead with tables, so that they and their counters are as after the last
  // step; call it before a checkpoint. Only TrainPipelineSemiSync has something to undo: it looks
  // the next batch up again. With ranks, every rank calls.
  void Settle() {
    if (forwards_) forwards_->Settle();
  }

 protected:
  // forwards: null for a pipeline that leaves the tables alone.
  TrainPipeline(Context& ctx, TrainLoop<BatchT, Result> loop,
                std::unique_ptr<internal::StepForwards> forwards)
      : ctx_(ctx),
        step_(std::move(loop.step)),
        staged_(ctx, Source(std::move(loop.source)),
                Stages(std::move(loop.copy), forwards != nullptr, std::move(loop.embeddings)),
                loop.threads),
        forwards_(std::move(forwards)) {
    TESSERA_CHECK(step_ != nullptr, "a pipeline without a step");
  }

  static std::vector<PipelinedEmbeddings*> EmbeddingsOf(const TrainLoop<BatchT, Result>& loop) {
    std::vector<PipelinedEmbeddings*> embeddings;
    for (const auto& e : loop.embeddings) {
      TESSERA_CHECK(e.embeddings != nullptr && e.features != nullptr,
                    "a pipeline's embeddings {}: a collection and its features are needed",
                    embeddings.size());
      embeddings.push_back(e.embeddings);
    }
    return embeddings;
  }

 private:
  struct Item {
    BatchT batch;
    internal::PipelineInputs inputs;

    void RecordStream(const Context& ctx) const requires requires(const BatchT& b) {
      b.RecordStream(ctx);
    }
    {
      batch.RecordStream(ctx);
      for (const InputAhead& input : inputs) input.RecordStream(ctx);
    }
  };

  static std::function<std::optional<Item>()> Source(
      std::function<std::optional<BatchT>()> source) {
    TESSERA_CHECK(source != nullptr, "a pipeline without a source");
    return [source = std::move(source)]() -> std::optional<Item> {
      std::optional<BatchT> batch = source();
      if (!batch) return std::nullopt;
      return Item{std::move(*batch), {}};
    };
  }

  static std::vector<PipelineStage<Item>> Stages(
      std::function<BatchT(Context&, BatchT)> copy, bool with_input_dist,
      std::vector<PipelinedFeatures<BatchT>> embeddings) {
    std::vector<PipelineStage<Item>> stages;
    stages.push_back({"copy", [copy = std::move(copy)](Context& ctx, Item& item) {
                        if (copy) item.batch = copy(ctx, std::move(item.batch));
                      }});
    if (with_input_dist)
      stages.push_back(
          {"input_dist", [embeddings = std::move(embeddings)](Context& ctx, Item& item) {
             for (const PipelinedFeatures<BatchT>& e : embeddings)
               item.inputs.push_back(e.embeddings->InputDist(ctx, e.features(item.batch)));
           }});
    return stages;
  }

  const internal::PipelineInputs* TakeNext() {
    next_ = staged_.Next();
    return next_ ? &next_->inputs : nullptr;
  }

  Context& ctx_;
  std::function<Result(Context&, const BatchT&)> step_;
  StagedTrainPipeline<Item> staged_;
  std::optional<Item> next_;
  std::unique_ptr<internal::StepForwards> forwards_;  // destroyed before what it was given
  int64_t number_ = 0;
};

// Copies the next batch while one is trained.
template <typename BatchT, typename Result>
class TrainPipelineBase final : public TrainPipeline<BatchT, Result> {
 public:
  TrainPipelineBase(Context& ctx, TrainLoop<BatchT, Result> loop)
      : TrainPipeline<BatchT, Result>(ctx, std::move(loop), nullptr) {}
};

// Also sends the ids of the next batch to their ranks while one is trained.
template <typename BatchT, typename Result>
class TrainPipelineSparseDist final : public TrainPipeline<BatchT, Result> {
 public:
  TrainPipelineSparseDist(Context& ctx, TrainLoop<BatchT, Result> loop)
      : TrainPipeline<BatchT, Result>(ctx, loop,
                                      std::make_unique<internal::StepForwards>(
                                          "TrainPipelineSparseDist", this->EmbeddingsOf(loop))) {}
};

// For tables with caches (EmbeddingLocation::kManagedCaching); without any as
// TrainPipelineSparseDist. On a CPU, where there is no stream beside the step's, rows are brought
// by the step's own thread.
template <typename BatchT, typename Result>
class PrefetchTrainPipelineSparseDist final : public TrainPipeline<BatchT, Result> {
 public:
  PrefetchTrainPipelineSparseDist(Context& ctx, TrainLoop<BatchT, Result> loop)
      : TrainPipeline<BatchT, Result>(
            ctx, loop,
            std::make_unique<internal::PrefetchForwards>("PrefetchTrainPipelineSparseDist", ctx,
                                                         this->EmbeddingsOf(loop))) {}
};

// Batch i+1 is looked up before the update of batch i, so that rows travel home while i is trained:
// its gradients are of rows that lack one update. Throws Error for tables with caches and rules
// that act when a forward begins (TableBatchedEmbedding::AllowForwardsAhead).
template <typename BatchT, typename Result>
class TrainPipelineSemiSync final : public TrainPipeline<BatchT, Result> {
 public:
  // The first `start_batch` batches are looked up without staleness.
  TrainPipelineSemiSync(Context& ctx, TrainLoop<BatchT, Result> loop, int64_t start_batch = 0)
      : TrainPipeline<BatchT, Result>(
            ctx, loop,
            std::make_unique<internal::SemiSyncForwards>("TrainPipelineSemiSync", ctx,
                                                         this->EmbeddingsOf(loop), start_batch)) {}
};

// The step predicts; it is not recorded.
template <typename BatchT, typename Result>
class EvalPipelineSparseDist final : public TrainPipeline<BatchT, Result> {
 public:
  EvalPipelineSparseDist(Context& ctx, TrainLoop<BatchT, Result> loop)
      : TrainPipeline<BatchT, Result>(ctx, NotRecorded(loop),
                                      std::make_unique<internal::StepForwards>(
                                          "EvalPipelineSparseDist", this->EmbeddingsOf(loop))) {}

 private:
  static TrainLoop<BatchT, Result> NotRecorded(TrainLoop<BatchT, Result> loop) {
    loop.step = [step = std::move(loop.step)](Context& ctx, const BatchT& batch) {
      const NoGrad no_grad(ctx);
      return step(ctx, batch);
    };
    return loop;
  }
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_PIPELINE_TRAIN_PIPELINE_H_
