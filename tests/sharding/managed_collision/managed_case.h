#ifndef TESSERA_TESTS_SHARDING_MANAGED_COLLISION_MANAGED_CASE_H_
#define TESSERA_TESTS_SHARDING_MANAGED_COLLISION_MANAGED_CASE_H_
// Two tables over ranks, one of which reads raw ids; batches for them, and what all ranks have and
// got, put together.
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "embedding/managed_collision/growing_managed_collision_module.h"
#include "embedding/managed_collision/hash_zch_managed_collision_module.h"
#include "embedding/managed_collision/mch_managed_collision_module.h"
#include "sharding/managed_collision/sharded_managed_collision_modules.h"
#include "sharding/plan/plan_makers.h"
#include "sharding/table_checkpoint.h"
#include "tests/embedding/managed_collision/raw_ids.h"

namespace tessera::testing {

inline constexpr int64_t kRows = 48, kParts = 6, kBags = 12;
inline constexpr int kSteps = 12;

struct Kind {
  std::string name;
  MakePartModule make;
};

// Small modules, so that much is evicted; two of them draw random numbers.
inline std::vector<Kind> Kinds() {
  return {{"MCH",
           [](Context&, int64_t, int64_t rows) {
             return std::make_shared<MCHManagedCollisionModule>(
                 MchOptions{.zch_size = rows,
                            .eviction_policy = {.eviction = MchEviction::kDistanceLfu,
                                                .filter = ProbabilisticThresholdFilter(0.5)},
                            .eviction_interval = 2});
           }},
          {"HashZch",
           [](Context& ctx, int64_t, int64_t rows) {
             return std::make_shared<HashZchManagedCollisionModule>(
                 ctx, HashZchOptions{.zch_size = rows,
                                     .max_probe = 4,
                                     .eviction = HashZchEviction::kSingleTtl,
                                     .single_ttl = 2,
                                     .clock = HashZchClock::kForwards,
                                     .opt_in_prob = 70,
                                     .percent_reserved_slots = 25});
           }},
          {"Growing", [](Context&, int64_t, int64_t rows) {
             return std::make_shared<GrowingManagedCollisionModule>(
                 GrowingIndexOptions{.max_rows = rows - 1, .admit_after = 2});
           }}};
}

// Table t is managed and has two features; u is not.
template <typename Config>
std::vector<Config> Configs() {
  std::vector<Config> configs(2);
  configs[0].name = "t";
  configs[0].num_embeddings = kRows;
  configs[0].feature_names = {"a", "b"};
  configs[1].name = "u";
  configs[1].num_embeddings = 7;
  configs[1].feature_names = {"c"};
  for (Config& config : configs) {
    config.embedding_dim = 3;
    config.init_range = {-1.0f, 1.0f};
    config.optimizer = Adam{.lr = 0.125f};
  }
  return configs;
}

inline std::vector<ShardedManagedTable> Managed(const MakePartModule& make,
                                                int64_t parts = kParts) {
  return {{"t", parts, make}};
}

inline ShardingPlan PlanOf(int world, const TableSharder& of_t = RowWiseBuckets(kParts)) {
  const std::vector<TableShape> shapes = {{"t", kRows, 3}, {"u", 7, 3}};
  return MakeShardingPlan({.world_size = world, .local_size = world}, shapes,
                          {{"t", of_t}, {"u", TableWise(world - 1)}});
}

// All ranks' bags of one step, a key after another.
struct Batch {
  std::vector<std::vector<std::vector<int64_t>>> bags;  // [key][bag]

  explicit Batch(RawIds& random, int step) {
    for (int key = 0; key < 3; ++key) {
      bags.emplace_back();
      for (int64_t b = 0; b < kBags; ++b) {
        bags.back().push_back(random.Batch(1, 4, step * 3)[0]);
        if (key == 2)
          for (int64_t& id : bags.back().back()) id = random.Below(7);
      }
    }
  }

  // Bags [begin, end) of each key.
  KeyedJaggedTensor Part(Context& ctx, int64_t begin, int64_t end) const {
    std::vector<int64_t> ids, lengths;
    for (const auto& of_key : bags)
      for (int64_t b = begin; b < end; ++b) {
        const std::vector<int64_t>& bag = of_key[static_cast<size_t>(b)];
        ids.insert(ids.end(), bag.begin(), bag.end());
        lengths.push_back(static_cast<int64_t>(bag.size()));
      }
    return KeyedJaggedTensor::FromLengthsSync({"a", "b", "c"}, Tensor::From(ctx, ids),
                                              Tensor::From(ctx, lengths));
  }
  KeyedJaggedTensor OfRank(Context& ctx, int rank, int world) const {
    return Part(ctx, kBags * rank / world, kBags * (rank + 1) / world);
  }
};

// State and results of all ranks, put together; every entry the same for any number of ranks.
class Gathered {
 public:
  // Rows of a feature of a rank's bags in a step.
  void AddOutput(int step, const std::string& what, int rank, const Tensor& values) {
    const std::lock_guard lock(mutex_);
    outputs_[Format("step {} {}", step, what)][rank] = values.ToHost();
  }
  void AddState(Context& ctx, ShardedTables& tables, ShardedManagedCollisionModules& modules) {
    const std::vector<NamedTensor> states = modules.StateDict(ctx);
    const std::vector<ShardTensors> shards = ShardTensorsOf(tables);
    const std::lock_guard lock(mutex_);
    for (const NamedTensor& t : states) all[t.name] = BytesOf(t.tensor);
    for (const ShardTensors& s : shards) {
      AddRows(s.table + ".weight", s.shard, s.weights);
      for (const OptimizerState& state : s.states)
        AddRows(s.table + "." + state.name, s.shard, state.tensor);
    }
  }
  std::map<std::string, std::string> Finish() {
    for (const auto& [name, ranks] : outputs_)
      for (const auto& [rank, values] : ranks) all[name] += BytesOf(values);
    return all;
  }

 private:
  static std::string BytesOf(const Tensor& tensor) {
    const Tensor host = tensor.ToHost();
    return {static_cast<const char*>(host.raw_data()),
            static_cast<size_t>(host.numel() * SizeOf(host.dtype()))};
  }
  void AddRows(const std::string& name, const Shard& shard, const Tensor& rows) {
    for (int64_t r = 0; r < shard.rows; ++r)
      all[Format("{} row {}", name, shard.row_offset + r)] = BytesOf(rows.Rows(r, r + 1));
  }

  std::mutex mutex_;
  std::map<std::string, std::map<int, Tensor>> outputs_;
  std::map<std::string, std::string> all;
};

inline void ExpectSame(const std::map<std::string, std::string>& got,
                       const std::map<std::string, std::string>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [name, bytes] : expected) {
    const auto found = got.find(name);
    ASSERT_TRUE(found != got.end()) << name;
    ASSERT_EQ(found->second == bytes, true) << name;
  }
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_SHARDING_MANAGED_COLLISION_MANAGED_CASE_H_
