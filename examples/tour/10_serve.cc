// Serving
//
// A trained model becomes a directory: model.json and one file of tensors with quantized tables,
// which is mapped rather than read. A Predictor answers requests from any thread, and takes up a
// new version between two requests. `tessera quantize`, `tessera predict` and `tessera serve` do
// the same from the command line, the last over HTTP.
//
// In TorchRec: `torch.jit.script(gm)`, loaded by a C++ program.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "tessera/tessera.h"

using namespace tessera;

// The configuration that `tessera train` takes, and `tessera quantize` reads in a checkpoint.
constexpr char kConfig[] = R"({
  "tables": [
    {"name": "product_table", "rows": 4096, "dim": 64, "features": ["product"]},
    {"name": "user_table", "rows": 4096, "dim": 64, "features": ["user"]}],
  "model": {"type": "dlrm", "dense_in": 2, "dense_arch": [64], "over_arch": [16, 1]},
  "optimizer": {"sparse": {"name": "rowwise_adagrad", "lr": 0.02},
                "dense": {"name": "adagrad", "lr": 0.02}},
  "data": {"format": "jsonl", "dense": ["price", "age"], "labels": ["clicked"]}
})";

int main() {
  Context ctx({.seed = 1});
  const TrainConfig config = ParseTrainConfig(kConfig, "the program's configuration");
  // Training it is the matter of other chapters.
  Dlrm model(ctx, {.tables = config.tables,
                   .dense_in = config.model.dense_in,
                   .dense_arch = config.model.dense_arch,
                   .over_arch = config.model.over_arch});

  // A checkpoint holds tensors under the names of a TorchRec DLRM, and says what model they are of.
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("tessera_tour_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string checkpoint = folder / "model.safetensors", directory = folder / "model";
  WriteCheckpoint(ctx, checkpoint, model.StateDict(), {}, ToJson(config));

  // Tables become int8, one after the other: a table need not fit in memory.
  serve::WriteModelOptions options;
  options.codec = {RowType::kInt8};
  const serve::WrittenModel written =
      serve::WriteModel(ctx, ReadCheckpoint(checkpoint), {}, directory, options);
  for (const serve::WrittenTable& table : written.tables)
    std::cout << table.spec.name << ": " << table.checkpoint_bytes << " bytes became "
              << table.spec.nbytes() << "\n";

  serve::Predictor predictor(directory);
  const serve::PredictRequest request = {
      .dense = Tensor::From<float>(ctx, {2, 2}, {0.5f, 1, 2, 0.25f}),
      .features = KeyedJaggedTensor::FromLengthsSync(
          {"product", "user"}, Tensor::From<int64_t>(ctx, {1, 2, 1, 5, 2, 3, 4, 1}),
          Tensor::From<int64_t>(ctx, {3, 1, 2, 2}))};
  const std::vector<float> scores = predictor.Predict(request);

  // The model that was trained, in f32, says nearly the same.
  const Variable logits = model.Forward(ctx, request.dense, request.features);
  const std::vector<float> exact = Sigmoid(ctx, logits).value().ToVector<float>();
  float difference = 0;
  for (size_t b = 0; b < scores.size(); ++b)
    difference = std::max(difference, std::abs(scores[b] - exact[b]));
  std::cout << scores.size() << " scores, " << (difference < 1e-3f ? "within" : "not within")
            << " 0.001 of the float model's\n";
  std::filesystem::remove_all(folder);
  return difference < 1e-3f ? 0 : 1;
}
