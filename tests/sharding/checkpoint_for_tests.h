#ifndef TESSERA_TESTS_SHARDING_CHECKPOINT_FOR_TESTS_H_
#define TESSERA_TESTS_SHARDING_CHECKPOINT_FOR_TESTS_H_
// Small models that are saved and loaded without any collection: whole tables, cut by plans.
#include <gtest/gtest.h>

#include <filesystem>

#include "comm/local_communicator.h"
#include "sharding/checkpoint/save_checkpoint.h"
#include "sharding/plan/plan_makers.h"

namespace tessera::testing {

// A whole table with an element state and a number a row.
inline ShardTensors WholeTable(Context& ctx, const TableShape& shape, int seed,
                               DType dtype = DType::kF32) {
  const auto numbers = [&](const Shape& of, int salt, DType type) {
    std::vector<float> values;
    for (int64_t i = 0; i < of.numel(); ++i)
      values.push_back(static_cast<float>((i * 37 + seed * 11 + salt) % 101) - 50.25f);
    return Tensor::From(ctx, of, values).To(ctx, type);
  };
  const Shape all{shape.rows, shape.dim};
  return {shape.name,
          {0, 0, 0, shape.rows, shape.dim},
          numbers(all, 1, dtype),
          {{"exp_avg", numbers(all, 2, DType::kF32)},
           {"momentum1", numbers({shape.rows}, 3, DType::kF32)}}};
}

inline Tensor CutOf(Context& ctx, const Tensor& whole, const Shard& s) {
  const Tensor rows = whole.Narrow(0, s.row_offset, s.rows);
  return (whole.rank() == 1 ? rows : rows.Narrow(1, s.column_offset, s.columns)).Clone(ctx);
}

// Returns the part of `whole` that a rank with `shard` has.
inline ShardTensors Cut(Context& ctx, const ShardTensors& whole, const Shard& shard) {
  ShardTensors part{whole.table, shard, CutOf(ctx, whole.weights, shard), {}};
  for (const OptimizerState& state : whole.states)
    part.states.push_back({state.name, CutOf(ctx, state.tensor, shard)});
  return part;
}

// Room for the same, filled with something else.
inline ShardTensors RoomFor(Context& ctx, const ShardTensors& whole, const Shard& shard) {
  ShardTensors part = Cut(ctx, whole, shard);
  part.weights.Fill(ctx, -1);
  for (const OptimizerState& state : part.states) state.tensor.Fill(ctx, -1);
  return part;
}

inline bool SameShard(const ShardTensors& a, const ShardTensors& b) {
  bool same = SameBits(a.weights, b.weights) && a.states.size() == b.states.size();
  for (size_t i = 0; same && i < a.states.size(); ++i)
    same = a.states[i].name == b.states[i].name && SameBits(a.states[i].tensor, b.states[i].tensor);
  return same;
}

using Model = std::vector<ShardTensors>;  // whole tables

inline std::vector<TableShape> ShapesOf(const Model& model) {
  std::vector<TableShape> shapes;
  for (const ShardTensors& t : model) shapes.push_back({t.table, t.shard.rows, t.shard.columns});
  return shapes;
}

inline CheckpointInfo InfoOf(const Model& model, const ShardingPlan& plan) {
  CheckpointInfo info{.plan = plan, .tables = {}, .metadata = {{"config", "{\"a\": 1}"}}};
  for (const TableShape& shape : ShapesOf(model))
    info.tables.push_back({shape, "bags." + shape.name + ".weight", "adam", 17, 2.5f});
  return info;
}

// All shards of a rank.
inline std::vector<ShardTensors> ShardsOf(Context& ctx, const Model& model,
                                          const ShardingPlan& plan, int rank) {
  std::vector<ShardTensors> shards;
  for (const ShardTensors& table : model)
    for (const Shard& shard : plan.tables.at(table.table).shards)
      if (shard.rank == rank) shards.push_back(Cut(ctx, table, shard));
  return shards;
}

// Saved by ranks that are threads; each has a context of its own on ctx's device.
inline void SaveModel(Context& ctx, const std::string& folder, const Model& model,
                      const ShardingPlan& plan, const std::vector<NamedTensor>& whole = {}) {
  ctx.Sync();
  RunLocalRanks(plan.world_size, [&](Communicator& comm) {
    Context own({.device = ctx.device(), .threads = 1});
    SaveShardedCheckpoint(own, comm, folder, InfoOf(model, plan),
                          ShardsOf(own, model, plan, comm.rank()), whole);
  });
}

// An empty folder of the test's own.
inline std::string EmptyFolder(const std::string& name) {
  const std::string folder = ::testing::TempDir() + "/" + name;
  std::filesystem::remove_all(folder);
  return folder;
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_SHARDING_CHECKPOINT_FOR_TESTS_H_
