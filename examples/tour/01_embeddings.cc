// Embeddings
//
// A table is a matrix of E rows and D columns, one row for each user, product or page: its
// embedding. Looking up an id takes its row. Ids come in bags, since an example may have any number
// of them; the rows of a bag are either returned as they are or pooled to their sum or mean. Rows
// are trained like all other weights of a model.
//
// In TorchRec: `torch.nn.Embedding(10, 4)` and `torch.nn.EmbeddingBag(10, 4)`.
#include <iostream>
#include <random>

#include "tessera/tessera.h"

using namespace tessera;

int main() {
  Context ctx;  // device, threads, random numbers: the first argument of everything that computes

  // The numbers of the PyTorch tutorial: what torch.rand(10, 4) gives after torch.manual_seed(42),
  // 24 bits of a Mersenne twister each.
  std::mt19937 bits(42);
  std::vector<float> numbers(10 * 4);
  for (float& number : numbers) number = static_cast<float>(bits() & 0xffffff) / (1 << 24);
  const Tensor weights = Tensor::From(ctx, {10, 4}, numbers);
  std::cout << "Weights: " << ToString(weights) << "\n";

  // A table has a name and says which features of a batch it is for. Rows start at random, unless
  // an init_fn fills them.
  BaseEmbeddingConfig table;
  table.name = "t_item";
  table.num_embeddings = 10;
  table.embedding_dim = 4;
  table.feature_names = {"item"};
  table.init_fn = [&](Context& c, const Tensor& rows) { rows.CopyFrom(c, weights); };

  // Two collections, each with one such table: one returns rows, the other pools them.
  EmbeddingCollection embedding_collection(ctx, {EmbeddingConfig{table}});
  EmbeddingBagCollection embedding_bag_collection(ctx,
                                                  {EmbeddingBagConfig{table, PoolingType::kMean}});

  // One example, which has the ids 1 and 3.
  const Tensor ids = Tensor::From<int64_t>(ctx, {1, 3});
  const Tensor lengths = Tensor::From<int64_t>(ctx, {2});
  const KeyedJaggedTensor batch = KeyedJaggedTensor::FromLengthsSync({"item"}, ids, lengths);
  std::cout << "Input row IDS: " << ToString(ids.Reshape({1, 2})) << "\n";

  // Rows under the lengths of the batch; as a block, [examples, longest bag, D].
  const JaggedTensor rows = embedding_collection.Forward(ctx, batch)[0].second;
  const Variable embeddings = rows.ToPaddedDense(ctx);
  std::cout << "Embedding Collection Results:\n"
            << ToString(embeddings.value()) << "\nShape: " << ToString(embeddings.shape()) << "\n";

  const Variable pooled = embedding_bag_collection.Forward(ctx, batch).values();
  std::cout << "Embedding Bag Collection Results:\n"
            << ToString(pooled.value()) << "\nShape: " << ToString(pooled.shape()) << "\n";

  // The mean by hand.
  const std::vector<float> row = rows.values().value().ToVector<float>();
  std::vector<float> mean(4);
  for (size_t d = 0; d < 4; ++d) mean[d] = (row[d] + row[4 + d]) / 2;
  std::cout << "Mean: " << ToString(Tensor::From(ctx, {1, 4}, mean)) << "\n";
}
