#include "tests/comm/suite.h"

#include "tests/comm/suite_groups.h"
#include "tests/comm/suite_values.h"

namespace tessera::testing {
namespace {

template <typename T>
void AllToAllVOf(Communicator& comm, Context& ctx) {
  // The count is 0 for oneself and for some others.
  const auto count = [](int from, int to) { return (from * 5 + to * 3) % 4 * (from != to); };
  std::vector<Tensor> send;
  std::vector<int64_t> counts;
  for (int r = 0; r < comm.size(); ++r) {
    send.push_back(Make<T>(ctx, {count(comm.rank(), r)}, comm.rank(), r));
    counts.push_back(count(r, comm.rank()));
  }
  const std::vector<Tensor> received = comm.AllToAllV(ctx, send, counts, "uneven").Wait();
  ASSERT_EQ(static_cast<int>(received.size()), comm.size());
  for (int r = 0; r < comm.size(); ++r)
    EXPECT_EQ(Read<T>(ctx, received[static_cast<size_t>(r)]),
              Values<T>(r, count(r, comm.rank()), comm.rank()));
}

void AllToAllV(Communicator& comm, Context& ctx) {
  AllToAllVOf<float>(comm, ctx);
  AllToAllVOf<double>(comm, ctx);
  AllToAllVOf<int64_t>(comm, ctx);
  AllToAllVOf<int32_t>(comm, ctx);
  AllToAllVOf<int16_t>(comm, ctx);
  AllToAllVOf<uint8_t>(comm, ctx);
}

void AllToAllVOfViews(Communicator& comm, Context& ctx) {
  const int64_t n = 1000;
  const Tensor buffer = Make<float>(ctx, {n * comm.size()}, comm.rank());
  std::vector<Tensor> send;
  for (int r = 0; r < comm.size(); ++r) send.push_back(buffer.Narrow(0, r * n, n));
  const std::vector<int64_t> counts(send.size(), n);
  const auto received = comm.AllToAllV(ctx, send, counts, "views of one buffer").Wait();
  for (int r = 0; r < comm.size(); ++r) {
    const std::vector<float> all = Values<float>(r, n * comm.size());
    const auto begin = all.begin() + comm.rank() * n;
    EXPECT_EQ(Read<float>(ctx, received[static_cast<size_t>(r)]),
              std::vector<float>(begin, begin + n));
  }
}

void AllToAll(Communicator& comm, Context& ctx) {
  const int64_t n = comm.size();
  const Tensor received =
      comm.AllToAll(ctx, Make<int64_t>(ctx, {n, 2, 3}, comm.rank()), "blocks").Wait();
  EXPECT_EQ(received.shape(), (Shape{n, 2, 3}));
  std::vector<int64_t> expected;
  for (int r = 0; r < n; ++r)
    for (int64_t i = 0; i < 6; ++i) expected.push_back(ValueOf<int64_t>(r, comm.rank() * 6 + i));
  EXPECT_EQ(Read<int64_t>(ctx, received), expected);
}

void AllGather(Communicator& comm, Context& ctx) {
  const Tensor gathered =
      comm.AllGather(ctx, Make<float>(ctx, {3, 5}, comm.rank()), "of one shape").Wait();
  EXPECT_EQ(gathered.shape(), (Shape{comm.size(), 3, 5}));
  std::vector<float> expected;
  for (int r = 0; r < comm.size(); ++r) expected = Append(expected, Values<float>(r, 15));
  EXPECT_EQ(Read<float>(ctx, gathered), expected);
}

void AllGatherV(Communicator& comm, Context& ctx) {
  std::vector<int64_t> counts;
  for (int r = 0; r < comm.size(); ++r) counts.push_back(r % 3);  // rank 0 has none
  const int64_t mine = counts[static_cast<size_t>(comm.rank())];
  const Tensor gathered =
      comm.AllGatherV(ctx, Make<int32_t>(ctx, {mine, 4}, comm.rank()), counts, "rows").Wait();
  std::vector<int32_t> expected;
  for (int r = 0; r < comm.size(); ++r) expected = Append(expected, Values<int32_t>(r, r % 3 * 4));
  EXPECT_EQ(gathered.shape(), (Shape{static_cast<int64_t>(expected.size()) / 4, 4}));
  EXPECT_EQ(Read<int32_t>(ctx, gathered), expected);
}

template <typename T>
void ReduceScatterOf(Communicator& comm, Context& ctx) {
  const int64_t ranks = comm.size(), n = 700;
  const Tensor block =
      comm.ReduceScatter(ctx, Make<T>(ctx, {ranks, n}, comm.rank(), 1), "blocks").Wait();
  EXPECT_EQ(block.shape(), (Shape{n}));
  const std::vector<T> all = Reduced<T>(comm.size(), ranks * n, 1);
  const auto begin = all.begin() + comm.rank() * n;
  EXPECT_EQ(Read<T>(ctx, block), std::vector<T>(begin, begin + n));
}

void ReduceScatter(Communicator& comm, Context& ctx) {
  ReduceScatterOf<float>(comm, ctx);
  ReduceScatterOf<double>(comm, ctx);
  ReduceScatterOf<int32_t>(comm, ctx);
  ReduceScatterOf<int64_t>(comm, ctx);
}

void ReduceScatterV(Communicator& comm, Context& ctx) {
  std::vector<int64_t> counts;
  for (int r = 0; r < comm.size(); ++r) counts.push_back(r * 2 % 5);
  const int64_t rows = std::accumulate(counts.begin(), counts.end(), int64_t{0}), columns = 3;
  const Tensor mine =
      comm.ReduceScatterV(ctx, Make<float>(ctx, {rows, columns}, comm.rank()), counts, "rows")
          .Wait();
  const auto rank = static_cast<size_t>(comm.rank());
  EXPECT_EQ(mine.shape(), (Shape{counts[rank], columns}));
  const std::vector<float> all = Reduced<float>(comm.size(), rows * columns, 0);
  const auto begin =
      all.begin() +
      std::accumulate(counts.begin(), counts.begin() + comm.rank(), int64_t{0}) * columns;
  EXPECT_EQ(Read<float>(ctx, mine), std::vector<float>(begin, begin + counts[rank] * columns));
}

template <typename T>
void AllReduceOf(Communicator& comm, Context& ctx) {
  for (const int64_t n : {0, 1, 5, 2048, 5001})
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kMin}) {
      const int salt = static_cast<int>(n) + static_cast<int>(op);
      const Tensor sum =
          comm.AllReduce(ctx, Make<T>(ctx, {n, 1}, comm.rank(), salt), op, "sizes").Wait();
      EXPECT_EQ(sum.shape(), (Shape{n, 1}));
      EXPECT_EQ(Read<T>(ctx, sum), Reduced<T>(comm.size(), n, salt, op)) << n << ToString(op);
    }
}

void AllReduceFloat(Communicator& comm, Context& ctx) {
  AllReduceOf<float>(comm, ctx);
  AllReduceOf<double>(comm, ctx);
}
void AllReduceInteger(Communicator& comm, Context& ctx) {
  AllReduceOf<int32_t>(comm, ctx);
  AllReduceOf<int64_t>(comm, ctx);
}

// A gradient may be cleared as soon as its rank has the sum.
void AllReduceLeavesInput(Communicator& comm, Context& ctx) {
  for (const int64_t n : {10, 20000}) {
    std::vector<Tensor> sums;
    const Tensor gradient = Tensor::Empty(ctx, {n}, DType::kI32);
    for (int step = 0; step < 5; ++step) {
      gradient.CopyFrom(ctx, Make<int32_t>(ctx, {n}, comm.rank(), step));
      sums.push_back(comm.AllReduce(ctx, gradient, ReduceOp::kSum, "gradient").Wait());
      gradient.Fill(ctx, -1);
    }
    for (int step = 0; step < 5; ++step)
      EXPECT_EQ(Read<int32_t>(ctx, sums[static_cast<size_t>(step)]),
                Reduced<int32_t>(comm.size(), n, step));
  }
}

void Broadcast(Communicator& comm, Context& ctx) {
  for (int root = 0; root < comm.size(); ++root)
    for (const int64_t n : {0, 1, 9000}) {
      const Tensor mine = Make<double>(ctx, {n, 2}, comm.rank());
      const Tensor theirs = comm.Broadcast(ctx, mine, root, "weights").Wait();
      EXPECT_EQ(theirs.shape(), mine.shape());
      EXPECT_EQ(Read<double>(ctx, theirs), Values<double>(root, 2 * n));
    }
}

void Barrier(Communicator& comm, Context& ctx) {
  for (int i = 0; i < 20; ++i) comm.Barrier(ctx, "loop").Wait();
}

void SendReceive(Communicator& comm, Context& ctx) {
  if (comm.size() == 1) return;
  const int next = (comm.rank() + 1) % comm.size();
  const int previous = (comm.rank() + comm.size() - 1) % comm.size();
  std::vector<Awaitable<void>> sent;
  std::vector<Awaitable<Tensor>> received;
  for (int i = 0; i < 4; ++i) {
    const int64_t n = i * i * 700;
    sent.push_back(comm.Send(ctx, Make<float>(ctx, {n, 2}, comm.rank(), i), next, "ring"));
    received.push_back(comm.Receive(ctx, {n, 2}, DType::kF32, previous, "ring"));
  }
  for (int i = 3; i >= 0; --i)
    EXPECT_EQ(Read<float>(ctx, received[static_cast<size_t>(i)].Wait()),
              Values<float>(previous, i * i * 700 * 2, i));
  for (Awaitable<void>& s : sent) s.Wait();
}

// Calls of every kind are under way at once; every second rank waits for them in another order.
void Overlap(Communicator& comm, Context& ctx) {
  const int64_t n = 6000;
  std::vector<Awaitable<Tensor>> results;
  for (int i = 0; i < 4; ++i) {
    results.push_back(comm.AllReduce(ctx, Make<float>(ctx, {n}, comm.rank(), i), ReduceOp::kSum,
                                     "sum " + std::to_string(i)));
    results.push_back(comm.AllGather(ctx, Make<float>(ctx, {3}, comm.rank(), i), "gather"));
  }
  comm.GatherStringsSync("in between", "strings");
  std::vector<Tensor> tensors(results.size());
  for (size_t k = 0; k < results.size(); ++k) {
    const size_t i = comm.rank() % 2 ? results.size() - 1 - k : k;
    tensors[i] = results[i].Wait();
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Read<float>(ctx, tensors[static_cast<size_t>(2 * i)]),
              Reduced<float>(comm.size(), n, i));
    std::vector<float> gathered;
    for (int r = 0; r < comm.size(); ++r) gathered = Append(gathered, Values<float>(r, 3, i));
    EXPECT_EQ(Read<float>(ctx, tensors[static_cast<size_t>(2 * i + 1)]), gathered);
  }
}

void Composes(Communicator& comm, Context& ctx) {
  Awaitable<int> total =
      comm.AllReduce(ctx, Make(ctx, {1}, std::vector<int32_t>{comm.rank()}), ReduceOp::kSum,
                     "ranks")
          .Then([&ctx](const Tensor& sum) { return Read<int32_t>(ctx, sum)[0]; });
  EXPECT_EQ(total.Wait(), comm.size() * (comm.size() - 1) / 2);
}

}  // namespace

std::vector<CommCase> CommCases() {
  std::vector<CommCase> cases = {
      {"AllToAllV", AllToAllV},
      {"AllToAllVOfViews", AllToAllVOfViews},
      {"AllToAll", AllToAll},
      {"AllGather", AllGather},
      {"AllGatherV", AllGatherV},
      {"ReduceScatter", ReduceScatter, true},
      {"ReduceScatterV", ReduceScatterV, true},
      {"AllReduceFloat", AllReduceFloat, true},
      {"AllReduceInteger", AllReduceInteger},
      {"AllReduceLeavesInput", AllReduceLeavesInput},
      {"Broadcast", Broadcast},
      {"Barrier", Barrier},
      {"SendReceive", SendReceive},
      {"Overlap", Overlap, true},
      {"Composes", Composes},
  };
  for (const CommCase& of_groups : GroupCases()) cases.push_back(of_groups);
  return cases;
}

}  // namespace tessera::testing
