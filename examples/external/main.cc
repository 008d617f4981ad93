// A program outside the tree: a lookup by the C++ library, and, where a model directory is given, a
// prediction.
#include <cstdio>
#include <vector>

#include "tessera/tessera.h"

int main(int argc, char** argv) {
  using namespace tessera;
  Context ctx;
  EmbeddingBagConfig items;
  items.name = "t_item";
  items.num_embeddings = 1000;
  items.embedding_dim = 16;
  items.feature_names = {"item"};
  EmbeddingBagCollection embeddings(ctx, {items});
  const auto batch = KeyedJaggedTensor::FromLengthsSync(
      {"item"}, Tensor::From<int64_t>(ctx, {10, 11, 12}), Tensor::From<int64_t>(ctx, {2, 1}));
  const KeyedTensor pooled = embeddings.Forward(ctx, batch);
  std::printf("pooled: %s\n", ToString(pooled.values().shape()).c_str());
  if (argc < 2) return 0;

  serve::Predictor predictor(argv[1]);
  const auto model = predictor.model();
  const std::vector<std::string>& features = model->features();
  const auto one_id_each = [&](int64_t value) {
    return Tensor::From(ctx, std::vector<int64_t>(features.size(), value));
  };
  const serve::PredictRequest request{
      .dense = Tensor::Zeros(ctx, {1, model->spec().net.dense_in}),
      .features = KeyedJaggedTensor::FromLengthsSync(features, /*ids=*/one_id_each(0),
                                                     /*lengths=*/one_id_each(1))};
  std::printf("score: %.4f\n", static_cast<double>(predictor.Predict(request).front()));
}
