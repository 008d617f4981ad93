// Writes a sharded checkpoint of two small tables on two ranks to the folder that is given.
#include "tests/sharding/checkpoint_for_tests.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera::testing {
namespace {

void Write(const std::string& folder) {
  Context ctx({.threads = 1});
  const Model model = {WholeTable(ctx, {"a", 60, 16}, 1), WholeTable(ctx, {"b", 5, 8}, 2)};
  const ShardingPlan plan = MakeShardingPlan({.world_size = 2, .local_size = 2}, ShapesOf(model),
                                             {{"a", ColumnWise({0, 1})}, {"b", RowWise()}});
  RunLocalRanks(2, [&](Communicator& comm) {
    Context own({.threads = 1});
    CheckpointInfo info = InfoOf(model, plan);
    info.metadata = CheckpointMetadata({.epoch = 1, .step = 77}, "");
    SaveShardedCheckpoint(own, comm, folder, info, ShardsOf(own, model, plan, comm.rank()));
  });
}

}  // namespace
}  // namespace tessera::testing

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  tessera::testing::Write(argv[1]);
}
