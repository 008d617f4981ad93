#ifndef TESSERA_TESTS_SERVE_TESTING_SMALL_MODEL_H_
#define TESSERA_TESTS_SERVE_TESTING_SMALL_MODEL_H_
// A model of a few kilobytes, trained for a moment, and what its trainer says of some examples.
#include <string>
#include <vector>

#include "serve/model_writer.h"
#include "serve/predict_request.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/small_run.h"
#include "train/data_sets.h"
#include "train/trainer.h"

namespace tessera::testing {

struct SmallModel {
  std::string checkpoint;         // a file
  serve::PredictRequest request;  // some examples
  std::vector<float> scores;      // what the trainer says of them
};

// `seed` makes models that differ.
inline SmallModel MakeSmallModel(const std::string& name, uint64_t seed = 3) {
  TrainConfig config = SmallConfig();
  Context ctx({.threads = 1, .seed = seed});
  Trainer trainer(ctx, config);
  const DataSets data(config, {});
  const auto train = data.OpenTrain(0);
  for (auto batch = train->Next(); batch; batch = train->Next()) trainer.Step(*batch);
  SmallModel model{.checkpoint = TempPath(name), .request = {}, .scores = {}};
  trainer.Save(model.checkpoint);
  const Batch batch = *data.OpenEval()->Next();
  model.request = {.dense = batch.dense, .features = batch.features};
  model.scores = trainer.Predict(batch).ToVector<float>();
  return model;
}

// Writes a checkpoint as a model directory; its path.
inline std::string WriteSmallModel(const SmallModel& model, const std::string& directory,
                                   const serve::WriteModelOptions& options = {}) {
  Context ctx({.threads = 1});
  const std::string path = TempPath(directory);
  WriteModel(ctx, ReadCheckpoint(model.checkpoint), {}, path, options);
  return path;
}

// One example of the small model: dense features 0.5, these ids.
inline serve::PredictRequest OneExample(const std::vector<std::vector<int64_t>>& ids) {
  Context ctx({.threads = 1});
  std::vector<int64_t> values, lengths;
  for (const auto& bag : ids) {
    values.insert(values.end(), bag.begin(), bag.end());
    lengths.push_back(std::ssize(bag));
  }
  return {.dense = Tensor::Full(ctx, {1, 13}, 0.5),
          .features = KeyedJaggedTensor::FromLengthsSync({"cat_0", "cat_1", "cat_2", "cat_9"},
                                                         Tensor::From(ctx, values),
                                                         Tensor::From(ctx, lengths))};
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_SERVE_TESTING_SMALL_MODEL_H_
