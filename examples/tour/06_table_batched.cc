// Many tables in one call
//
// Looking up one table after another is simple and slow: each call starts threads or a kernel of
// its own. A TableBatchedEmbedding takes all tables and features together, and is what collections
// are made of. Its backward makes no gradient of a table: it sorts the ids of a batch, sums what
// each row gets, and changes the rows that the batch named.
//
// In TorchRec: FBGEMM's `SplitTableBatchedEmbeddingBagsCodegen`, inside a sharded collection.
#include <iostream>

#include "tessera/tessera.h"

using namespace tessera;

int main() {
  Context ctx({.seed = 1});

  // Three tables of different sizes; features "clicked" and "bought" read the same one.
  std::vector<BaseEmbeddingConfig> tables(3);
  const int64_t rows[] = {1000, 50, 100'000}, dims[] = {16, 4, 64};
  for (size_t t = 0; t < 3; ++t) {
    tables[t].name = "t" + std::to_string(t);
    tables[t].num_embeddings = rows[t];
    tables[t].embedding_dim = dims[t];
    tables[t].optimizer = Sgd{.lr = 0.5f};
  }
  const std::vector<PoolingType> poolings = {PoolingType::kSum, PoolingType::kMean,
                                             PoolingType::kSum};
  const std::vector<EmbeddingFeature> features = {{"user", 0, "user"},
                                                  {"country", 1, "country"},
                                                  {"clicked", 2, "clicked"},
                                                  {"bought", 2, "bought"}};
  TableBatchedEmbedding tbe(ctx, tables, poolings, features);

  const KeyedJaggedTensor batch = KeyedJaggedTensor::FromLengthsSync(
      {"user", "country", "clicked", "bought"},
      Tensor::From<int64_t>(ctx, {7, 8, /* country: */ 3, 4, 3, /* clicked: */ 70'000, 5,
                                  /* bought: */ 5}),
      Tensor::From<int64_t>(ctx, {1, 1, 2, 1, 2, 0, 0, 1}));

  const Tensor before = tbe.weight(2).Clone(ctx);
  Tape tape(ctx);  // ops record themselves from here on
  const Variable pooled = tbe.Forward(ctx, batch);
  std::cout << "One call for 4 features of 3 tables: " << ToString(pooled.shape()) << "\n";

  // The sum of everything as the loss: each occurrence of an id adds 1 to each element of its row's
  // gradient, and SGD takes 0.5 of that away. Row 5 of the third table occurs twice.
  tape.Backward(Sum(ctx, pooled));
  const Tensor after = tbe.weight(2);
  int64_t changed = 0;
  for (int64_t row = 0; row < rows[2]; ++row)
    changed += !SameBits(before.Rows(row, row + 1), after.Rows(row, row + 1));
  std::cout << "Rows of the third table that changed: " << changed << "\n";
  for (const int64_t row : {5, 70'000})
    std::cout << "Row " << row << " by "
              << after.data<float>()[row * dims[2]] - before.data<float>()[row * dims[2]] << "\n";
}
