// Sequences whose ids travel once a node, on two nodes of two ranks that are processes: every
// pipeline has the bits that ranks have as threads.
#include <gtest/gtest.h>

#include "comm/local_communicator.h"
#include "tests/comm/mpi_main.h"
#include "tests/train/pipeline/testing/small_run.h"

namespace tessera::testing {
namespace {

TEST(NodeDedupMpi, HasTheBitsOfThreads) {
  Communicator& world = MpiWorld();
  for (const char* name : {"sequences", "raw_sequences"}) {
    SmallRunOptions options{.kind = {.name = name, .dedup = IdDedup::kNode}};
    std::vector<SmallRun> threads(static_cast<size_t>(world.size()));
    RunLocalRanks(world.size(), [&](Communicator& comm) {
      threads[static_cast<size_t>(comm.rank())] = SmallTraining(options, &comm).Run();
    });
    for (const char* pipeline : {"none", "sparse_dist", "prefetch"}) {
      options.pipeline = pipeline;
      const SmallRun run = SmallTraining(options, &world).Run();
      EXPECT_TRUE(run == threads[static_cast<size_t>(world.rank())]) << pipeline << " of " << name;
    }
  }
}

}  // namespace
}  // namespace tessera::testing
