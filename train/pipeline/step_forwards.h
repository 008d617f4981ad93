#ifndef TESSERA_TRAIN_PIPELINE_STEP_FORWARDS_H_
#define TESSERA_TRAIN_PIPELINE_STEP_FORWARDS_H_
// The forwards of a step's collections in a pipeline, which take what was done ahead. The step is
// the caller's function, the same as without a pipeline.
#include <exception>
#include <functional>
#include <memory>
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

  explicit StepForwards(std::vector<PipelinedEmbeddings*> embeddings)
      : embeddings_(std::move(embeddings)) {}
  virtual ~StepForwards() = default;

  // Runs step(), in which the collections' forwards of `inputs` take what was done ahead. Throws
  // Error if step() leaves out one of these forwards.
  void Run(const PipelineInputs& inputs, const NextInputs& next, const std::function<void()>& step);
  // Undoes what was begun for steps that have not run.
  virtual void Settle() {}

 protected:
  const std::vector<PipelinedEmbeddings*>& embeddings() const { return embeddings_; }

 private:
  virtual void Begin(const PipelineInputs&) {}
  virtual std::shared_ptr<LookupAhead> Answer(Context& ctx, size_t collection,
                                              const InputAhead& input);
  virtual void AfterLookups(const NextInputs&) {}
  void WorkAhead(const NextInputs& next);

  std::vector<PipelinedEmbeddings*> embeddings_;
  std::exception_ptr failed_ahead_;  // of the next batch
};

// Rows of the next batch are brought into the caches after the lookups of this one, on a stream of
// their own.
class PrefetchForwards final : public StepForwards {
 public:
  PrefetchForwards(Context& ctx, std::vector<PipelinedEmbeddings*> embeddings);
  ~PrefetchForwards() override;

 private:
  void AfterLookups(const NextInputs& next) override;

  Context& ctx_;
  Context prefetch_;
};

// Rows of the next batch are looked up before this one's backward. The lookup is a training forward
// on a context and a tape of its own; in the step it is one op, whose backward is that tape's.
class SemiSyncForwards final : public StepForwards {
 public:
  // The first `start` steps look up after the update of the step before, as without a pipeline.
  SemiSyncForwards(Context& ctx, std::vector<PipelinedEmbeddings*> embeddings, int64_t start);
  ~SemiSyncForwards() override;
  void Settle() override;

 private:
  class Lookup;
  void Start(const PipelineInputs& inputs);
  void Begin(const PipelineInputs& inputs) override;
  std::shared_ptr<LookupAhead> Answer(Context& ctx, size_t collection,
                                      const InputAhead& input) override;
  void AfterLookups(const NextInputs& next) override;

  Context& ctx_;
  const int64_t start_;
  int64_t begun_ = 0;                             // steps
  std::vector<std::shared_ptr<Lookup>> lookups_;  // of the step to come; empty: none was begun
  std::vector<std::shared_ptr<Lookup>> current_;
  std::shared_ptr<Event> last_lookup_ = std::make_shared<Event>();
};

}  // namespace tessera::internal
#endif  // TESSERA_TRAIN_PIPELINE_STEP_FORWARDS_H_
