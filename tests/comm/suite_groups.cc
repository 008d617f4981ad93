#include "tests/comm/suite_groups.h"

#include <algorithm>

#include "comm/leader.h"
#include "tests/comm/suite_values.h"

namespace tessera::testing {
namespace {

int32_t SumOf(Communicator& comm, Context& ctx, int32_t value) {
  const Tensor mine = Make(ctx, {1}, std::vector<int32_t>{value});
  return Read<int32_t>(ctx, comm.AllReduce(ctx, mine, ReduceOp::kSum, "value").Wait())[0];
}

// Splits off the even and the odd ranks, in the opposite order; then all but the first of those.
void Split(Communicator& comm, Context& ctx) {
  const int color = comm.rank() % 2;
  const auto half = comm.Split(color, -comm.rank());
  ASSERT_NE(half, nullptr);
  EXPECT_EQ(half->backend(), comm.backend());
  EXPECT_EQ(half->size(), (comm.size() + 1 - color) / 2);
  EXPECT_EQ(half->rank(), (comm.size() - 1 - comm.rank()) / 2);
  int32_t expected = 0;
  for (int r = color; r < comm.size(); r += 2) expected += r;
  EXPECT_EQ(SumOf(*half, ctx, comm.rank()), expected);

  const auto rest = half->Split(half->rank() == 0 ? -1 : 5, half->rank());
  EXPECT_EQ(rest == nullptr, half->rank() == 0);
  if (rest) {
    EXPECT_EQ(rest->size(), half->size() - 1);
    EXPECT_EQ(rest->rank(), half->rank() - 1);
    EXPECT_EQ(SumOf(*rest, ctx, 1), rest->size());
  }
  EXPECT_EQ(SumOf(comm, ctx, 1), comm.size());
}

void SplitNodes(Communicator& comm, Context& ctx) {
  if (comm.size() % 2 != 0) {
    EXPECT_EQ(comm.SplitLocal(1)->size(), 1);
    return;
  }
  const auto local = comm.SplitLocal(2), cross = comm.SplitCrossNode(2);
  EXPECT_EQ(local->size(), 2);
  EXPECT_EQ(cross->size(), comm.size() / 2);
  const int first = comm.rank() / 2 * 2;
  EXPECT_EQ(SumOf(*local, ctx, comm.rank()), 2 * first + 1);
  EXPECT_EQ(local->rank(), comm.rank() % 2);
  EXPECT_EQ(cross->rank(), comm.rank() / 2);
  int32_t expected = 0;
  for (int r = comm.rank() % 2; r < comm.size(); r += 2) expected += r;
  EXPECT_EQ(SumOf(*cross, ctx, comm.rank()), expected);
}

void HostThings(Communicator& comm, Context&) {
  const auto text_of = [](int rank) { return std::string(static_cast<size_t>(rank * 4000), 'x'); };
  const std::vector<std::string> texts = comm.GatherStringsSync(text_of(comm.rank()), "texts");
  for (int r = 0; r < comm.size(); ++r) EXPECT_EQ(texts[static_cast<size_t>(r)], text_of(r));
  const auto numbers_of = [](int from, int to) {
    return std::vector<int64_t>(static_cast<size_t>(from * to % 3), from * 100 + to);
  };
  std::vector<std::vector<int64_t>> send;
  for (int r = 0; r < comm.size(); ++r) send.push_back(numbers_of(comm.rank(), r));
  const auto received = comm.ExchangeNumbersSync(send, "numbers");
  for (int r = 0; r < comm.size(); ++r)
    EXPECT_EQ(received[static_cast<size_t>(r)], numbers_of(r, comm.rank()));
}

void CountsBytes(Communicator& comm, Context& ctx) {
  const int64_t others = comm.size() - 1, before = comm.bytes_sent();
  comm.AllToAll(ctx, Make<int64_t>(ctx, {comm.size(), 5}, comm.rank()), "payload").Wait();
  EXPECT_EQ(comm.bytes_sent() - before, others * 40);
}

void Leaders(Communicator& comm, Context&) {
  const int last = comm.size() - 1;
  EXPECT_EQ(IsLeader(comm), comm.rank() == 0);
  const auto number = [&] { return 10.0 * comm.rank() + 1; };
  EXPECT_EQ(InvokeOnRankAndBroadcastResult(comm, last, "number", number), 10.0 * last + 1);
  const auto text = [&] { return "from " + std::to_string(comm.rank()); };
  EXPECT_EQ(InvokeOnRankAndBroadcastResult(comm, 0, "text", text), "from 0");
  const auto fail = [&]() -> std::string { throw Error("no such file"); };
  try {
    InvokeOnRankAndBroadcastResult(comm, last, "reading the plan", fail);
    ADD_FAILURE() << "expected Error";
  } catch (const Error& error) {
    const std::string expected =
        "reading the plan on rank " + std::to_string(last) + ": no such file";
    EXPECT_EQ(error.what(), expected);
  }
}

void SameOnAll(Communicator& comm, Context&) {
  CheckSameOnAllRanks(comm, "build", "1.0");
  CheckSameOnAllRanks(comm, "plan", std::string(100000, 'p'));
  if (comm.size() == 1) return;
  try {
    CheckSameOnAllRanks(comm, "build", comm.rank() == comm.size() - 1 ? "1.1" : "1.0");
    ADD_FAILURE() << "expected Error";
  } catch (const Error& error) {
    const std::string last = std::to_string(comm.size() - 1);
    EXPECT_NE(std::string(error.what())
                  .find("build: not the same on all ranks: rank 0 has \"1.0\", rank " + last +
                        " has \"1.1\""),
              std::string::npos)
        << error.what();
  }
  const std::string long_text(200, 's');
  try {
    CheckSameOnAllRanks(comm, "settings",
                        long_text + "\nlr " + std::to_string(std::min(comm.rank(), 1)) + "\nend");
    ADD_FAILURE() << "expected Error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("rank 0 has \"lr 0\", rank 1 has \"lr 1\""),
              std::string::npos)
        << error.what();
  }
}

}  // namespace

std::vector<CommCase> GroupCases() {
  return {
      {"Split", Split},           {"SplitNodes", SplitNodes},
      {"HostThings", HostThings}, {"CountsBytes", CountsBytes},
      {"Leaders", Leaders},       {"SameOnAll", SameOnAll},
  };
}

}  // namespace tessera::testing
