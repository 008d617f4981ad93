// A sharded collection
//
// A ShardedEmbeddingBagCollection is an EBC whose tables lie on several ranks. Each rank gives its
// own batch and gets its own embeddings, as if it had all tables; beneath, ids travel to the ranks
// that hold their rows (input_dist), rows are looked up there, and pooled rows travel back
// (output_dist). Ranks are threads here. Under mpirun they are processes, with NCCL they are GPUs;
// only the Communicator differs.
//
// In TorchRec: `EmbeddingBagCollectionSharder().shard(ebc, plan, env, device)`, `LazyAwaitable`.
#include <iostream>

#include "tessera/tessera.h"

using namespace tessera;

namespace {

EmbeddingBagConfig Table(const std::string& name, const std::string& feature) {
  EmbeddingBagConfig table;
  table.name = name;
  table.num_embeddings = 4096;
  table.embedding_dim = 64;
  table.feature_names = {feature};
  return table;
}

std::string Rank(Communicator& comm) {
  constexpr int64_t kSeed = 1;
  Context ctx({.threads = 1, .seed = kSeed});  // the same seed on all ranks: one model
  const std::vector<EmbeddingBagConfig> tables = {Table("product_table", "product"),
                                                  Table("user_table", "user")};
  // One table whole on rank 1, the rows of the other on both. The planner could have said so too.
  const std::vector<TableShape> shapes = {{"product_table", 4096, 64}, {"user_table", 4096, 64}};
  const ShardingPlan plan =
      MakeShardingPlan({.world_size = comm.size(), .local_size = comm.size()}, shapes,
                       {{"product_table", TableWise(1)}, {"user_table", RowWise()}});
  ShardedEmbeddingBagCollection sharded_ebc(ctx, comm, tables, plan);

  std::string text = "rank " + std::to_string(comm.rank()) + "\n";
  for (const HeldShard& held : sharded_ebc.tables().shards())
    text += "  holds of " + held.table + " " + ToString(held.shard) + "\n";

  // Rank 0 has the batch of the last chapter. Rank 1 has another, of three examples.
  using Ids = std::vector<int64_t>;
  const bool first = comm.rank() == 0;
  const KeyedJaggedTensor kjt = KeyedJaggedTensor::FromLengthsSync(
      {"product", "user"}, Tensor::From(ctx, first ? Ids{1, 2, 1, 5, 2, 3, 4, 1} : Ids{9, 4000, 1}),
      Tensor::From(ctx, first ? Ids{3, 1, 2, 2} : Ids{1, 0, 0, 0, 1, 1}));

  // An Awaitable is a result on its way: until Wait there is time for other work. Forward does all
  // of it in one call.
  PooledInput input = sharded_ebc.StartInputDist(ctx, kjt);
  Awaitable<KeyedTensor> output = sharded_ebc.ComputeAndOutputDist(ctx, std::move(input));
  const KeyedTensor kt = output.Wait();
  text += "  " + ToString(kt.values().shape()) + "\n";
  for (const auto& [key, embedding] : kt.ToDict(ctx))
    text += "  " + key + " " + ToString(embedding.shape()) + "\n";

  // One process with all tables says the same, to the bit. (Where rows of one bag lie on several
  // ranks, partial sums are added, and the last bit may differ.)
  Context alone({.threads = 1, .seed = kSeed});
  EmbeddingBagCollection ebc(alone, tables);
  const bool same = SameBits(kt.values(), ebc.Forward(alone, kjt).values());
  return text + "  " + (same ? "as without shards" : "not as without shards") + "\n";
}

}  // namespace

int main() {
  RunLocalRanks(2, [](Communicator& comm) {
    for (const std::string& text : comm.GatherStringsSync(Rank(comm), "what ranks have to say"))
      if (IsLeader(comm)) std::cout << text;
  });
}
