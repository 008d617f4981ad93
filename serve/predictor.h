#ifndef TESSERA_SERVE_PREDICTOR_H_
#define TESSERA_SERVE_PREDICTOR_H_
// A model directory behind one call that any thread may make, and that may change under it: a call
// uses one version from beginning to end, the one that was there when it began. Nobody waits for a
// version that is being loaded.
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/context.h"
#include "serve/model_chain.h"
#include "serve/warm_up.h"

namespace tessera::serve {

struct DeltaCounts {
  int64_t taken = 0;   // deltas
  int64_t failed = 0;  // calls of TakeDeltas
  // The newest version of which there was a file at the last load or TakeDeltas, taken or not.
  int64_t newest_version_seen = 0;
};

struct PredictorOptions {
  int threads = 1;  // of one call; calls of several threads run beside each other
  BadDeltas bad_deltas = BadDeltas::kError;  // when it is made; a Reload throws
  bool new_inputs = false;                   // as of Reload, of every Reload
  // Throws Error to refuse a model, when this is made and in a Reload, before its weights are read.
  std::function<void(const ModelSpec&)> accept = {};
  // Counters of tables that it has, too, go on. It is looked at while this is made, and not after.
  const ServedModel* before = nullptr;
  // Whether others are served while this is made: its weights are then read in the background, as
  // in every Reload (ModelChainOptions::beside).
  bool beside = false;
  // Each model answers it before it answers calls, but for those that deltas make. One that cannot
  // is refused as a bad one is.
  WarmUp warm_up = {};
};

class Predictor {
 public:
  // Throws Error as ModelChain does.
  explicit Predictor(std::string directory, PredictorOptions options = {});

  // The click probability of each example; of a model with tasks, an answer to each task, example
  // after example. Throws Error for a request that does not fit the model.
  std::vector<float> Predict(const PredictRequest& request);
  // Predicts all examples of some requests, computed together by a model, this predictor's or
  // another one.
  std::vector<float> Predict(const ServedModel& model,
                             std::span<const PredictRequest* const> requests);

  // The model that is in `directory` now, with its deltas, answers all calls that begin from here
  // on; `directory` "" is the one in use. Throws Error as ModelChain does, and for a model that
  // reads other inputs (model_inputs.h) unless `new_inputs`; the model is then what it was.
  void Reload(const std::string& directory = "", bool new_inputs = false);
  // Takes the deltas that have come into the directory; each of them answers all calls that begin
  // from then on. How many. Throws Error for one that does not fit (model_delta.h): the model stays
  // that of the last that did.
  int64_t TakeDeltas();
  // Since this was made.
  DeltaCounts delta_counts() const;
  // Why the newest version seen is not the one in use (ModelChain::failure); "" where it is.
  std::string delta_failure() const;
  std::shared_ptr<const ServedModel> model() const;

 private:
  class ContextLease;
  // The chain of a directory, whose model has answered the warm-up.
  std::unique_ptr<ModelChain> Load(const std::string& directory,
                                   const ModelChainOptions& options) const;
  // Makes the contexts of the calls that will run beside each other, and warms them up.
  void WarmUpContexts();
  // Throws Error for a model that is not to take the place of `before`.
  void CheckTakesPlace(const ModelSpec& next, const ServedModel& before,
                       const std::string& directory, bool new_inputs) const;
  // Lets `model` answer from here on.
  void Use(std::shared_ptr<const ServedModel> model);
  void NoteChain();
  void CountDeltas(int64_t taken, int64_t failed);

  PredictorOptions options_;
  std::mutex reload_mutex_;  // one at a time
  std::string directory_;
  std::unique_ptr<ModelChain> chain_;
  mutable std::mutex mutex_;  // of what follows
  std::shared_ptr<const ServedModel> model_;
  DeltaCounts delta_counts_;
  std::string delta_failure_;
  size_t contexts_ = 0;  // made so far; idle_contexts_ has room for all
  std::vector<std::unique_ptr<Context>> idle_contexts_;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_PREDICTOR_H_
