// A sharded training step over ranks of several nodes, whose rows return directly or by node
// (sharding/exchange/node_exchange.h): time, and bytes that travel between nodes and inside them.
//
//   bazel run -c opt //bench/sharding:node_bench -- --nodes 2 --local 4 [--json OUT]
//
// Ranks are threads of one process; a node's link to other nodes has the given speed, of which each
// of its ranks has its share (comm/slow_communicator.h). Table i lies on node i (table_row_wise),
// or half of its columns lie on it and half on the next node (grid_shard). Warm caches; both routes
// in turn.
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/harness/bench_main.h"
#include "bench/harness/cold_rounds.h"
#include "bench/sharding/step_tables.h"
#include "comm/local_communicator.h"
#include "comm/slow_communicator.h"
#include "runtime/flags/flags.h"
#include "runtime/tensor.h"
#include "sharding/plan/plan_makers.h"
#include "sharding/sharded_tables.h"

namespace tessera::bench {
namespace {

using Json = nlohmann::json;

struct Flags {
  int nodes = 2, local = 2, rounds = 15;
  StepShape shape = {.rows = 20'000, .batch = 256};
  double gbits = 1, latency_us = 100;
  std::string json;
  int world() const { return nodes * local; }
};

ShardingPlan PlanOf(const Flags& f, bool grid) {
  const std::vector<BaseEmbeddingConfig> configs = Configs(f.shape);
  std::map<std::string, TableSharder> sharders;
  for (size_t t = 0; t < configs.size(); ++t) {
    const int node = static_cast<int>(t) % f.nodes, next = (node + 1) % f.nodes;
    sharders[configs[t].name] =
        grid ? GridShard({node, next}, f.shape.dim / 2) : TableRowWise(node);
  }
  return MakeShardingPlan({.world_size = f.world(), .local_size = f.local}, ShapesOf(configs),
                          sharders);
}

struct Measured {
  Timing timing;
  int64_t between = 0, inside = 0;  // bytes of one step of all ranks, with its ids
};

// A rank's tables behind its links, and the traffic of all ranks.
class Rank {
 public:
  Rank(Context& ctx, Communicator& local, const Flags& f, bool grid, OutputRoute route,
       LinkTraffic& traffic)
      : ctx_(ctx),
        comm_(MakeSlowCommunicator(
            local.Split(0, local.rank()),
            SlowNodes{.local_size = f.local,
                      .between = {f.latency_us * 1e-6, f.gbits * 1e9 / 8 / f.local},
                      .traffic = &traffic})),
        grad_(Tensor::Full(ctx, {f.shape.batch, f.shape.tables * f.shape.dim}, 1e-3)) {
    const std::vector<BaseEmbeddingConfig> configs = Configs(f.shape);
    tables_ = std::make_unique<ShardedTables>(
        ctx, *comm_, configs, std::vector<PoolingType>(configs.size(), PoolingType::kSum),
        FeaturesOf(f.shape), PlanOf(f, grid), ShardedTablesOptions{.sharding = {.route = route}});
  }
  void Step(const KeyedJaggedTensor& kjt) {
    Tape tape(ctx_);
    const std::vector<Variable> out = tables_->Forward(ctx_, kjt);
    tape.Backward(out[0], grad_);
  }

 private:
  Context& ctx_;
  std::unique_ptr<Communicator> comm_;
  Tensor grad_;
  std::unique_ptr<ShardedTables> tables_;
};

// Direct, then by node.
std::vector<Measured> Measure(const Flags& f, bool grid) {
  std::vector<Measured> measured = {{{"direct", {}}, 0, 0}, {{"by node", {}}, 0, 0}};
  LinkTraffic traffic[2];
  RunLocalRanks(f.world(), [&](Communicator& comm) {
    Context ctx({.threads = 1, .seed = 3});
    Rank direct(ctx, comm, f, grid, OutputRoute::kDirect, traffic[0]);
    Rank by_node(ctx, comm, f, grid, OutputRoute::kByNode, traffic[1]);
    const KeyedJaggedTensor kjt =
        Draw(ctx, f.shape, f.shape.batch, static_cast<unsigned>(comm.rank()));
    for (int r = -1; r < f.rounds; ++r)
      for (const int i : {0, 1}) {
        comm.Barrier(ctx, "step").Wait();
        const int64_t between = traffic[i].between, inside = traffic[i].inside;
        comm.Barrier(ctx, "bytes are known").Wait();
        const double seconds = SecondsOf([&] {
          (i == 0 ? direct : by_node).Step(kjt);
          comm.Barrier(ctx, "step is done").Wait();
        });
        if (r < 0 || comm.rank() != 0) continue;
        Measured& m = measured[static_cast<size_t>(i)];
        m.timing.seconds.push_back(seconds);
        m.between = traffic[i].between - between;
        m.inside = traffic[i].inside - inside;
      }
  });
  return measured;
}

Json Report(const Flags& f, bool grid) {
  const std::vector<Measured> measured = Measure(f, grid);
  const char* type = grid ? "grid_shard" : "table_row_wise";
  Json rows = Json::array();
  for (const Measured& m : measured) {
    const double faster = Share(measured[0].timing, m.timing);
    std::printf("%-15s %-8s %8.2f ms  %8.2f MB between nodes  %8.2f MB inside  %5.2f x\n", type,
                m.timing.name.c_str(), m.timing.Median() * 1e3,
                static_cast<double>(m.between) / 1e6, static_cast<double>(m.inside) / 1e6, faster);
    rows.push_back({{"sharding", type},
                    {"route", m.timing.name},
                    {"seconds", m.timing.Median()},
                    {"bytes_between_nodes", m.between},
                    {"bytes_inside_nodes", m.inside},
                    {"speed_of_direct", faster}});
  }
  return rows;
}

int Main(int argc, char** argv) {
  internal::ProgramFlags flags("A sharded step whose rows return directly or by node");
  Flags f;
  flags.Add("--nodes", f.nodes, "Nodes").Within(internal::NumbersFrom(1, 16));
  flags.Add("--local", f.local, "Ranks of a node").Within(internal::NumbersFrom(1, 16));
  flags.Add("--tables", f.shape.tables, "Tables").Within(internal::NumbersFrom(1));
  flags.Add("--rows", f.shape.rows, "Rows of each").Within(internal::NumbersFrom(1));
  flags.Add("--dim", f.shape.dim, "Columns of each").Within(internal::NumbersFrom(1));
  flags.Add("--batch", f.shape.batch, "Bags a rank and table").Within(internal::NumbersFrom(1));
  flags.Add("--ids", f.shape.ids, "Ids a bag").Within(internal::NumbersFrom(1));
  flags.Add("--gbits", f.gbits, "A node's link to the others, in Gbit/s")
      .Within(internal::NumbersFrom(1e-6));
  flags.Add("--latency-us", f.latency_us, "Its latency in microseconds")
      .Within(internal::NumbersFrom(0.0));
  flags.Add("--rounds", f.rounds, "Steps that are timed").Within(internal::NumbersFrom(1));
  flags.Add("--json", f.json, "File to write");
  if (!flags.Parse(argc, argv)) return 0;
  std::printf("%s; %d nodes of %d ranks, %g Gbit/s and %g us between them\n", MachineName().c_str(),
              f.nodes, f.local, f.gbits, f.latency_us);
  Json rows = Json::array();
  for (const bool grid : {false, true})
    for (Json& row : Report(f, grid)) rows.push_back(std::move(row));
  if (!f.json.empty()) std::ofstream(f.json) << rows.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::BenchMain("node_bench", tessera::bench::Main, argc, argv);
}
