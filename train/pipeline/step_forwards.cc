#include "train/pipeline/step_forwards.h"

#include <exception>
#include <utility>

#include "runtime/files/trace.h"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

// A context beside `ctx`: on its device, with its threads.
ContextOptions Beside(Context& ctx) {
  return {.device = ctx.device(), .pool = ctx.pool(), .dense_products = ctx.dense_products()};
}

}  // namespace

void StepForwards::Run(const PipelineInputs& inputs, const NextInputs& next,
                       const std::function<void()>& step) {
  struct ClearAtEnd {
    const std::vector<PipelinedEmbeddings*>& embeddings;
    ~ClearAtEnd() {
      for (PipelinedEmbeddings* e : embeddings) e->ForgetAnswer();
    }
  };
  const ClearAtEnd clear{embeddings_};
  if (failed_ahead_) {
    Settle();
    std::rethrow_exception(std::exchange(failed_ahead_, nullptr));
  }
  Begin(inputs);
  size_t missing = 0;
  for (size_t c = 0; c < inputs.size(); ++c)
    missing += embeddings_[c]->AnswerNext(inputs[c].features, [&, c](Context& ctx) {
      std::shared_ptr<LookupAhead> rows = Answer(ctx, c, inputs[c]);
      rows->Variables();
      if (--missing == 0) WorkAhead(next);
      return rows;
    });
  step();
  TESSERA_CHECK_EQ(missing, size_t{0},
                   "a pipeline's step is to make one forward of each collection, of the features "
                   "that the pipeline was told of; forwards not made");
}

// A failure here belongs to the next batch: this one is trained first, if it can be. Other ranks
// may wait for the next batch's input_dist before they go on with this step.
void StepForwards::WorkAhead(const NextInputs& next) {
  try {
    AfterLookups(next);
  } catch (...) {
    for (const PipelinedEmbeddings* e : embeddings_)
      if (!e->alone()) throw;
    failed_ahead_ = std::current_exception();
  }
}

std::shared_ptr<LookupAhead> StepForwards::Answer(Context& ctx, size_t collection,
                                                  const InputAhead& input) {
  return embeddings_[collection]->Lookup(ctx, input);
}

PrefetchForwards::PrefetchForwards(Context& ctx, std::vector<PipelinedEmbeddings*> embeddings)
    : StepForwards(std::move(embeddings)), ctx_(ctx), prefetch_(Beside(ctx)) {}

PrefetchForwards::~PrefetchForwards() {
  for (PipelinedEmbeddings* e : embeddings()) e->ForgetPrefetched();
}

void PrefetchForwards::AfterLookups(const NextInputs& next) {
  const PipelineInputs* inputs = next();
  if (inputs == nullptr) return;
  const TraceSpan span("prefetch");
  prefetch_.WaitFor(ctx_);
  for (size_t c = 0; c < inputs->size(); ++c) {
    (*inputs)[c].RecordStream(prefetch_);
    embeddings()[c]->Prefetch(prefetch_, (*inputs)[c]);
  }
}

// Gives its inputs known gradients, so that a tape, which goes back from one variable, does so from
// several.
class KnownGradients final : public Function {
 public:
  explicit KnownGradients(std::vector<Tensor> grads) : grads_(std::move(grads)) {}
  std::string_view name() const override { return "known gradients"; }
  std::vector<Tensor> Backward(Context&, const std::vector<Tensor>&) override {
    return std::move(grads_);
  }

 private:
  std::vector<Tensor> grads_;
};

// A training forward of one collection, ahead of its step. It begins where `after` is now.
class SemiSyncForwards::Lookup {
 public:
  Lookup(Context& after, PipelinedEmbeddings& embeddings, const InputAhead& input,
         std::shared_ptr<Event> last_lookup)
      : ctx_(Beside(after)),
        tape_(ctx_),
        last_lookup_(std::move(last_lookup)),
        restore_counters_(embeddings.KeepCounters()) {
    ctx_.WaitFor(after);
    input.RecordStream(ctx_);
    rows_ = embeddings.Lookup(ctx_, input);
    *last_lookup_ = Event::Record(ctx_.stream());
  }

  // The lookup as a forward on ctx sees it; undone by Backward.
  static std::shared_ptr<LookupAhead> Answer(Context& ctx, const std::shared_ptr<Lookup>& lookup);

  // Undoes the lookup.
  void TakeBack() {
    rows_->Variables();
    restore_counters_();
  }

 private:
  class Back final : public Function {
   public:
    explicit Back(std::shared_ptr<Lookup> lookup) : lookup_(std::move(lookup)) {}
    std::string_view name() const override { return "embedding lookup ahead"; }
    std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
      lookup_->Backward(ctx, grads);
      return {};
    }

   private:
    std::shared_ptr<Lookup> lookup_;
  };

  // The update comes after the lookup of the next batch, which reads the same tables.
  void Backward(Context& ctx, const std::vector<Tensor>& grads) {
    ctx_.WaitFor(ctx);
    last_lookup_->HoldBack(ctx_.stream());
    for (const Tensor& grad : grads) grad.RecordStream(ctx_);
    const Tensor root = Tensor::Empty(ctx_, {1});  // and its gradient: nobody looks at either
    tape_.Backward(
        Record(ctx_, std::make_unique<KnownGradients>(grads), std::move(variables_), root), root);
    ctx.WaitFor(ctx_);
  }

  Context ctx_;
  Tape tape_;
  std::shared_ptr<Event> last_lookup_;
  std::function<void()> restore_counters_;
  std::shared_ptr<LookupAhead> rows_;
  std::vector<Variable> variables_;
};

std::shared_ptr<LookupAhead> SemiSyncForwards::Lookup::Answer(
    Context& ctx, const std::shared_ptr<Lookup>& lookup) {
  lookup->variables_ = lookup->rows_->Variables();
  ctx.WaitFor(lookup->ctx_);
  std::vector<Tensor> values(lookup->variables_.begin(), lookup->variables_.end());
  lookup->rows_->Replace(ctx, Record(ctx, std::make_unique<Back>(lookup), {}, std::move(values),
                                     /*always=*/true));
  return std::exchange(lookup->rows_, nullptr);
}

SemiSyncForwards::SemiSyncForwards(Context& ctx, std::vector<PipelinedEmbeddings*> embeddings,
                                   int64_t start)
    : StepForwards(std::move(embeddings)), ctx_(ctx), start_(start) {
  for (PipelinedEmbeddings* e : this->embeddings()) e->AllowForwardsAhead(1);
}

SemiSyncForwards::~SemiSyncForwards() {
  try {
    Settle();
  } catch (const std::exception&) {
    // A rank failed: it is reported by the next call of the training.
  }
  lookups_.clear();
  for (PipelinedEmbeddings* e : embeddings()) e->AllowForwardsAhead(0);
}

void SemiSyncForwards::Settle() {
  for (const auto& lookup : std::exchange(lookups_, {})) lookup->TakeBack();
}

void SemiSyncForwards::Start(const PipelineInputs& inputs) {
  for (size_t c = 0; c < inputs.size(); ++c)
    lookups_.push_back(std::make_shared<Lookup>(ctx_, *embeddings()[c], inputs[c], last_lookup_));
}

void SemiSyncForwards::Begin(const PipelineInputs& inputs) {
  ++begun_;
  if (lookups_.empty()) Start(inputs);
  current_ = std::exchange(lookups_, {});
}

std::shared_ptr<LookupAhead> SemiSyncForwards::Answer(Context& ctx, size_t collection,
                                                      const InputAhead&) {
  return Lookup::Answer(ctx, std::exchange(current_[collection], nullptr));
}

void SemiSyncForwards::AfterLookups(const NextInputs& next) {
  if (begun_ < start_) return;
  if (const PipelineInputs* inputs = next()) Start(*inputs);
}

}  // namespace tessera::internal
