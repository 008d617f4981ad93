#ifndef TESSERA_SERVE_PREDICTOR_H_
#define TESSERA_SERVE_PREDICTOR_H_
// A model directory behind one call that any thread may make, and that may change under it: a call
// uses one model from beginning to end, the one that was there when it began.
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serve/served_model.h"

namespace tessera::serve {

struct PredictorOptions {
  int threads = 1;  // of one call; calls of several threads run beside each other
};

class Predictor {
 public:
  // Throws Error as ServedModel::Load does.
  explicit Predictor(std::string directory, PredictorOptions options = {});

  // The click probability of each example. Throws Error for a request that does not fit the model.
  std::vector<float> Predict(const PredictRequest& request);
  // The same for all examples of some requests, computed together by a model, this predictor's or
  // another one.
  std::vector<float> Predict(const ServedModel& model,
                             std::span<const PredictRequest* const> requests);

  // The model that is in `directory` now answers all calls that begin from here on; `directory` ""
  // is the one this was made with. On Error the model is what it was.
  void Reload(const std::string& directory = "");
  std::shared_ptr<const ServedModel> model() const;

 private:
  class ContextLease;

  PredictorOptions options_;
  std::mutex reload_mutex_;  // one at a time
  std::string directory_;
  mutable std::mutex mutex_;  // of what follows
  std::shared_ptr<const ServedModel> model_;
  std::vector<std::unique_ptr<Context>> idle_contexts_;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_PREDICTOR_H_
