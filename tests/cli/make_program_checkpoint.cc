// Writes what SaveCheckpoint makes of a program's own table, trained by Adam, to the file that is
// given.
#include "embedding/embedding_bag_collection.h"
#include "embedding/fused_optimizer.h"
#include "train/checkpoint/model_checkpoint.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  using namespace tessera;
  Context ctx({.threads = 1, .seed = 5});
  EmbeddingBagConfig table;
  table.name = "t_user";
  table.num_embeddings = 20;
  table.embedding_dim = 8;
  table.feature_names = {"user"};
  table.optimizer = Adam{};
  const EmbeddingBagCollection tables(ctx, {table});
  const FusedOptimizer optimizer(tables.tables(), "embedding_bags");
  SaveCheckpoint(ctx, argv[1], tables.tables().rows().weights("embedding_bags"), optimizer,
                 {.step = 400});
}
