// Tables over four ranks, here threads of this process: each rank gives its own bags, and gets its
// own embeddings; every table is trained as if it were one. Under mpirun the ranks would be
// processes, with a communicator of comm/mpi/mpi_communicator.h; nothing else changes.
#include <cmath>
#include <cstdio>
#include <mutex>

#include "tessera/comm/local_communicator.h"
#include "tessera/sharding/plan/plan_json.h"
#include "tessera/sharding/plan/plan_makers.h"
#include "tessera/sharding/sharded_embedding_bag_collection.h"

using namespace tessera;

int main() {
  constexpr int kRanks = 4;
  EmbeddingBagConfig users, items;
  users.name = "users";
  users.num_embeddings = 1000;
  users.embedding_dim = 16;
  users.feature_names = {"user"};
  users.optimizer = RowwiseAdagrad{.lr = 0.1f};
  items = users;
  items.name = "items";
  items.feature_names = {"clicked", "bought"};

  // Rows of one table over all ranks; the other whole on rank 2.
  const std::vector<TableShape> shapes = {{"users", 1000, 16}, {"items", 1000, 16}};
  const ShardingPlan plan = MakeShardingPlan({.world_size = kRanks, .local_size = kRanks}, shapes,
                                             {{"users", RowWise()}, {"items", TableWise(2)}});
  std::printf("%s\n", ToString(plan).c_str());

  std::mutex print;
  float first = 0, last = 0;
  RunLocalRanks(kRanks, [&](Communicator& comm) {
    Context ctx({.threads = 1, .seed = 1});  // the same seed on all ranks: one model
    ShardedEmbeddingBagCollection ebc(ctx, comm, {users, items}, plan);
    // Two examples a rank.
    const KeyedJaggedTensor features = KeyedJaggedTensor::FromLengthsSync(
        {"user", "clicked", "bought"},
        Tensor::From(ctx, std::vector<int64_t>{comm.rank(), 500, 7, 8, 9, 7, 3}),
        Tensor::From(ctx, std::vector<int64_t>{1, 1, 2, 1, 0, 2}));
    for (int step = 0; step < 20; ++step) {
      Tape tape(ctx);
      const KeyedTensor out = ebc.Forward(ctx, features);  // [2, 48]
      // The loss pulls every embedding towards 1: its gradient is their difference.
      const Tensor rows = out.values().value(), grad = Tensor::Empty(ctx, rows.shape());
      float loss = 0;
      for (int64_t i = 0; i < rows.numel(); ++i) {
        grad.data<float>()[i] = rows.data<float>()[i] - 1;
        loss += 0.5f * grad.data<float>()[i] * grad.data<float>()[i];
      }
      tape.Backward(out.values(), grad);  // tables are updated, wherever their rows lie
      if (comm.rank() == 0) (step == 0 ? first : last) = loss;
    }
    const std::lock_guard lock(print);
    std::printf("rank %d sent %lld bytes\n", comm.rank(),
                static_cast<long long>(comm.bytes_sent()));
  });
  std::printf("rank 0's loss went from %.2f to %.2f\n", first, last);
  return std::isfinite(last) && last < 0.5f * first ? 0 : 1;
}
