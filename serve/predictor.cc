#include "serve/predictor.h"

#include <deque>
#include <span>
#include <utility>

#include "serve/last_holder.h"
#include "serve/model_inputs.h"

namespace tessera::serve {
// A context that nobody else uses meanwhile.
class Predictor::ContextLease {
 public:
  explicit ContextLease(Predictor& owner) : owner_(owner) {
    {
      const std::lock_guard lock(owner_.mutex_);
      if (!owner_.idle_contexts_.empty()) {
        context_ = std::move(owner_.idle_contexts_.back());
        owner_.idle_contexts_.pop_back();
        return;
      }
    }
    context_ = std::make_unique<Context>(ContextOptions{.threads = owner_.options_.threads});
    const std::lock_guard lock(owner_.mutex_);
    owner_.idle_contexts_.reserve(owner_.contexts_ + 1);
    ++owner_.contexts_;
  }
  // The list has room, so that giving the context back needs no memory.
  ~ContextLease() {
    const std::lock_guard lock(owner_.mutex_);
    owner_.idle_contexts_.push_back(std::move(context_));
  }
  ContextLease(const ContextLease&) = delete;
  ContextLease& operator=(const ContextLease&) = delete;

  Context& operator*() const { return *context_; }

 private:
  Predictor& owner_;
  std::unique_ptr<Context> context_;
};

Predictor::Predictor(std::string directory, PredictorOptions options)
    : options_(options),
      directory_(std::move(directory)),
      chain_(Load(directory_, {.bad_deltas = options.bad_deltas,
                               .before = options.before,
                               .beside = options.beside,
                               .accept = options.accept})),
      model_(chain_->model()) {
  options_.before = nullptr;
  TESSERA_CHECK_GE(options_.threads, 1, "predictor: threads");
  WarmUpContexts();
  NoteChain();
}

std::unique_ptr<ModelChain> Predictor::Load(const std::string& directory,
                                            const ModelChainOptions& options) const {
  auto chain = std::make_unique<ModelChain>(directory, options);
  RunWarmUp(options_.warm_up, *chain->model());
  return chain;
}

void Predictor::WarmUpContexts() {
  if (options_.warm_up.requests == 0) return;
  const WarmUpRequests requests = MakeWarmUpRequests(options_.warm_up, model_->spec());
  const PredictRequest* const one = &requests.one;
  std::deque<ContextLease> leases;  // all at the same time: each has a context of its own
  for (int call = 0; call < options_.warm_up.calls; ++call) leases.emplace_back(*this);
  for (const ContextLease& lease : leases)
    for (int i = 0; i < options_.warm_up.requests; ++i) model_->Predict(*lease, std::span(&one, 1));
}

std::shared_ptr<const ServedModel> Predictor::model() const {
  const std::lock_guard lock(mutex_);
  return model_;
}

std::vector<float> Predictor::Predict(const ServedModel& model,
                                      std::span<const PredictRequest* const> requests) {
  return model.Predict(*ContextLease(*this), requests);
}

std::vector<float> Predictor::Predict(const PredictRequest& request) {
  const PredictRequest* const one = &request;
  return Predict(*model(), std::span(&one, 1));
}

void Predictor::CheckTakesPlace(const ModelSpec& next, const ServedModel& before,
                                const std::string& directory, bool new_inputs) const {
  if (!new_inputs && !options_.new_inputs)
    CheckSameInputs(before.spec(), next, directory,
                    "tessera serve --new-inputs, or \"new_inputs\" in the request to load,");
  if (options_.accept) options_.accept(next);
}

void Predictor::Reload(const std::string& directory, bool new_inputs) {
  const std::lock_guard one_at_a_time(reload_mutex_);
  const std::string& from = directory.empty() ? directory_ : directory;
  auto before = model();
  ModelChainOptions options{.before = before.get(), .beside = true};
  options.accept = [&](const ModelSpec& next) { CheckTakesPlace(next, *before, from, new_inputs); };
  auto loaded = Load(from, options);
  if (!directory.empty()) directory_ = directory;
  chain_ = std::move(loaded);
  Use(chain_->model());
  NoteChain();
  LetGo(std::move(before));
}

// Notes the chain's state after a change. REQUIRES: reload_mutex_ is held.
void Predictor::NoteChain() {
  const std::lock_guard lock(mutex_);
  delta_failure_ = chain_->failure();
  delta_counts_.newest_version_seen = chain_->newest_version_seen();
}

std::string Predictor::delta_failure() const {
  const std::lock_guard lock(mutex_);
  return delta_failure_;
}

int64_t Predictor::TakeDeltas() {
  const std::lock_guard one_at_a_time(reload_mutex_);
  int64_t taken = 0;
  try {
    for (; chain_->TakeNext(); ++taken) Use(chain_->model());
  } catch (...) {
    CountDeltas(taken, 1);
    NoteChain();
    throw;
  }
  CountDeltas(taken, 0);
  NoteChain();
  return taken;
}

void Predictor::CountDeltas(int64_t taken, int64_t failed) {
  const std::lock_guard lock(mutex_);
  delta_counts_.taken += taken;
  delta_counts_.failed += failed;
}

DeltaCounts Predictor::delta_counts() const {
  const std::lock_guard lock(mutex_);
  return delta_counts_;
}

void Predictor::Use(std::shared_ptr<const ServedModel> model) {
  const std::lock_guard lock(mutex_);
  std::swap(model_, model);  // the old one goes after the lock, if nobody uses it
}

}  // namespace tessera::serve
