// make_small_model DIRECTORY: a model directory, and beside it, in DIRECTORY.scores, what the
// trainer says of the example "dense 0.5 everywhere, ids 1 2 3 0".
#include <fstream>

#include "runtime/ops/activation.h"
#include "tests/serve/testing/small_model.h"

namespace tessera::testing {

void Make(const std::string& directory) {
  const SmallModel model = MakeSmallModel("made.safetensors");
  const Checkpoint checkpoint = ReadCheckpoint(model.checkpoint);
  Context ctx({.threads = 1});
  serve::WriteModel(ctx, checkpoint, {}, directory);
  Trainer trainer(ctx, SmallConfig());
  trainer.Load(checkpoint);
  const serve::PredictRequest example = OneExample({{1}, {2}, {3}, {0}});
  const Tensor logits = trainer.model().Forward(ctx, example.dense, example.features);
  std::ofstream(directory + ".scores") << Sigmoid(ctx, logits).value().ToVector<float>()[0] << "\n";
}

}  // namespace tessera::testing

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  tessera::testing::Make(argv[1]);
}
