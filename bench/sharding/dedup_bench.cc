// Bytes that a training step of sequences sends with and without dedup_ids, on bags from a file:
// one line a bag, ids apart by blanks; the first may be the user's and is then left out. Over nodes
// of several ranks (--ranks-per-node) it prints the bytes between nodes, too, also those of ids
// that travel once a node.
//
//   zcat amazon_book_bags.txt.gz | bazel run -c opt //bench/sharding:dedup_bench -- --skip-first
//
// One table, row-wise over ranks that are threads of one process.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <sstream>

#include "bench/harness/bench_main.h"
#include "comm/local_communicator.h"
#include "comm/slow_communicator.h"
#include "runtime/flags/flags.h"
#include "runtime/tensor.h"
#include "sharding/plan/plan_makers.h"
#include "sharding/sharded_tables.h"

namespace tessera::bench {
namespace {

using Bags = std::vector<std::vector<int64_t>>;

Bags ReadBags(std::istream& in, bool skip_first) {
  Bags bags;
  for (std::string line; std::getline(in, line);) {
    std::istringstream numbers(line);
    bags.emplace_back();
    bool first = skip_first;
    for (int64_t id; numbers >> id; first = false)
      if (!first) bags.back().push_back(id);
  }
  return bags;
}

// `batch` bags from number `first` on, around the end.
KeyedJaggedTensor BatchOf(Context& ctx, const Bags& bags, size_t first, int64_t batch) {
  std::vector<int64_t> ids, lengths;
  for (int64_t b = 0; b < batch; ++b) {
    const auto& bag = bags[(first + static_cast<size_t>(b)) % bags.size()];
    lengths.push_back(static_cast<int64_t>(bag.size()));
    ids.insert(ids.end(), bag.begin(), bag.end());
  }
  return KeyedJaggedTensor::FromLengthsSync({"item"}, Tensor::From(ctx, ids),
                                            Tensor::From(ctx, lengths));
}

struct Shape {
  int ranks = 4, ranks_per_node = 0;  // 0: all in one
  int64_t batch = 2048, dim = 64, steps = 4;
};

// The bytes that all ranks send in one step, and those of them that leave a node.
struct Bytes {
  int64_t all = 0, between = 0;
};

Bytes BytesOf(const Shape& s, const Bags& bags, int64_t rows, IdDedup dedup) {
  std::vector<int64_t> bytes(static_cast<size_t>(s.ranks));
  const int local_size = s.ranks_per_node > 0 ? s.ranks_per_node : s.ranks;
  LinkTraffic before, traffic;
  RunLocalRanks(s.ranks, [&](Communicator& local) {
    const auto counted = MakeSlowCommunicator(
        local.Split(0, local.rank()), SlowNodes{.local_size = local_size, .traffic = &traffic});
    Communicator& comm = *counted;
    Context ctx({.threads = 1});
    BaseEmbeddingConfig config;
    config.name = "items";
    config.num_embeddings = rows;
    config.embedding_dim = s.dim;
    config.feature_names = {"item"};
    config.optimizer = Sgd{.lr = 0.01f};
    const TableShape shape{config.name, rows, s.dim};
    const ShardingPlan plan =
        MakeShardingPlan({.world_size = s.ranks, .local_size = local_size}, {&shape, 1}, RowWise());
    ShardedTables tables(ctx, comm, {config}, {PoolingType::kNone}, {{"item", 0, "item"}}, plan,
                         {.sharding = {.dedup_ids = dedup}});
    local.Barrier(ctx, "tables are made").Wait();
    if (IsLeader(local)) before.between = traffic.between.load();
    local.Barrier(ctx, "bytes are read").Wait();
    const int64_t sent = comm.bytes_sent();
    for (int64_t step = 0; step < s.steps; ++step) {
      const int64_t first = (step * s.ranks + comm.rank()) * s.batch;
      Tape tape(ctx);
      const Variable out =
          tables.Forward(ctx, BatchOf(ctx, bags, static_cast<size_t>(first), s.batch))[0];
      tape.Backward(out, Tensor::Full(ctx, out.shape(), 1));
    }
    bytes[static_cast<size_t>(comm.rank())] = comm.bytes_sent() - sent;
  });
  return {std::accumulate(bytes.begin(), bytes.end(), int64_t{0}) / s.steps,
          (traffic.between - before.between) / s.steps};
}

void PrintBetween(const Shape& s, const Bags& bags, int64_t rows, const Bytes& plain,
                  const Bytes& distinct) {
  const Bytes of_nodes = BytesOf(s, bags, rows, IdDedup::kNode);
  std::printf(
      "between nodes of %d ranks: %lld as they are, %lld once a rank, %lld once a node: "
      "%.1f %% of those of ranks saved\n",
      s.ranks_per_node, static_cast<long long>(plain.between),
      static_cast<long long>(distinct.between), static_cast<long long>(of_nodes.between),
      100 * (1 - static_cast<double>(of_nodes.between) / static_cast<double>(distinct.between)));
}

int Main(int argc, char** argv) {
  internal::ProgramFlags flags("Bytes that dedup_ids saves");
  Shape shape;
  bool skip_first = false;
  flags.Add("--ranks", shape.ranks, "Ranks").Within(internal::NumbersFrom(2, 64));
  flags
      .Add("--ranks-per-node", shape.ranks_per_node,
           "Ranks of a node, which divide --ranks; bytes between nodes are printed")
      .Within(internal::NumbersFrom(1, 32));
  flags.Add("--batch", shape.batch, "Bags a rank").Within(internal::NumbersFrom(1));
  flags.Add("--dim", shape.dim, "Columns of the table").Within(internal::NumbersFrom(1));
  flags.Add("--steps", shape.steps, "Steps").Within(internal::NumbersFrom(1));
  flags.Add("--skip-first", skip_first, "A line's first number is no id");
  if (!flags.Parse(argc, argv)) return 0;
  const Bags bags = ReadBags(std::cin, skip_first);
  int64_t rows = 0, ids = 0;
  for (const auto& bag : bags) {
    ids += static_cast<int64_t>(bag.size());
    for (const int64_t id : bag) rows = std::max(rows, id + 1);
  }
  if (ids == 0) {
    std::fprintf(stderr, "no ids on the standard input\n");
    return 1;
  }
  const Bytes plain = BytesOf(shape, bags, rows, IdDedup::kNone),
              distinct = BytesOf(shape, bags, rows, IdDedup::kRank);
  std::printf("%zu bags, %lld ids, %lld rows; %d ranks of %lld bags, dim %lld\n", bags.size(),
              static_cast<long long>(ids), static_cast<long long>(rows), shape.ranks,
              static_cast<long long>(shape.batch), static_cast<long long>(shape.dim));
  std::printf("bytes a step: %lld as they are, %lld with dedup_ids: %.1f %% saved\n",
              static_cast<long long>(plain.all), static_cast<long long>(distinct.all),
              100 * (1 - static_cast<double>(distinct.all) / static_cast<double>(plain.all)));
  if (shape.ranks_per_node > 0) PrintBetween(shape, bags, rows, plain, distinct);
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::BenchMain("dedup_bench", tessera::bench::Main, argc, argv);
}
