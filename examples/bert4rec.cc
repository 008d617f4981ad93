// BERT4Rec: what a user takes next, or took in between, from the items before and after. Sequences
// of item ids, not pooled, go through an EmbeddingCollection, get positions, pass transformer
// blocks, and the hidden item of each is predicted by a softmax over all items.
//
// Truth: a planted Markov chain. Item i is followed by item (3i + 7) mod 30 nine times of ten, else
// by any. All items are equally frequent: a model that ignores neighbours has the loss ln 30 = 3.4.
#include <cmath>
#include <cstdio>

#include "tessera/models/layers/attention.h"
#include "tessera/sparse/jagged/jagged_dense.h"
#include "tessera/sparse/ops/select.h"
#include "tessera/tessera.h"

using namespace tessera;

namespace {

constexpr int64_t kItems = 30, kHidden = kItems;  // the id that stands for a hidden item
constexpr int64_t kLongest = 8, kDim = 32, kBatch = 64;

struct Sequences {
  KeyedJaggedTensor items;  // one of each sequence hidden
  Tensor positions;         // [B] of the hidden ones, as rows of [B·kLongest]
  Tensor targets;           // [B] what they are
};

Sequences Draw(Context& ctx) {
  std::vector<int64_t> values, lengths, positions, targets;
  const uint64_t sequence = ctx.random().TakeSequence();
  for (int64_t b = 0; b < kBatch; ++b) {
    const auto bits = [&](int64_t i) {
      return Philox(ctx.random().seed(), sequence, static_cast<uint64_t>(b * kLongest + i));
    };
    const int64_t length = 3 + bits(0).v[0] % (kLongest - 2), hidden = bits(0).v[1] % length;
    int64_t item = bits(0).v[2] % kItems;
    for (int64_t i = 0; i < length; ++i) {
      if (i > 0) item = bits(i).v[0] % 10 == 0 ? bits(i).v[1] % kItems : (3 * item + 7) % kItems;
      if (i == hidden) targets.push_back(item);
      values.push_back(i == hidden ? kHidden : item);
    }
    lengths.push_back(length);
    positions.push_back(b * kLongest + hidden);
  }
  return {KeyedJaggedTensor::FromLengthsSync({"item"}, Tensor::From(ctx, values),
                                             Tensor::From(ctx, lengths)),
          Tensor::From(ctx, positions), Tensor::From(ctx, targets)};
}

EmbeddingConfig ItemTable() {
  EmbeddingConfig config;
  config.name = "t_item";
  config.num_embeddings = kItems + 1;
  config.embedding_dim = kDim;
  config.feature_names = {"item"};
  config.optimizer = Adam{.lr = 0.01f};
  return config;
}

class Bert4Rec {
 public:
  explicit Bert4Rec(Context& ctx)
      : items_(ctx, {ItemTable()}),
        positions_(Tensor::Zeros(ctx, {kLongest * kDim}), /*requires_grad=*/true),
        block_(ctx, kDim, /*heads=*/2, /*hidden=*/64),
        norm_(ctx, kDim),
        output_(ctx, kDim, kItems) {}

  std::vector<NamedParameter> Parameters() const {
    std::vector<NamedParameter> all = {{"positions", positions_}};
    block_.AppendParameters("block.", all);
    norm_.AppendParameters("norm.", all);
    output_.AppendParameters("output.", all);
    return all;
  }

  // The mean of −log p(hidden item).
  Variable Loss(Context& ctx, const Sequences& batch) {
    const JaggedTensor rows = items_.Forward(ctx, batch.items)[0].second;
    const Variable padded = Jagged2dToDense(ctx, rows.values(), rows.offsets(ctx), kLongest);
    Variable x = AddBias(ctx, Reshape(ctx, padded, {kBatch, kLongest * kDim}), positions_);
    x = block_.Forward(ctx, Reshape(ctx, x, {kBatch * kLongest, kDim}), rows.lengths(ctx));
    const Tensor single = Tensor::Full(ctx, {kBatch * kLongest}, 1, DType::kI64);
    const Variable hidden = JaggedIndexSelect(ctx, x, single, batch.positions).values;
    const Variable logits = output_.Forward(ctx, norm_.Forward(ctx, hidden));
    return SoftmaxCrossEntropy(ctx, logits, batch.targets);
  }

 private:
  EmbeddingCollection items_;
  Variable positions_;
  TransformerBlock block_;
  LayerNormLayer norm_;
  LinearLayer output_;
};

}  // namespace

int main() {
  Context ctx({.seed = 1});
  Bert4Rec model(ctx);
  DenseOptimizerConfig adam("adam");
  adam.lr = 0.003;
  DenseOptimizer optimizer(ctx, model.Parameters(), adam);

  constexpr int kSteps = 300, kWindow = 100;
  double sum = 0, loss = 0;
  for (int step = 1; step <= kSteps; ++step) {
    const Sequences batch = Draw(ctx);  // always new ones
    Tape tape(ctx);
    const Variable mean = model.Loss(ctx, batch);
    tape.Backward(mean);  // updates the rows of items that this batch has
    optimizer.Step(ctx);
    optimizer.ZeroGrad();
    sum += static_cast<double>(mean.value().data<float>()[0]);
    if (step % kWindow != 0) continue;
    loss = std::exchange(sum, 0.0) / kWindow;
    std::printf("steps to %3d  loss %.3f\n", step, loss);
  }
  return loss < 1.5 ? 0 : 1;  // without neighbours 3.4; one neighbour known perfectly 0.7
}
