// The optimizer inside backward
//
// A gradient of a table would be as large as the table. There is none here: each table has an
// optimizer, which acts inside backward on the rows that the batch named, as soon as their gradient
// is summed. What is left, the dense layers, gets an ordinary optimizer; a CombinedOptimizer makes
// one of both.
//
// In TorchRec: `fused_params={"optimizer": EmbOptimType.EXACT_ROWWISE_ADAGRAD, ...}`,
// `apply_optimizer_in_backward`, `CombinedOptimizer`.
#include <cmath>
#include <iomanip>
#include <iostream>

#include "tessera/tessera.h"

using namespace tessera;

namespace {

EmbeddingBagCollection MakeEbc(Context& ctx, const AnyRule& optimizer) {
  EmbeddingBagConfig product_table;
  product_table.name = "product_table";
  product_table.num_embeddings = 4096;
  product_table.embedding_dim = 64;
  product_table.feature_names = {"product"};
  product_table.optimizer = optimizer;  // tables may have different ones
  EmbeddingBagConfig user_table = product_table;
  user_table.name = "user_table";
  user_table.feature_names = {"user"};
  return EmbeddingBagCollection(ctx, {product_table, user_table});
}

void Print(const Optimizer& optimizer) {
  for (const ParamGroup& group : optimizer.ParamGroups())
    std::cout << "Parameter Group: " << group.parameters[0] << "\n    " << group.options[0].first
              << ": " << group.options[0].second << "\n";
}

}  // namespace

int main() {
  Context ctx({.seed = 1});
  EmbeddingBagCollection plain = MakeEbc(ctx, Sgd{});
  EmbeddingBagCollection ebc = MakeEbc(ctx, RowwiseAdagrad{.lr = 0.02f, .eps = 0.002f});
  const auto fused = std::make_shared<FusedOptimizer>(ebc.tables(), "embedding_bags");
  Print(FusedOptimizer(plain.tables(), "embedding_bags"));
  Print(*fused);

  // A rate can be set later, too.
  FusedOptimizer sgd(plain.tables(), "embedding_bags");
  for (const std::string& key : sgd.Keys()) std::cout << "name=" << key << "\n";
  sgd.SetLearningRate(0.5);
  Print(sgd);

  const KeyedJaggedTensor kjt = KeyedJaggedTensor::FromLengthsSync(
      {"product", "user"}, Tensor::From<int64_t>(ctx, {1, 2, 1, 5, 2, 3, 4, 1}),
      Tensor::From<int64_t>(ctx, {3, 1, 2, 2}));

  // The loss of the tutorial: the sum of 1 - y over all 256 outputs y.
  const auto loss_of = [&](const Variable& out) {
    return 256 - Sum(ctx, out).value().data<float>()[0];
  };
  float first;
  {
    Tape tape(ctx);
    const Variable out = ebc.Forward(ctx, kjt).values();
    first = loss_of(out);
    tape.Backward(Scale(ctx, Sum(ctx, out), -1));  // updates rows; there is no Step() to call
  }
  const float second = loss_of(ebc.Forward(ctx, kjt).values());
  std::cout << std::fixed << std::setprecision(4) << "First Iteration Loss: " << first
            << "\nSecond Iteration Loss: " << second << "\n";

  // By hand: each output's gradient is -1, a row named n times gets -n. Row-wise Adagrad keeps the
  // mean square m = n^2 of a row and adds lr / (sqrt(m) + eps) * n to it. Product 1 is named twice
  // in one bag, which feels its row twice; the other 6 occurrences are of rows named once. (In the
  // tutorial the loss fell from 255.6601 to 245.4380.)
  const double twice = 0.02 / (2 + 0.002) * 2, once = 0.02 / (1 + 0.002);
  const double expected = 64 * (2 * twice + 6 * once), got = double{first} - double{second};
  std::cout << "The loss fell by " << got << ", by hand " << expected << "\n" << std::defaultfloat;

  // Tables and a dense layer under one optimizer: rates are set and state is saved in one place.
  LinearLayer layer(ctx, 128, 1);
  const auto adam = std::make_shared<DenseOptimizer>(ctx, layer.Parameters("layer."),
                                                     DenseOptimizerConfig("adam"));
  const CombinedOptimizer combined({{"", fused}, {"", adam}});
  Print(combined);
  return std::abs(got - expected) < 1e-3 ? 0 : 1;
}
