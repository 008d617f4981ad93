#ifndef TESSERA_TRAIN_PIPELINE_STAGED_TRAIN_PIPELINE_H_
#define TESSERA_TRAIN_PIPELINE_STAGED_TRAIN_PIPELINE_H_
// Batches that pass through a user's stages before they are trained on, each stage on a thread
// (and, on a GPU, a stream) of its own: while one batch is trained, the last stage works on the
// next, the stage before it on the one after that, and so on. TorchRec's StagedTrainPipeline.
//
//   StagedTrainPipeline<Batch> pipeline(ctx, [&] { return source.Next(); },
//                                       {{"copy", [](Context& on, Batch& b) { b = b.To(on); }},
//                                        {"hash", HashIds}});
//   while (const std::optional<Batch> batch = pipeline.Next()) Train(ctx, *batch);
//
// On ranks, stages may exchange what they like over a communicator that no other thread uses:
// stages of all ranks get equally far (stage_threads.h), also where training ends early.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/context.h"
#include "train/pipeline/stage_threads.h"

namespace tessera {

template <typename T>
struct PipelineStage {
  std::string name;  // of its thread, in a trace
  std::function<void(Context&, T&)> run;
};

// T: movable. On a GPU it has to say RecordStream(const Context&) to the tensors it holds; where it
// has no such member, nobody is told, which is right on a CPU alone.
template <typename T>
class StagedTrainPipeline {
 public:
  // source: nullopt at the end; asked by the first stage's thread. threads: of each stage's
  // context. REQUIRES: ctx outlives this. Throws Error on a GPU for a T without RecordStream.
  StagedTrainPipeline(Context& ctx, std::function<std::optional<T>()> source,
                      std::vector<PipelineStage<T>> stages, int threads = 1)
      : threads_(ctx, Source(std::move(source)), Stages(std::move(stages)),
                 {threads, RecordStream(ctx)}) {}

  // The next batch after all stages, for use on ctx; nullopt after the last. Waits. Throws what a
  // stage threw, after the batches before it, and then again and again.
  std::optional<T> Next() {
    const internal::StageItem item = threads_.Next();
    if (!item) return std::nullopt;
    return std::move(*static_cast<T*>(item.get()));
  }
  // No more is read than the stages have begun, or owe their like on other ranks; Next still gives
  // that.
  void StopReading() { threads_.StopReading(); }

 private:
  static constexpr bool kRecords = requires(const T& t, const Context& ctx) {
    t.RecordStream(ctx);
  };

  static std::function<internal::StageItem()> Source(std::function<std::optional<T>()> source) {
    return [source = std::move(source)]() -> internal::StageItem {
      std::optional<T> next = source();
      return next ? std::make_shared<T>(std::move(*next)) : nullptr;
    };
  }

  static std::vector<internal::StageThreads::Stage> Stages(std::vector<PipelineStage<T>> stages) {
    std::vector<internal::StageThreads::Stage> erased;
    for (PipelineStage<T>& stage : stages)
      erased.push_back({std::move(stage.name), [run = std::move(stage.run)](
                                                   Context& ctx, const internal::StageItem& item) {
                          run(ctx, *static_cast<T*>(item.get()));
                        }});
    return erased;
  }

  static std::function<void(const internal::StageItem&, const Context&)> RecordStream(
      const Context& ctx) {
    TESSERA_CHECK(kRecords || ctx.device() == Device::Cpu(),
                  "a pipeline on {}: its batches have no RecordStream(const Context&)",
                  ctx.device());
    return [](const internal::StageItem& item, const Context& on) {
      if constexpr (kRecords) static_cast<const T*>(item.get())->RecordStream(on);
    };
  }

  internal::StageThreads threads_;
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_PIPELINE_STAGED_TRAIN_PIPELINE_H_
