// A program of its own saves its training and goes on from it: the model that was saved, loaded and
// trained on has the bits of the one that went on without a stop.
#include <cstdio>

#include "tessera/tessera.h"

using namespace tessera;

namespace {

// Two tables, a layer on top of them, and one optimizer for both.
struct Model {
  explicit Model(Context& ctx) : tables(ctx, Configs()), layer(ctx, 16, 1) {
    DenseOptimizerConfig adam;
    adam.name = "adam";
    adam.lr = 0.01;
    optimizer = std::make_unique<CombinedOptimizer>(std::vector<CombinedOptimizer::Part>{
        {"", std::make_shared<FusedOptimizer>(tables.tables(), "embedding_bags")},
        {"", std::make_shared<DenseOptimizer>(ctx, layer.Parameters("layer."), adam)}});
  }

  static std::vector<EmbeddingBagConfig> Configs() {
    std::vector<EmbeddingBagConfig> configs(2);
    for (size_t t = 0; t < configs.size(); ++t) {
      configs[t].name = t == 0 ? "t_user" : "t_item";
      configs[t].feature_names = {t == 0 ? "user" : "item"};
      configs[t].num_embeddings = 100;
      configs[t].embedding_dim = 8;
      configs[t].optimizer = Adam{.lr = 0.01f};
    }
    return configs;
  }

  // Everything that is saved, but what the optimizer remembers.
  std::vector<NamedTensor> Weights() const {
    std::vector<NamedTensor> weights = tables.tables().rows().weights("embedding_bags");
    for (const NamedTensor& value : ValuesOf(layer.Parameters("layer."))) weights.push_back(value);
    return weights;
  }

  float Step(Context& ctx, int64_t step) {
    const auto batch = KeyedJaggedTensor::FromLengthsSync(
        {"user", "item"}, Tensor::From<int64_t>(ctx, {step % 100, 7, step % 10, 3}),
        Tensor::From<int64_t>(ctx, {1, 1, 1, 1}));
    Tape tape(ctx);
    const Tensor labels = Tensor::From<float>(ctx, {1, 0}).Reshape({2, 1});
    const Variable logits = layer.Forward(ctx, tables.Forward(ctx, batch).values());
    const Variable loss = BceWithLogits(ctx, logits, labels);
    tape.Backward(loss);
    optimizer->Step(ctx);
    optimizer->ZeroGrad();
    return loss.value().data<float>()[0];
  }

  EmbeddingBagCollection tables;
  LinearLayer layer;
  std::unique_ptr<Optimizer> optimizer;
};

}  // namespace

int main() {
  const std::string path = "example_checkpoint.safetensors";
  Context ctx({.seed = 1});
  Model model(ctx);
  for (int64_t step = 0; step < 50; ++step) model.Step(ctx, step);
  SaveCheckpoint(ctx, path, model.Weights(), *model.optimizer, {.step = 50});
  for (int64_t step = 50; step < 100; ++step) model.Step(ctx, step);

  Context other({.seed = 1});
  Model fresh(other);
  const TrainingProgress saved =
      LoadCheckpoint(other, path, fresh.Weights(), *fresh.optimizer);  // or an Error with a reason
  for (int64_t step = saved.step; step < 100; ++step) fresh.Step(other, step);
  std::remove(path.c_str());

  const float loss = model.Step(ctx, 100), loss_of_fresh = fresh.Step(other, 100);
  std::printf("step 100: log-loss %.6f, and %.6f after a stop at step %lld\n",
              static_cast<double>(loss), static_cast<double>(loss_of_fresh),
              static_cast<long long>(saved.step));
  return loss == loss_of_fresh ? 0 : 1;
}
