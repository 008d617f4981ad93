// Failures of NCCL and their messages: the fake NCCL has faults on demand.
#include "comm/nccl/nccl_communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "runtime/graph.h"
#include "tests/comm/fake_nccl_ranks.h"
#include "tools/emulation/emulation.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::InjectNcclFault;
using testing::RunNcclRanks;
using ::testing::ThrowsMessage;

Tensor Ones(Context& ctx, int64_t n) { return Tensor::Full(ctx, {n}, 1); }

// The error of each of `ranks` ranks when it makes these calls; empty if nothing failed.
std::vector<std::string> Failures(int ranks, const NcclOptions& options,
                                  const std::function<void(Communicator&, Context&)>& calls) {
  std::vector<std::string> failures(static_cast<size_t>(ranks));
  RunNcclRanks(ranks, options, [&](Communicator& comm, Context& ctx) {
    try {
      calls(comm, ctx);
    } catch (const Error& error) {
      failures[static_cast<size_t>(comm.rank())] = error.what();
    }
  });
  return failures;
}

void TwoSums(Communicator& comm, Context& ctx) {
  comm.AllReduce(ctx, Ones(ctx, 3), ReduceOp::kSum, "losses").Wait();
  comm.AllReduce(ctx, Ones(ctx, 3), ReduceOp::kSum, "dense gradients").Wait();
  ctx.Sync();
}

// Tries a time-out of 0.3 s and, while calls before the lost one take longer than that on a busy
// machine, ones of 3, 30 and 300 s.
TEST(NcclCommunicatorTest, ACallWithoutResultEndsInATimeOut) {
  std::vector<std::string> failures;
  double seconds = 0.3;
  for (;; seconds *= 10) {
    InjectNcclFault(testing::kFakeNcclHang, 1, 1);
    failures = Failures(3, {.timeout_seconds = seconds}, TwoSums);
    if (seconds > 100 || failures[1].find("(call 1)") != std::string::npos) break;
  }
  EXPECT_THAT(failures, Each(AllOf(HasSubstr("AllReduce sum \"dense gradients\" (call 1)"),
                                   HasSubstr(Format("no result after {} s", seconds)),
                                   HasSubstr("aborted: "))));
}

// The calls together take four times the time-out. On a busy machine one of them may take longer
// than a short time-out; then the test tries one that is ten times as long.
TEST(NcclCommunicatorTest, NoTimeOutWhileAllIsWell) {
  std::vector<std::string> failures;
  for (double seconds = 0.05; seconds < 100; seconds *= 10) {
    failures = Failures(2, {.timeout_seconds = seconds}, [=](Communicator& comm, Context& ctx) {
      for (int i = 0; i < 200; ++i) {
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds / 50));
        comm.AllReduce(ctx, Ones(ctx, 1), ReduceOp::kSum, "loop").Wait();
        ctx.Sync();
      }
    });
    if (failures == std::vector<std::string>(2)) break;
  }
  EXPECT_THAT(failures, Each(""));
}

TEST(NcclCommunicatorTest, WhatNcclReportsLaterReachesEveryRank) {
  InjectNcclFault(testing::kFakeNcclAsyncError, 2, 1);
  const auto failures = Failures(3, {.timeout_seconds = 0}, TwoSums);
  EXPECT_THAT(failures, Each(AllOf(HasSubstr("rank 2 aborted: AllReduce sum \"dense gradients\""),
                                   HasSubstr("NCCL reports: remote process exited"))));
}

TEST(NcclCommunicatorTest, ACallThatFailsNamesItself) {
  InjectNcclFault(testing::kFakeNcclError, 0, 0);
  RunNcclRanks(1, {}, [](Communicator& comm, Context& ctx) {
    try {
      TwoSums(comm, ctx);
      ADD_FAILURE() << "expected Error";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr("rank 0 of 1 (nccl): AllReduce sum \"losses\" (call 0)"),
                        HasSubstr("ncclGroupEnd: unhandled system error (from the fake NCCL)")));
    }
    TwoSums(comm, ctx);
  });
}

// The others wait inside NCCL, where nobody but this process can tell them.
TEST(NcclCommunicatorTest, ARankThatThrowsEndsTheOthers) {
  std::mutex mutex;
  std::vector<std::string> told;
  try {
    RunNcclRanks(3, {.timeout_seconds = 0}, [&](Communicator& comm, Context& ctx) {
      if (comm.rank() == 1) throw Error("no such table");
      try {
        comm.AllReduce(ctx, Ones(ctx, 3), ReduceOp::kSum, "dense gradients").Wait();
      } catch (const CommunicatorAborted& aborted) {
        const std::lock_guard lock(mutex);
        told.push_back(aborted.what());
        throw;
      }
    });
    FAIL() << "expected Error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "rank 1: no such table");
  }
  ASSERT_EQ(told.size(), 2u);
  EXPECT_THAT(told, Each(AllOf(HasSubstr("\"dense gradients\""),
                               HasSubstr("rank 1 aborted: no such table"))));
}

TEST(NcclCommunicatorTest, AbortEndsEveryGroupOfTheFamily) {
  const auto failures = Failures(4, {}, [](Communicator& comm, Context& ctx) {
    const auto half = comm.Split(comm.rank() % 2, comm.rank());
    if (comm.rank() == 3) {
      half->Abort("enough");
      EXPECT_THAT(comm.abort_reason(), HasSubstr("enough"));
    }
    half->AllReduce(ctx, Ones(ctx, 3), ReduceOp::kSum, "half").Wait();
    comm.AllReduce(ctx, Ones(ctx, 3), ReduceOp::kSum, "all").Wait();
  });
  EXPECT_THAT(failures, Each(HasSubstr("rank 1 aborted: enough")));
}

TEST(NcclCommunicatorTest, UnequalCountsAreNamedWhereCallsAreChecked) {
  const auto exchange = [](Communicator& comm, Context& ctx) {
    const int64_t sent = comm.rank() == 0 ? 5 : 4;
    comm.AllToAllV(ctx, {Ones(ctx, sent), Ones(ctx, sent)}, {sent, sent}, "output_dist of t0")
        .Wait();
  };
  const auto checked = Failures(2, {.check_calls = true}, exchange);
  EXPECT_THAT(checked[0], HasSubstr("AllToAllV \"output_dist of t0\" (call 0): rank 0 expected 5 "
                                    "elements of f32 from rank 1, which sent 4 elements of f32"));
  EXPECT_THAT(checked[1], HasSubstr("rank 1 expected 4 elements of f32 from rank 0"));
  const auto unchecked = Failures(2, {}, exchange);
  EXPECT_THAT(unchecked, Each(AllOf(HasSubstr("AllToAllV \"output_dist of t0\" (call 0)"),
                                    HasSubstr("NCCL reports: invalid usage"))));
}

TEST(NcclCommunicatorTest, DifferentCallsAreNamedWhereCallsAreChecked) {
  const auto failures = Failures(2, {.check_calls = true}, [](Communicator& comm, Context& ctx) {
    if (comm.rank() == 0)
      comm.AllReduce(ctx, Ones(ctx, 2), ReduceOp::kSum, "a").Wait();
    else
      comm.AllGather(ctx, Ones(ctx, 2), "b").Wait();
  });
  EXPECT_THAT(failures, Each(AllOf(HasSubstr("ranks made different calls"),
                                   HasSubstr("AllReduce sum \"a\" (call 0)"),
                                   HasSubstr("AllGather \"b\" (call 0)"))));
}

TEST(NcclCommunicatorTest, MessagesOfARankThatOnlySendsArrive) {
  RunNcclRanks(2, {}, [](Communicator& comm, Context& ctx) {
    if (comm.rank() == 0) {
      for (int i = 0; i < 3; ++i) comm.Send(ctx, Tensor::Full(ctx, {2}, i), 1, "numbers").Wait();
    } else {
      for (int i = 0; i < 3; ++i)
        EXPECT_EQ(comm.Receive(ctx, {2}, DType::kF32, 0, "numbers").Wait().ToVector<float>()[1], i);
    }
  });
}

TEST(NcclCommunicatorTest, ResultsNobodyWaitsForAreLetGo) {
  RunNcclRanks(2, {}, [](Communicator& comm, Context& ctx) {
    for (int i = 0; i < 3; ++i) comm.AllReduce(ctx, Ones(ctx, 1000), ReduceOp::kSum, "unread");
    comm.Receive(ctx, {0}, DType::kF32, 1 - comm.rank(), "nothing");
  });
}

// In a graph, the exchanges' own stream would be recorded with the caller's, and the watch would
// end the family over it.
TEST(NcclCommunicatorTest, NothingIsPartOfAGraph) {
  RunNcclRanks(2, {}, [](Communicator& comm, Context& ctx) {
    const Tensor ones = Ones(ctx, 3);
    const auto refuses = [&](const char* op, const std::function<void()>& call) {
      EXPECT_THAT([&] { CudaGraph::Capture(ctx, call); },
                  ThrowsMessage<Error>(AllOf(
                      HasSubstr(op), HasSubstr("\"x\": exchanges over NCCL cannot be part of a "
                                               "CUDA graph"))));
    };
    refuses("AllReduce sum", [&] { comm.AllReduce(ctx, ones, ReduceOp::kSum, "x"); });
    refuses("AllGather", [&] { comm.AllGather(ctx, ones, "x"); });
    refuses("AllToAllV", [&] { comm.AllToAllV(ctx, {ones, ones}, {3, 3}, "x"); });
    refuses("Barrier", [&] { comm.Barrier(ctx, "x"); });
    refuses("Send", [&] { comm.Send(ctx, ones, 1 - comm.rank(), "x"); });
    refuses("Receive", [&] { comm.Receive(ctx, {3}, DType::kF32, 1 - comm.rank(), "x"); });
    TwoSums(comm, ctx);
    const CudaGraph graph = CudaGraph::Capture(ctx, [&] { ones.Fill(ctx, 7); });
    graph.Launch(ctx);
    TwoSums(comm, ctx);
    EXPECT_EQ(comm.abort_reason(), "");
  });
}

// A thread that asks for an event of another device makes a context on its own.
TEST(NcclCommunicatorTest, TheWatchStaysOnItsDevice) {
  cuda_emulation::SetDeviceCount(2);
  const int64_t before = cuda_emulation::Stats().foreign_waits;
  RunNcclRanks(
      2, {},
      [](Communicator& comm, Context& ctx) {
        for (int i = 0; i < 5; ++i) TwoSums(comm, ctx);
      },
      Device::Cuda(1));
  EXPECT_EQ(cuda_emulation::Stats().foreign_waits, before);
}

TEST(NcclCommunicatorTest, ARankThatNeverJoinsEndsInATimeOut) {
  InjectNcclFault(testing::kFakeNcclNoInit, 1);
  EXPECT_THAT([] { RunNcclRanks(2, {.timeout_seconds = 0.3}, TwoSums); },
              ThrowsMessage<Error>(HasSubstr("ncclCommInitRank on cuda:0: no result after 0.3 s")));
}

// The abort comes after the call was checked, and before it is given to NCCL.
TEST(NcclCommunicatorTest, AnAbortedCommunicatorIsNotUsed) {
  static Communicator* aborting;
  const auto uses =
      testing::FakeNcclFunction<testing::FakeNcclUsesAfterAbort>(testing::kFakeNcclUsesAfterAbort);
  const int before = uses();
  const auto failures = Failures(1, {}, [](Communicator& comm, Context& ctx) {
    const Tensor ones = Ones(ctx, 3);
    aborting = &comm;
    testing::FakeNcclFunction<testing::FakeNcclAtGroupStart>(testing::kFakeNcclAtGroupStart)(
        [] { aborting->Abort("enough"); });
    comm.AllReduce(ctx, ones, ReduceOp::kSum, "losses").Wait();
  });
  EXPECT_THAT(failures, Each(HasSubstr("rank 0 aborted: enough")));
  EXPECT_EQ(uses(), before);
}

TEST(NcclCommunicatorTest, BytesSentAreCounted) {
  RunNcclRanks(4, {}, [](Communicator& comm, Context& ctx) {
    const auto bytes_of = [&](auto&& call) {
      const int64_t before = comm.bytes_sent();
      call().Wait();
      return comm.bytes_sent() - before;
    };
    const Tensor ones = Ones(ctx, 100);
    EXPECT_EQ(bytes_of([&] { return comm.AllGather(ctx, ones, "x"); }), 1200);
    EXPECT_EQ(bytes_of([&] { return comm.AllReduce(ctx, ones, ReduceOp::kMax, "x"); }), 600);
    EXPECT_EQ(bytes_of([&] { return comm.Broadcast(ctx, ones, 0, "x"); }),
              comm.rank() == 0 ? 1200 : 0);
  });
}

TEST(NcclCommunicatorTest, BadArgumentsAreRefused) {
  RunNcclRanks(2, {}, [](Communicator& comm, Context& ctx) {
    const auto refuses = [](const std::string& why, const std::function<void()>& call) {
      try {
        call();
        ADD_FAILURE() << "expected Error: " << why;
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr(why));
      }
    };
    Context host;
    refuses("cpu", [&] { comm.AllGather(ctx, Ones(host, 2), "host"); });
    refuses("not contiguous", [&] {
      comm.AllGather(ctx, Tensor::Zeros(ctx, {4, 4}).Narrow(1, 0, 2), "columns");
    });
    refuses("one block a rank", [&] { comm.ReduceScatter(ctx, Ones(ctx, 3), "three"); });
    refuses("there are 2 ranks", [&] { comm.Broadcast(ctx, Ones(ctx, 3), 2, "weights"); });
    refuses("names rank", [&] { comm.Send(ctx, Ones(ctx, 3), comm.rank(), "to itself"); });
  });
}

TEST(NcclCommunicatorTest, AContextOnTheHostIsRefused) {
  RunLocalRanks(1, [](Communicator& comm) {
    Context ctx;
    const std::shared_ptr<Communicator> host(&comm, [](Communicator*) {});
    try {
      MakeNcclCommunicator(ctx, host);
      ADD_FAILURE() << "expected Error";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(),
                  HasSubstr("NCCL exchanges tensors of GPUs, but rank 0 works on cpu"));
    }
  });
}

}  // namespace
}  // namespace tessera
