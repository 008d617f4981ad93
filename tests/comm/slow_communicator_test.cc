#include "comm/slow_communicator.h"

#include <gtest/gtest.h>
#include <time.h>

#include <chrono>
#include <functional>
#include <thread>

#include "comm/exchange_time.h"
#include "comm/local_communicator.h"
#include "tests/comm/suite.h"

namespace tessera::testing {
namespace {

// Runs the ranks of a local group behind slow links.
template <typename Links>  // SlowLink or SlowNodes
void RunSlowRanks(int ranks, const Links& link,
                  const std::function<void(Communicator&, Context&)>& fn) {
  std::vector<std::thread> threads;
  for (auto& comm : MakeLocalCommunicators(ranks))
    threads.emplace_back([&fn, &link, inner = std::move(comm)]() mutable {
      Context ctx({.threads = 1});
      const auto slow = MakeSlowCommunicator(std::move(inner), link);
      fn(*slow, ctx);
    });
  for (std::thread& thread : threads) thread.join();
}

class SlowSuiteTest : public ::testing::TestWithParam<CommCase> {};

TEST_P(SlowSuiteTest, Runs) { RunSlowRanks(3, SlowLink{1e-4, 1e9}, GetParam().run); }
INSTANTIATE_TEST_SUITE_P(, SlowSuiteTest, ::testing::ValuesIn(CommCases()), CommCaseName);

double CpuSecondsOfThread() {
  timespec t = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Runs fn, which is to take `least` seconds or more without working.
void ExpectSleeps(double least, const std::function<void()>& fn) {
  const auto begin = std::chrono::steady_clock::now();
  const double cpu = CpuSecondsOfThread();
  fn();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took.count(), least);
  EXPECT_LT(CpuSecondsOfThread() - cpu, least / 2);
}

TEST(SlowCommunicator, SaysWhyItWasAborted) {
  RunSlowRanks(1, SlowLink{}, [](Communicator& comm, Context&) {
    EXPECT_EQ(comm.abort_reason(), "");
    comm.Abort("enough");
    EXPECT_NE(comm.abort_reason().find("enough"), std::string::npos);
  });
}

TEST(SlowCommunicator, ResultsTakeLatencyAndBytes) {
  RunSlowRanks(2, SlowLink{0.05, 1e6}, [](Communicator& comm, Context& ctx) {
    const Tensor t = Tensor::Zeros(ctx, {25000});  // 0.1 s
    const double before = SecondsInExchanges();
    ExpectSleeps(0.05, [&] { comm.Barrier(ctx, "b").Wait(); });
    EXPECT_GE(SecondsInExchanges() - before, 0.045);
    ExpectSleeps(0.15, [&] { comm.AllGather(ctx, t, "g").Wait(); });
    ExpectSleeps(0.15, [&] { comm.AllReduce(ctx, t, ReduceOp::kSum, "r").Wait(); });
    ExpectSleeps(0.15, [&] { comm.Broadcast(ctx, t, 1, "w").Wait(); });
    ExpectSleeps(0.10, [&] { comm.AllToAll(ctx, t.Reshape({2, 12500}), "a").Wait(); });
    // One link: the second call's bytes come after the first's.
    ExpectSleeps(0.25, [&] {
      Awaitable<Tensor> first = comm.AllGather(ctx, t, "1"), second = comm.AllGather(ctx, t, "2");
      first.Wait();
      second.Wait();
    });
    EXPECT_GT(comm.bytes_sent(), 400000);
  });
}

TEST(SlowCommunicator, RanksOfANodeHaveALinkOfTheirOwn) {
  LinkTraffic traffic;
  const SlowNodes nodes = {
      .local_size = 2, .between = {0.1, 1e6}, .inside = {0.02, 1e7}, .traffic = &traffic};
  RunSlowRanks(4, nodes, [](Communicator& comm, Context& ctx) {
    const Tensor t = Tensor::Zeros(ctx, {4, 12500});  // 0.1 s to the two of the other node
    ExpectSleeps(0.2, [&] { comm.AllToAll(ctx, t, "a").Wait(); });
    const Tensor halves = t.Reshape({2, 25000});
    const auto local = comm.SplitLocal(2), cross = comm.SplitCrossNode(2);
    ExpectSleeps(0.025, [&] { local->AllToAll(ctx, halves, "inside").Wait(); });
    ExpectSleeps(0.2, [&] { cross->AllToAll(ctx, halves, "between").Wait(); });
  });
  // 50,000 bytes to each other rank, and twice 100,000 to one; few bytes more are numbers of nodes.
  EXPECT_GE(traffic.between, 4 * (100000 + 100000));
  EXPECT_LT(traffic.between, 4 * (100000 + 100000) + 1000);
  EXPECT_GE(traffic.inside, 4 * (50000 + 100000));
  EXPECT_LT(traffic.inside, 4 * (50000 + 100000) + 1000);
}

TEST(SlowCommunicator, RefusesNegativeSpeedsAndNodesThatDoNotFit) {
  EXPECT_THROW(MakeSlowCommunicator(std::move(MakeLocalCommunicators(1)[0]), SlowLink{-1, 1}),
               Error);
  EXPECT_THROW(
      MakeSlowCommunicator(std::move(MakeLocalCommunicators(3)[0]), SlowNodes{.local_size = 2}),
      Error);
}

}  // namespace
}  // namespace tessera::testing
