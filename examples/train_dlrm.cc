// A DLRM trained on synthetic clicks: tables are updated inside backward, the rest by a dense
// optimizer.
//
// Truth: an example is clicked if its user and its item are both even. No single feature tells;
// their product does.
#include <cstdio>

#include "tessera/tessera.h"

using namespace tessera;

namespace {

struct Examples {
  Tensor dense, labels;
  KeyedJaggedTensor features;
};

// `batch` random examples.
Examples Draw(Context& ctx, int64_t batch, int64_t ids) {
  const uint64_t sequence = ctx.random().TakeSequence();
  std::vector<int64_t> values(static_cast<size_t>(2 * batch));
  std::vector<float> labels(static_cast<size_t>(batch));
  for (int64_t b = 0; b < batch; ++b) {
    const PhiloxBits bits = Philox(ctx.random().seed(), sequence, static_cast<uint64_t>(b));
    const int64_t user = bits.v[0] % ids, item = bits.v[1] % ids;
    values[static_cast<size_t>(b)] =
        user;  // all users, then all items: a KeyedJaggedTensor is feature-major
    values[static_cast<size_t>(batch + b)] = item;
    labels[static_cast<size_t>(b)] = user % 2 == 0 && item % 2 == 0;
  }
  return {Tensor::Zeros(ctx, {batch, 1}), Tensor::From(ctx, labels),
          KeyedJaggedTensor::FromLengthsSync({"user", "item"}, Tensor::From(ctx, values),
                                             Tensor::Full(ctx, {2 * batch}, 1, DType::kI64))};
}

EmbeddingBagConfig Table(const std::string& name, const std::string& feature, int64_t rows) {
  EmbeddingBagConfig config;
  config.name = name;
  config.num_embeddings = rows;
  config.embedding_dim = 8;
  config.feature_names = {feature};
  config.optimizer = RowwiseAdagrad{.lr = 0.1f};
  return config;
}

}  // namespace

int main() {
  constexpr int64_t kIds = 200, kBatch = 256;
  Context ctx({.seed = 1});
  DlrmConfig config;
  config.tables = {Table("t_user", "user", kIds), Table("t_item", "item", kIds)};
  config.dense_in = 1;
  config.dense_arch = {8};
  config.over_arch = {16, 1};
  Dlrm model(ctx, config);

  DenseOptimizerConfig adagrad;
  adagrad.name = "adagrad";
  adagrad.lr = 0.05;
  DenseOptimizer optimizer(ctx, model.Parameters(), adagrad);

  float loss = 0;
  for (int step = 1; step <= 300; ++step) {
    const Examples examples = Draw(ctx, kBatch, kIds);
    Tape tape(ctx);
    const Variable logits = model.Forward(ctx, examples.dense, examples.features);
    const Variable mean = BceWithLogits(ctx, logits, examples.labels);
    tape.Backward(mean);  // updates the rows that this batch used
    optimizer.Step(ctx);
    optimizer.ZeroGrad();
    loss = mean.value().data<float>()[0];
    if (step % 50 == 0) std::printf("step %3d  log-loss %.4f\n", step, static_cast<double>(loss));
  }
  return loss < 0.1f ? 0 : 1;  // guessing gives 0.56
}
