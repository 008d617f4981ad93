// Two tables, one batch, pooled rows: the smallest use of Tessera.
#include <cstdio>

#include "tessera/tessera.h"

int main() {
  using namespace tessera;
  Context ctx;

  // Two tables; "item" and "last_item" share one.
  EmbeddingBagConfig user, item;
  user.name = "t_user";
  user.num_embeddings = 1000;
  user.embedding_dim = 4;
  user.feature_names = {"user"};
  item.name = "t_item";
  item.num_embeddings = 5000;
  item.embedding_dim = 8;
  item.feature_names = {"item", "last_item"};
  item.pooling = PoolingType::kMean;
  EmbeddingBagCollection embeddings(ctx, {user, item});

  // Three examples. Ids of a key come one example after another; lengths say how many each has.
  const KeyedJaggedTensor batch = KeyedJaggedTensor::FromLengthsSync(
      {"user", "item", "last_item"},
      Tensor::From<int64_t>(ctx, {7, 8, 9, /* item: */ 10, 11, 12, /* last_item: */ 12, 40}),
      Tensor::From<int64_t>(ctx, {1, 1, 1, /* item: */ 2, 0, 1, /* last_item: */ 1, 1, 0}));
  std::printf("%s", ToString(ctx, batch).c_str());

  const KeyedTensor pooled = embeddings.Forward(ctx, batch);
  for (const std::string& key : pooled.keys()) {
    const Tensor block = pooled.At(ctx, key).value().Contiguous(ctx);
    std::printf("%-9s [%lld, %lld], first row starts with %g\n", key.c_str(),
                static_cast<long long>(block.dim(0)), static_cast<long long>(block.dim(1)),
                static_cast<double>(block.data<float>()[0]));
  }
}
