#ifndef TESSERA_TESTS_SERVE_TESTING_SMALL_MODEL_H_
#define TESSERA_TESTS_SERVE_TESTING_SMALL_MODEL_H_
// A model of a few kilobytes, trained for a moment, and what its trainer says of some examples.
#include <string>
#include <vector>

#include "serve/export/model_writer.h"
#include "tests/serve/testing/exported_run.h"
#include "tests/train/testing/small_run.h"

namespace tessera::testing {

struct SmallModel {
  std::string checkpoint;         // a file
  serve::PredictRequest request;  // some examples
  std::vector<float> scores;      // what the trainer says of them
};

// `seed` makes models that differ.
inline SmallModel MakeSmallModel(const std::string& name, uint64_t seed = 3) {
  ExportedRun run(SmallConfig(), name, seed);
  while (run.Step()) {
  }
  return {.checkpoint = run.Save().path, .request = run.request(), .scores = run.Scores()};
}

// A model's file with other bytes, and the checksum of these.
inline void RewriteModelFile(Context& ctx, const std::string& path, const Safetensors& content) {
  const SafetensorsChecksum checksum = CheckpointChecksum();
  WriteSafetensors(ctx, path, content, &checksum);
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
