#include "comm/local_communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The error that RunLocalRanks throws.
std::string FailureOf(int ranks, const std::function<void(Communicator&, Context&)>& fn) {
  try {
    RunLocalRanks(ranks, [&](Communicator& comm) {
      Context ctx({.threads = 1});
      fn(comm, ctx);
    });
  } catch (const CommunicatorAborted& error) {
    return std::string("the wrong type: ") + error.what();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

Tensor Ones(Context& ctx, int64_t n, DType dtype = DType::kF32) {
  return Tensor::Full(ctx, {n}, 1, dtype);
}

// Two threads of a rank: each has its own order of calls, whichever is faster.
TEST(LocalCommunicator, ACompanionIsForASecondThread) {
  RunLocalRanks(3, [](Communicator& comm) {
    const auto sums = [&](Communicator& group, float* last) {
      Context own({.threads = 1});
      for (int n = 1; n <= 50; ++n)
        *last = group
                    .AllReduce(own, Tensor::Full(own, {1}, n), ReduceOp::kSum,
                               "sum " + std::to_string(n))
                    .Wait()
                    .data<float>()[0];
    };
    Communicator& companion = comm.Companion("ahead");
    EXPECT_EQ(&companion, &comm.Companion("ahead"));
    EXPECT_NE(&companion, &comm.Companion("beside"));
    float here = 0, there = 0;
    std::thread second([&] { sums(companion, &there); });
    sums(comm, &here);
    second.join();
    EXPECT_EQ(here, 150);
    EXPECT_EQ(there, 150);
  });
}

TEST(LocalCommunicator, CompanionsOfNodesAreMadeOnce) {
  RunLocalRanks(6, [](Communicator& comm) {
    Context own({.threads = 1});
    const auto sum = [&](Communicator& group) {
      return group.AllReduce(own, Ones(own, 1), ReduceOp::kSum, "ranks").Wait().data<float>()[0];
    };
    Communicator& inside = comm.LocalCompanion(3);
    Communicator& between = comm.CrossNodeCompanion(3);
    EXPECT_EQ(&inside, &comm.LocalCompanion(3));
    EXPECT_EQ(&between, &comm.CrossNodeCompanion(3));
    EXPECT_NE(&inside, &comm.LocalCompanion(2));
    EXPECT_EQ(inside.rank(), comm.rank() % 3);
    EXPECT_EQ(between.rank(), comm.rank() / 3);
    EXPECT_EQ(sum(inside), 3);
    EXPECT_EQ(sum(between), 2);
  });
}

TEST(LocalCommunicator, NamesBothCallsWhenTheyDiffer) {
  const std::string op = FailureOf(2, [](Communicator& comm, Context& ctx) {
    comm.Barrier(ctx, "start").Wait();
    if (comm.rank() == 0)
      comm.AllReduce(ctx, Ones(ctx, 3), ReduceOp::kSum, "dense gradients").Wait();
    else
      comm.AllGather(ctx, Ones(ctx, 3), "dense gradients").Wait();
  });
  EXPECT_THAT(op, AllOf(HasSubstr("AllReduce sum \"dense gradients\" (call 1)"),
                        HasSubstr("AllGather \"dense gradients\" (call 1)"), HasSubstr("rank 0"),
                        HasSubstr("rank 1")));
  const std::string what = FailureOf(2, [](Communicator& comm, Context& ctx) {
    comm.Barrier(ctx, comm.rank() == 0 ? "t0" : "t1").Wait();
  });
  EXPECT_THAT(what, AllOf(HasSubstr("Barrier \"t0\""), HasSubstr("Barrier \"t1\"")));
}

TEST(LocalCommunicator, NamesTypesAndCountsThatDiffer) {
  const std::string counts = FailureOf(3, [](Communicator& comm, Context& ctx) {
    std::vector<Tensor> send(3, Ones(ctx, 4));
    std::vector<int64_t> expected(3, 4);
    if (comm.rank() == 2) expected[1] = 5;
    comm.AllToAllV(ctx, send, expected, "ids of t0").Wait();
  });
  EXPECT_THAT(counts, HasSubstr("AllToAllV \"ids of t0\" (call 0): rank 2 expected 5 elements of "
                                "f32 from rank 1, which sent 4 elements of f32"));
  const std::string types = FailureOf(2, [](Communicator& comm, Context& ctx) {
    comm.AllGather(ctx, Ones(ctx, 4, comm.rank() ? DType::kI32 : DType::kF32), "rows").Wait();
  });
  EXPECT_THAT(types, AllOf(HasSubstr("4 elements of f32"), HasSubstr("4 elements of i32")));
  const std::string messages = FailureOf(2, [](Communicator& comm, Context& ctx) {
    if (comm.rank() == 0)
      comm.Send(ctx, Ones(ctx, 4), 1, "stage").Wait();
    else
      comm.Receive(ctx, {2, 3}, DType::kF32, 0, "stage").Wait();
  });
  EXPECT_THAT(messages, HasSubstr("expected 6 elements of f32 from rank 0, which sent 4"));
}

TEST(LocalCommunicator, RefusesWhatIsNoExchange) {
  RunLocalRanks(2, [](Communicator& comm) {
    Context ctx({.threads = 1});
    const Tensor two = Ones(ctx, 2);
    EXPECT_THROW(comm.AllToAllV(ctx, {two}, {2, 2}, "few"), Error);
    EXPECT_THROW(comm.AllToAllV(ctx, {two, two}, {2}, "few"), Error);
    EXPECT_THROW(comm.AllToAllV(ctx, {two, two}, {2, -1}, "negative"), Error);
    EXPECT_THROW(comm.AllToAllV(ctx, {two, {}}, {2, 2}, "undefined"), Error);
    EXPECT_THROW(comm.AllToAll(ctx, Tensor::Zeros(ctx, {3, 2}), "three blocks"), Error);
    EXPECT_THROW(comm.AllReduce(ctx, Ones(ctx, 2, DType::kU8), ReduceOp::kSum, "bytes"), Error);
    EXPECT_THROW(comm.Broadcast(ctx, two, 2, "no such root"), Error);
    EXPECT_THROW(comm.Send(ctx, two, comm.rank(), "itself"), Error);
    EXPECT_THROW(comm.SplitLocal(3), Error);
  });
}

TEST(LocalCommunicator, RankThatThrowsEndsAllAndIsNamed) {
  std::atomic<int> aborted = 0;
  const std::string failure = FailureOf(4, [&](Communicator& comm, Context& ctx) {
    if (comm.rank() == 2) throw Error("row 7 of t3 is out of range");
    try {
      comm.Barrier(ctx, "end of step").Wait();
    } catch (const CommunicatorAborted& error) {
      ++aborted;
      EXPECT_THAT(error.what(), AllOf(HasSubstr("waited in Barrier \"end of step\""),
                                      HasSubstr("rank 2"), HasSubstr("row 7 of t3")));
      throw;
    }
  });
  EXPECT_EQ(aborted, 3);
  EXPECT_EQ(failure, "rank 2: row 7 of t3 is out of range");
}

TEST(LocalCommunicator, AbortReachesParentsAndChildren) {
  std::atomic<int> aborted = 0;
  RunLocalRanks(4, [&](Communicator& comm) {
    Context ctx({.threads = 1});
    const auto half = comm.Split(comm.rank() / 2, 0), single = half->Split(half->rank(), 0);
    comm.Barrier(ctx, "all are there").Wait();
    if (comm.rank() == 3) return single->Abort("the disk is full");
    Communicator& waits = comm.rank() == 2 ? comm : *half;
    try {
      if (comm.rank() == 0) waits.Send(ctx, Ones(ctx, 1), 1, "to 1").Wait();
      if (comm.rank() == 0) waits.Receive(ctx, {1}, DType::kF32, 1, "never sent").Wait();
      if (comm.rank() != 0) waits.AllGather(ctx, Ones(ctx, 1), "never made").Wait();
    } catch (const CommunicatorAborted& error) {
      ++aborted;
      EXPECT_THAT(error.what(), HasSubstr("rank 3 aborted: the disk is full"));
    }
  });
  EXPECT_EQ(aborted, 3);
}

TEST(LocalCommunicator, AbortFromAnotherThread) {
  std::vector<std::unique_ptr<Communicator>> comms = MakeLocalCommunicators(2);
  Context ctx({.threads = 1});
  Awaitable<void> barrier = comms[0]->Barrier(ctx, "alone");
  std::thread other([&] { comms[1]->Abort("enough"); });
  EXPECT_THROW(barrier.Wait(), CommunicatorAborted);
  other.join();
  comms[1]->Abort("again");
  EXPECT_THROW(comms[0]->Split(0, 0), CommunicatorAborted);
}

TEST(LocalCommunicator, RankThatLeavesIsMissed) {
  const std::string failure = FailureOf(3, [](Communicator& comm, Context& ctx) {
    comm.Barrier(ctx, "step 0").Wait();
    if (comm.rank() == 1) return;
    comm.Barrier(ctx, "step 1").Wait();
  });
  EXPECT_THAT(failure, HasSubstr("Barrier \"step 1\" (call 1), but rank 1 has left"));
}

TEST(LocalCommunicator, FirstFailureIsTheOneThatIsTold) {
  EXPECT_THAT(FailureOf(3,
                        [](Communicator& comm, Context& ctx) {
                          if (comm.rank() == 0) throw 5;
                          comm.Barrier(ctx, "b").Wait();
                        }),
              HasSubstr("rank 0: an exception that is no std::exception"));
}

class LocalCommunicatorOnDevice : public testing::DeviceTest {};

// Tensors outlive the group and the context that made them, and nothing of them is copied.
TEST_P(LocalCommunicatorOnDevice, ReceiverHoldsTheSendersMemory) {
  std::vector<Tensor> sent(3), received(3);
  RunLocalRanks(3, [&](Communicator& comm) {
    Context own({.device = device(), .threads = 1});
    const auto rank = static_cast<size_t>(comm.rank());
    sent[rank] = Tensor::Full(own, {100}, comm.rank());
    received[rank] = comm.AllToAllV(own, std::vector<Tensor>(3, sent[rank]), {100, 100, 100}, "all")
                         .Wait()[(rank + 1) % 3];
    own.Sync();
  });
  for (size_t r = 0; r < 3; ++r) {
    EXPECT_EQ(received[r].raw_data(), sent[(r + 1) % 3].raw_data());
    sent[(r + 1) % 3] = {};
    EXPECT_EQ(received[r].To(ctx(), Device::Cpu()).ToVector<float>(),
              std::vector<float>(100, static_cast<float>((r + 1) % 3)));
  }
}

// Ranks on different devices: what lies elsewhere is copied.
TEST_P(LocalCommunicatorOnDevice, RanksOnDifferentDevices) {
  RunLocalRanks(3, [&](Communicator& comm) {
    Context own({.device = comm.rank() == 1 ? device() : Device::Cpu(), .threads = 1});
    const Tensor mine = Tensor::Full(own, {5000}, comm.rank() + 1);
    const Tensor sum = comm.AllReduce(own, mine, ReduceOp::kSum, "mixed").Wait();
    EXPECT_EQ(sum.device(), own.device());
    EXPECT_EQ(sum.To(own, Device::Cpu()).ToVector<float>(), std::vector<float>(5000, 6));
  });
}

// Memory that goes out of scope right after the call is still there for the others.
TEST_P(LocalCommunicatorOnDevice, SentTemporariesLive) {
  RunLocalRanks(4, [&](Communicator& comm) {
    Context own({.device = device(), .threads = 1});
    for (int step = 0; step < 20; ++step) {
      Awaitable<Tensor> gathered =
          comm.AllGather(own, Tensor::Full(own, {1000}, comm.rank() * 100 + step), "temporary");
      Tensor::Full(own, {1000}, -1);
      const std::vector<float> all = gathered.Wait().To(own, Device::Cpu()).ToVector<float>();
      for (size_t r = 0; r < 4; ++r)
        EXPECT_EQ(all[r * 1000 + 999], static_cast<float>(r * 100) + static_cast<float>(step));
    }
  });
}

TESSERA_INSTANTIATE_DEVICES(LocalCommunicatorOnDevice);

}  // namespace
}  // namespace tessera
