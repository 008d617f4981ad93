#include "bench/comm/rank_threads.h"

#include <gtest/gtest.h>

#include <atomic>

#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

TEST(RankThreads, EachRankRunsEachCall) {
  RankThreads ranks(3);
  std::atomic<int> calls = 0;
  for (int i = 1; i <= 50; ++i) {
    ranks.Run([&](Communicator& comm, Context& ctx) {
      const Tensor sum =
          comm.AllReduce(ctx, Tensor::Full(ctx, {2}, comm.rank()), ReduceOp::kSum, "ranks").Wait();
      EXPECT_EQ(sum.ToVector<float>(), (std::vector<float>{3, 3}));
      ++calls;
    });
    EXPECT_EQ(calls, 3 * i);
  }
}

TEST(RankThreads, TheFirstFailureIsThrown) {
  RankThreads ranks(2);
  try {
    ranks.Run([](Communicator& comm, Context& ctx) {
      TESSERA_CHECK(comm.rank() == 0, "rank {} will not", comm.rank());
      comm.Barrier(ctx, "never").Wait();
    });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("rank 1 will not"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tessera::bench
