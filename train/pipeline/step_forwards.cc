#include "train/pipeline/step_forwards.h"

#include <algorithm>
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

StepForwards::StepForwards(std::string pipeline, std::vector<PipelinedEmbeddings*> embeddings)
    : pipeline_(std::move(pipeline)), embeddings_(std::move(embeddings)) {
  size_t begun = 0;
  try {
    for (; begun < embeddings_.size(); ++begun) embeddings_[begun]->BeginPipeline(pipeline_);
  } catch (...) {
    while (begun > 0) embeddings_[--begun]->EndPipeline();
    throw;
  }
}

StepForwards::~StepForwards() {
  for (PipelinedEmbeddings* e : embeddings_) e->EndPipeline();
}

void StepForwards::Run(const PipelineInputs& inputs, const NextInputs& next,
                       const std::function<void()>& step) {
  bool whole = false;  // all that was done ahead was taken
  struct AtEnd {
    StepForwards& forwards;
    const bool& whole;
    ~AtEnd() {
      for (PipelinedEmbeddings* e : forwards.embeddings_) e->ForgetAnswer();
      if (!whole) forwards.Abandon();
    }
  };
  const AtEnd at_end{*this, whole};
  if (failed_ahead_) std::rethrow_exception(std::exchange(failed_ahead_, nullptr));
  Begin(inputs);
  std::vector<char> made(inputs.size(), 1);  // a collection's forward, or it takes no answers
  size_t answers = 0;                        // not taken yet
  for (size_t c = 0; c < inputs.size(); ++c) {
    const auto answer = [&, c](Context& ctx) {
      std::shared_ptr<LookupAhead> rows = Answer(ctx, c, inputs[c]);
      rows->Variables();
      made[c] = 1;
      whole = --answers == 0;
      if (whole) WorkAhead(next);
      return rows;
    };
    const auto takes = [&, c](const Context& ctx) {
      if (ctx.tape() != nullptr || ScoresTake()) return true;
      made[c] = 1;
      return false;
    };
    if (!embeddings_[c]->AnswerNext(inputs[c].features, answer, takes)) continue;
    made[c] = 0;
    ++answers;
  }
  step();
  TESSERA_CHECK_EQ(std::ranges::count(made, 0), 0,
                   "a step of {} is to make one forward of each collection, of the very features "
                   "(ids, bags, keys and weights) that the pipeline was told of; forwards not made",
                   pipeline_);
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

PrefetchForwards::PrefetchForwards(std::string pipeline, Context& ctx,
                                   std::vector<PipelinedEmbeddings*> embeddings)
    : StepForwards(std::move(pipeline), std::move(embeddings)), ctx_(ctx), prefetch_(Beside(ctx)) {}

PrefetchForwards::~PrefetchForwards() { Abandon(); }

void PrefetchForwards::Abandon() noexcept {
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

SemiSyncForwards::SemiSyncForwards(std::string pipeline, Context& ctx,
                                   std::vector<PipelinedEmbeddings*> embeddings, int64_t start)
    : StepForwards(std::move(pipeline), std::move(embeddings)), ctx_(ctx), start_(start) {
  for (PipelinedEmbeddings* e : this->embeddings()) e->AllowForwardsAhead(1);
}

SemiSyncForwards::~SemiSyncForwards() {
  Abandon();
  for (PipelinedEmbeddings* e : embeddings()) e->AllowForwardsAhead(0);
}

void SemiSyncForwards::Settle() {
  for (const auto& lookup : std::exchange(lookups_, {})) lookup->TakeBack();
}

void SemiSyncForwards::Abandon() noexcept {
  for (auto* lookups : {&current_, &lookups_})
    for (const auto& lookup : std::exchange(*lookups, {})) try {
        if (lookup) lookup->TakeBack();
      } catch (const std::exception&) {
        // A rank failed: it is reported by the next call of the training.
      }
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
