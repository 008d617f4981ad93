#include "tests/comm/suite.h"

#include <algorithm>
#include <numeric>

#include "comm/leader.h"

namespace tessera::testing {
namespace {

// Value i of rank `rank` under `salt`: of many magnitudes, so that the order of a sum shows, and
// small for integers.
template <typename T>
T ValueOf(int rank, int64_t i, int salt = 0) {
  const auto mix =
      static_cast<uint64_t>(rank * 7919 + salt * 104729 + i * 31 + 17) * 0x9e3779b97f4a7c15u;
  const auto bits = static_cast<int64_t>(mix >> 40);
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(bits - (1 << 23)) / static_cast<T>(int64_t{1} << (mix % 30));
  else
    return static_cast<T>(bits % 100);
}

template <typename T>
std::vector<T> Values(int rank, int64_t n, int salt = 0) {
  std::vector<T> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(ValueOf<T>(rank, i, salt));
  return values;
}

// Reads values; on a GPU they are there only when the stream has come so far.
template <typename T>
Tensor Make(Context& ctx, const Shape& shape, const std::vector<T>& values) {
  return Tensor::From(ctx, shape, values).Clone(ctx);
}
template <typename T>
Tensor Make(Context& ctx, const Shape& shape, int rank, int salt = 0) {
  return Make(ctx, shape, Values<T>(rank, shape.numel(), salt));
}

template <typename T>
std::vector<T> Append(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The result of an all-reduce of Values.
template <typename T>
std::vector<T> Reduced(int ranks, int64_t n, int salt, ReduceOp op = ReduceOp::kSum) {
  std::vector<T> result = Values<T>(0, n, salt);
  for (int r = 1; r < ranks; ++r)
    for (int64_t i = 0; i < n; ++i) {
      T& a = result[static_cast<size_t>(i)];
      const T b = ValueOf<T>(r, i, salt);
      a = op == ReduceOp::kSum ? a + b : op == ReduceOp::kMax ? std::max(a, b) : std::min(a, b);
    }
  return result;
}

// The host's copy of a result, made on the context's stream.
template <typename T>
std::vector<T> Read(Context& ctx, const Tensor& t) {
  return t.To(ctx, Device::Cpu()).ToVector<T>();
}

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
}

}  // namespace

std::vector<CommCase> CommCases() {
  return {
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
      {"Split", Split},
      {"SplitNodes", SplitNodes},
      {"HostThings", HostThings},
      {"CountsBytes", CountsBytes},
      {"Leaders", Leaders},
      {"SameOnAll", SameOnAll},
  };
}

}  // namespace tessera::testing
