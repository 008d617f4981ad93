#ifndef TESSERA_TESTS_SERVE_TESTING_EXPORTED_RUN_H_
#define TESSERA_TESTS_SERVE_TESTING_EXPORTED_RUN_H_
// A training whose checkpoints become models, and what its trainer says of some examples.
#include <memory>
#include <string>
#include <vector>

#include "runtime/files/safetensors.h"
#include "serve/predict_request.h"
#include "tests/train/testing/files.h"
#include "train/checkpoint/checkpoint.h"
#include "train/data_sets.h"
#include "train/trainer.h"

namespace tessera::testing {

class ExportedRun {
 public:
  // Saves itself under that name.
  ExportedRun(const TrainConfig& config, const std::string& name, uint64_t seed = 3)
      : config_(config),
        path_(TempPath(name)),
        ctx_({.threads = 1, .seed = seed}),
        trainer_(ctx_, config_),
        data_(config_, {}),
        rows_(data_.OpenTrain(0)),
        eval_(*data_.OpenEval()->Next()) {}

  Context& ctx() { return ctx_; }
  // False at the end of the first epoch.
  bool Step() {
    const auto batch = rows_->Next();
    if (batch) trainer_.Step(*batch);
    return batch.has_value();
  }
  Checkpoint Save() {
    trainer_.Save(path_);
    return ReadCheckpoint(path_);
  }
  serve::PredictRequest request() const {
    return {.dense = eval_.dense, .features = eval_.features};
  }
  // Returns the trainer's scores of the request.
  std::vector<float> Scores() { return trainer_.Predict(eval_).ToVector<float>(); }

 private:
  const TrainConfig config_;
  const std::string path_;
  Context ctx_;
  Trainer trainer_;
  const DataSets data_;
  const std::unique_ptr<DataSource> rows_;
  const Batch eval_;
};

// The checkpoint of a file with tensors that `change` was at, as a file of its own.
template <typename Fn>
Checkpoint ChangedCheckpoint(const std::string& path, const std::string& name, Fn&& change) {
  Context ctx({.threads = 1});
  Safetensors content = ReadSafetensors(ctx, path);
  change(content.tensors);
  content.metadata.erase(CheckpointChecksum().key);
  WriteSafetensors(ctx, TempPath(name), content);
  return ReadCheckpoint(TempPath(name));
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_SERVE_TESTING_EXPORTED_RUN_H_
