#ifndef TESSERA_TRAIN_PIPELINE_STEP_FORWARDS_H_
#define TESSERA_TRAIN_PIPELINE_STEP_FORWARDS_H_
// The forwards of a step's collections in a pipeline, which take what was done ahead. The step is
// the caller's function, the same as without a pipeline.
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/context.h"
#include "train/pipeline/pipelined_embeddings.h"

namespace tessera::internal {

// One a collection.
using PipelineInputs = std::vector<InputAhead>;

class StepForwards {
 public:
  // Returns what was begun for the next batch, nullptr at the end; asked once, after this batch's
  // lookups.
  using NextInputs = std::function<const PipelineInputs*()>;

  // pipeline: its name. Throws Error, and begins nothing, where another pipeline works ahead with
  // `embeddings`.
  StepForwards(std::string pipeline, std::vector<PipelinedEmbeddings*> embeddings);
  virtual ~StepForwards();
  StepForwards(const StepForwards&) = delete;
  StepForwards& operator=(const StepForwards&) = delete;

  // Runs step(), in which the collections' forwards of `inputs` take what was done ahead. Throws
  // Error if step() leaves out one of these forwards. After a step that took less than all, the
  // next batches are trained as if nothing had been done ahead of this one.
  void Run(const PipelineInputs& inputs, const NextInputs& next, const std::function<void()>& step);
  // Undoes what was begun for steps that have not run.
  virtual void Settle() {}

 protected:
  const std::vector<PipelinedEmbeddings*>& embeddings() const { return embeddings_; }

 private:
  virtual void Begin(const PipelineInputs&) {}
  // Whether a forward without a tape takes what was done ahead, or is made by itself.
  virtual bool ScoresTake() const { return true; }
  virtual std::shared_ptr<LookupAhead> Answer(Context& ctx, size_t collection,
                                              const InputAhead& input);
  virtual void AfterLookups(const NextInputs&) {}
  // Undoes what was done ahead of a batch whose step did not take it.
  virtual void Abandon() noexcept {}
  void WorkAhead(const NextInputs& next);

  const std::string pipeline_;
  std::vector<PipelinedEmbeddings*> embeddings_;
  std::exception_ptr failed_ahead_;  // of the next batch
};

// Rows of the next batch are brought into the caches after the lookups of this one, on a stream of
// their own.
class PrefetchForwards final : public StepForwards {
 public:
  PrefetchForwards(std::string pipeline, Context& ctx,
                   std::vector<PipelinedEmbeddings*> embeddings);
  ~PrefetchForwards() override;

 private:
  bool ScoresTake() const override { return false; }  // the next batch comes after this one's
  void AfterLookups(const NextInputs& next) override;
  void Abandon() noexcept override;

  Context& ctx_;
  Context prefetch_;
};

// Rows of the next batch are looked up before this one's backward. The lookup is a training forward
// on a context and a tape of its own; in the step it is one op, whose backward is that tape's.
class SemiSyncForwards final : public StepForwards {
 public:
  // The first `start` steps look up after the update of the step before, as without a pipeline.
  SemiSyncForwards(std::string pipeline, Context& ctx, std::vector<PipelinedEmbeddings*> embeddings,
                   int64_t start);
  ~SemiSyncForwards() override;
  void Settle() override;

 private:
  class Lookup;
  void Start(const PipelineInputs& inputs);
  void Begin(const PipelineInputs& inputs) override;
  bool ScoresTake() const override { return false; }  // the lookup's update comes with a backward
  std::shared_ptr<LookupAhead> Answer(Context& ctx, size_t collection,
                                      const InputAhead& input) override;
  void AfterLookups(const NextInputs& next) override;
  void Abandon() noexcept override;

  Context& ctx_;
  const int64_t start_;
  int64_t begun_ = 0;                             // steps
  std::vector<std::shared_ptr<Lookup>> lookups_;  // of the step to come; empty: none was begun
  std::vector<std::shared_ptr<Lookup>> current_;
  std::shared_ptr<Event> last_lookup_ = std::make_shared<Event>();
};

}  // namespace tessera::internal
#endif  // TESSERA_TRAIN_PIPELINE_STEP_FORWARDS_H_
