#include "planner/step_model/step_memory.h"

#include "planner/step_model/plan_routes.h"

namespace tessera {
namespace {

constexpr double kFloat = 4, kLength = 4, kWeight = 4;

// One rank's batch of a feature at a part: bags, ids, and the outputs of the part.
struct Part {
  double bags, ids, outputs, columns;
};

Part PartOf(const StepTable& table, const StepFeature& f, double share, double columns) {
  const double ids = f.ids * share;
  return {f.bags, ids, table.sequences ? ids : f.bags, columns};
}

double InputBytes(const StepLoad& load, const StepTable& table, const Part& p) {
  return p.ids * (static_cast<double>(load.id_bytes) + (table.weighted ? kWeight : 0)) +
         p.bags * kLength;
}

double EncodedElements(const StepLoad& load, const Part& p) {
  const auto n = static_cast<int64_t>(p.columns);
  double bytes = 0;
  for (const WireCodec& codec : {load.codecs.forward, load.codecs.backward})
    if (codec.type != WireType::kFp32) bytes += static_cast<double>(EncodedBytes(codec, n, n));
  return p.outputs * bytes;
}

double Workspace(const StepTable& table, double rows, const Part& p, double ranks) {
  constexpr double kMaxNarrow = 4294967296.0;  // 2^32
  const double id = (rows > kMaxNarrow ? 24 : 16) + (table.weighted ? 12 : 0);
  return ranks * (p.ids * id + p.bags * 12);
}

MemoryBytes Kept(const StepTable& table, double rows, double columns) {
  return {.rows = rows * columns * static_cast<double>(SizeOf(table.row_type)),
          .states = rows * KeptBesideRow(table, columns)};
}

// Rows that return by node: the shard's rank joins them by place, and each rank of its node holds
// what it received for its place in all nodes, and the sums.
void AddByNode(const StepTable& table, const Shard& shard, const ShardingPlan& plan,
               std::vector<MemoryBytes>& ranks) {
  const int local = plan.local_size, first = shard.rank / local * local;
  for (const StepFeature& f : table.features) {
    const double moved = f.bags * static_cast<double>(shard.columns) * kFloat;
    ranks[static_cast<size_t>(shard.rank)].rows_moved += plan.world_size * moved;
    for (int r = first; r < first + local; ++r)
      ranks[static_cast<size_t>(r)].rows_moved += 2 * moved * (plan.world_size / local);
  }
}

}  // namespace

MemoryBytes& MemoryBytes::operator+=(const MemoryBytes& other) {
  rows += other.rows;
  states += other.states;
  input += other.input;
  rows_moved += other.rows_moved;
  workspace += other.workspace;
  return *this;
}

ShardMemory MemoryOfShard(const MemorySettings& s, const StepTable& table, const Shard& shard) {
  const auto rows = static_cast<double>(shard.rows), columns = static_cast<double>(shard.columns);
  ShardMemory memory{Kept(table, rows, columns), {}};
  for (const StepFeature& f : table.features) {
    const double share =
        ShareOfRows(f.popularity, table.rows, shard.row_offset, shard.row_offset + shard.rows);
    const Part p = PartOf(table, f, share, columns);
    const double input = InputBytes(*s.load, table, p), moved = p.outputs * columns * kFloat;
    // The rows' rank holds the received messages and their sorted ids; the bags' rank holds the
    // message that it sent.
    memory.own.input += 2 * s.ranks * input * s.batches_in_flight;
    memory.everyone.input += input * s.batches_in_flight;
    // The rows' rank holds looked-up rows, then gradients in messages and put together. The bags'
    // rank holds received rows and the output that they join, then gradients of both.
    memory.own.rows_moved += s.ranks * (3 * moved + EncodedElements(*s.load, p));
    memory.everyone.rows_moved += 4 * moved + EncodedElements(*s.load, p);
    memory.own.workspace += Workspace(table, rows, p, s.ranks);
  }
  return memory;
}

MemoryBytes MemoryOfReplica(const MemorySettings& s, const StepTable& table) {
  const auto rows = static_cast<double>(table.rows), columns = static_cast<double>(table.dim);
  MemoryBytes memory = Kept(table, rows, columns);
  for (const StepFeature& f : table.features) {
    const Part p = PartOf(table, f, 1, columns);
    // All ranks' ids and gradients come before the update: as messages, and put together.
    memory.input += 3 * s.ranks * InputBytes(*s.load, table, p);
    memory.rows_moved += (3 + 2 * s.ranks) * p.outputs * columns * kFloat;
    memory.workspace += Workspace(table, rows, p, s.ranks);
  }
  return memory;
}

std::vector<MemoryBytes> MemoryOfPlan(const StepLoad& load, const ShardingPlan& plan,
                                      double batches_in_flight) {
  CheckPlan(plan, ShapesOf(load));
  const MemorySettings settings{&load, static_cast<double>(plan.world_size), batches_in_flight};
  const PlanRoutes routes(load, plan);
  std::vector<MemoryBytes> ranks(static_cast<size_t>(plan.world_size));
  MemoryBytes everyone;
  for (const StepTable& table : load.tables) {
    for (const StepFeature& f : table.features)
      everyone.input += InputBytes(load, table, PartOf(table, f, 1, 0)) * batches_in_flight;
    const TableSharding& sharding = plan.tables.at(table.name);
    if (sharding.type == ShardingType::kDataParallel) {
      everyone += MemoryOfReplica(settings, table);
      continue;
    }
    for (const Shard& shard : sharding.shards) {
      if (shard.rows == 0) continue;
      const ShardMemory memory = MemoryOfShard(settings, table, shard);
      ranks[static_cast<size_t>(shard.rank)] += memory.own;
      everyone += memory.everyone;
      if (routes.ByNode(table)) AddByNode(table, shard, plan, ranks);
    }
  }
  for (MemoryBytes& rank : ranks) rank += everyone;
  return ranks;
}

}  // namespace tessera
