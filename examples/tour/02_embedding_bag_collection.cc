// From one table to an EmbeddingBagCollection
//
// Models have many tables. An EmbeddingBagCollection (EBC) holds those whose bags are pooled, an
// EmbeddingCollection (EC) those whose rows are returned one by one. Both take a whole batch at
// once, with all its features, and look everything up in one call.
//
// In TorchRec: `torchrec.EmbeddingBagCollection(tables=[torchrec.EmbeddingBagConfig(...), ...])`.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "tessera/tessera.h"

using namespace tessera;

int main() {
  Context ctx;

  EmbeddingBagConfig product_table;
  product_table.name = "product_table";
  product_table.embedding_dim = 64;
  product_table.num_embeddings = 4096;
  product_table.feature_names = {"product"};
  product_table.pooling = PoolingType::kSum;

  EmbeddingBagConfig user_table = product_table;
  user_table.name = "user_table";
  user_table.feature_names = {"user"};

  EmbeddingBagCollection ebc(ctx, {product_table, user_table});
  for (const EmbeddingBagConfig& table : ebc.configs())
    std::cout << "(" << table.name << "): EmbeddingBag(" << table.num_embeddings << ", "
              << table.embedding_dim << ", mode=" << ToString(table.pooling) << ")\n";

  // A batch of two examples. Keys come one after another: first the products of both examples, then
  // their users. The next chapter is about batches.
  const KeyedJaggedTensor batch = KeyedJaggedTensor::FromLengthsSync(
      {"product", "user"}, Tensor::From<int64_t>(ctx, {1, 2, 1, 5, /* user: */ 2, 3, 4, 1}),
      Tensor::From<int64_t>(ctx, {3, 1, /* user: */ 2, 2}));
  const KeyedTensor result = ebc.Forward(ctx, batch);

  // A forward computes the sum of the bag's rows for every table, feature and example.
  float largest_difference = 0;
  for (int t = 0; t < ebc.tables().num_tables(); ++t) {
    const std::string& key = ebc.configs()[static_cast<size_t>(t)].feature_names[0];
    const Tensor rows = ebc.tables().weight(t);                          // [4096, 64]
    const Tensor pooled = result.At(ctx, key).value().Contiguous(ctx);   // [2, 64]
    const std::vector<Variable> bags = batch.At(ctx, key).ToDense(ctx);  // ids, by example
    for (int64_t b = 0; b < batch.stride(); ++b)
      for (int64_t d = 0; d < rows.dim(1); ++d) {
        float sum = 0;
        for (const int64_t id : bags[static_cast<size_t>(b)].value().ToVector<int64_t>())
          sum += rows.data<float>()[id * rows.dim(1) + d];
        const float got = pooled.data<float>()[b * rows.dim(1) + d];
        largest_difference = std::max(largest_difference, std::abs(got - sum));
      }
  }
  std::cout << "Largest difference from the loop: " << largest_difference << "\n";
  return largest_difference == 0 ? 0 : 1;
}
