#include "sharding/quantized/shard_workers.h"

#include <gtest/gtest.h>

#include <atomic>

#include "runtime/base/check.h"

namespace tessera {
namespace {

const std::vector<Device> kThree(3);

TEST(ShardWorkers, RanksRunAtTheSameTime) {
  ShardWorkers workers(kThree, 1);
  std::atomic<int> there = 0;
  const RankTask meet = [&](Context&) {
    ++there;
    there.notify_all();
    for (int seen = there; seen < 3; seen = there) there.wait(seen);  // for the other two
  };
  workers.Run(std::vector<RankTask>{meet, meet, meet});
  EXPECT_EQ(there, 3);
}

TEST(ShardWorkers, EveryRankHasAThreadAndAContextOfItsOwn) {
  ShardWorkers workers(kThree, 1);
  std::vector<std::thread::id> threads(3);
  std::vector<Context*> contexts(3);
  std::vector<RankTask> tasks(3);
  for (size_t r : {0u, 2u})
    tasks[r] = [&, r](Context& ctx) {
      threads[r] = std::this_thread::get_id();
      contexts[r] = &ctx;
    };
  workers.Run(tasks);
  EXPECT_NE(threads[0], threads[2]);
  EXPECT_NE(contexts[0], contexts[2]);
  EXPECT_EQ(contexts[1], nullptr);  // it had nothing to do
}

TEST(ShardWorkers, TheErrorOfTheLowestRankComesBackAndTheOthersHaveEnded) {
  ShardWorkers workers(kThree, 1);
  std::atomic<bool> ended = false;
  const std::vector<RankTask> tasks = {[&](Context&) { ended = true; },
                                       [](Context&) { TESSERA_FAIL("one"); },
                                       [](Context&) { TESSERA_FAIL("two"); }};
  try {
    workers.Run(tasks);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("one"), std::string::npos);
  }
  EXPECT_TRUE(ended);
  EXPECT_THROW(workers.Run({}), Error);
}

TEST(ShardWorkers, SeveralCallers) {
  ShardWorkers workers(kThree, 1);
  std::atomic<int> done = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      const RankTask count = [&](Context&) { ++done; };
      for (int i = 0; i < 200; ++i) workers.Run(std::vector<RankTask>{count, count, count});
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(done, 4 * 200 * 3);
}

}  // namespace
}  // namespace tessera
