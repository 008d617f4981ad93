#include "train/pipeline/step_forwards.h"

#include <exception>
#include <utility>

#include "runtime/trace.h"

namespace tessera::internal {
namespace {

// Of the device of `ctx`, with its threads.
ContextOptions Beside(Context& ctx) {
  return {.device = ctx.device(), .pool = ctx.pool(), .matmul_precision = ctx.matmul_precision()};
}

}  // namespace

void StepForwards::Run(const PipelineInputs& inputs, const NextInputs& next,
                       const std::function<void()>& step) {
  struct ClearAtEnd {
    const std::vector<PipelinedEmbeddings*>& embeddings;
    ~ClearAtEnd() {
      for (PipelinedEmbeddings* e : embeddings) e->ahead().Clear();
    }
  };
  const ClearAtEnd clear{embeddings_};
  if (failed_ahead_) {
    Settle();
    std::rethrow_exception(std::exchange(failed_ahead_, nullptr));
  }
  Begin(inputs);
  size_t missing = inputs.size();
  for (size_t c = 0; c < inputs.size(); ++c)
    embeddings_[c]->ahead().Set(inputs[c].features, [&, c](Context& ctx) {
      KeyedTensor rows = Answer(ctx, c, inputs[c]);
      if (--missing == 0) WorkAhead(next);
      return rows;
    });
  step();
  TESSERA_CHECK_EQ(missing, size_t{0},
                   "a pipeline's step is to make one forward of each collection, of the features "
                   "that the pipeline was told of; forwards not made");
}

// What fails here is the next batch's: this one is trained first, if it can be. Other ranks may wait
// for the next batch's input_dist before they go on with this step.
void StepForwards::WorkAhead(const NextInputs& next) {
  try {
    AfterLookups(next);
  } catch (...) {
    for (const PipelinedEmbeddings* e : embeddings_)
      if (!e->alone()) throw;
    failed_ahead_ = std::current_exception();
  }
}

KeyedTensor StepForwards::Answer(Context& ctx, size_t collection, const InputAhead& input) {
  return embeddings_[collection]->Lookup(ctx, input).Wait();
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

// A training forward of one collection, ahead of its step. Begins where `after` is now.
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

  // As ops of ctx see it; undone by Backward.
  static KeyedTensor Answer(Context& ctx, const std::shared_ptr<Lookup>& lookup);

  // As if it had not been.
  void TakeBack() {
    rows_.Wait();
    restore_counters_();
  }

 private:
  class Back final : public Function {
   public:
    explicit Back(std::shared_ptr<Lookup> lookup) : lookup_(std::move(lookup)) {}
    std::string_view name() const override { return "embedding lookup ahead"; }
    std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
      lookup_->Backward(ctx, grads[0]);
      return {};
    }

   private:
    std::shared_ptr<Lookup> lookup_;
  };

  // The update comes after the lookup of the next batch, which reads the same tables.
  void Backward(Context& ctx, const Tensor& grad) {
    ctx_.WaitFor(ctx);
    last_lookup_->HoldBack(ctx_.stream());
    grad.RecordStream(ctx_);
    tape_.Backward(values_, grad);
    ctx.WaitFor(ctx_);
  }

  Context ctx_;
  Tape tape_;
  std::shared_ptr<Event> last_lookup_;
  std::function<void()> restore_counters_;
  Awaitable<KeyedTensor> rows_;
  Variable values_;
};

KeyedTensor SemiSyncForwards::Lookup::Answer(Context& ctx, const std::shared_ptr<Lookup>& lookup) {
  const KeyedTensor rows = lookup->rows_.Wait();
  lookup->values_ = rows.values();
  ctx.WaitFor(lookup->ctx_);
  rows.values().value().RecordStream(ctx);
  Variable values = Record(ctx, std::make_unique<Back>(lookup), {}, rows.values().value(),
                           /*always=*/true);
  return KeyedTensor(rows.keys(), rows.length_per_key(), std::move(values), rows.key_dim());
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
    // A rank that failed: whoever trains on hears of it from its next call.
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

KeyedTensor SemiSyncForwards::Answer(Context& ctx, size_t collection, const InputAhead&) {
  return Lookup::Answer(ctx, std::exchange(current_[collection], nullptr));
}

void SemiSyncForwards::AfterLookups(const NextInputs& next) {
  if (begun_ < start_) return;
  if (const PipelineInputs* inputs = next()) Start(*inputs);
}

}  // namespace tessera::internal
