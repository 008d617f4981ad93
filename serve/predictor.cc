#include "serve/predictor.h"

#include <utility>

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
  }
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
    : options_(options), directory_(std::move(directory)), model_(ServedModel::Load(directory_)) {
  TESSERA_CHECK_GE(options_.threads, 1, "predictor: threads");
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

void Predictor::Reload(const std::string& directory) {
  const std::lock_guard one_at_a_time(reload_mutex_);
  const std::string& from = directory.empty() ? directory_ : directory;
  std::shared_ptr<const ServedModel> loaded = ServedModel::Load(from, model().get());
  if (!directory.empty()) directory_ = directory;
  const std::lock_guard lock(mutex_);
  std::swap(model_, loaded);  // the old one goes after the lock, if nobody uses it
}

}  // namespace tessera::serve
