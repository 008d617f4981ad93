// Random topologies, constraints, options of the planner and rules: a sound plan or a clear error,
// never a crash or a hang. Runs a seeded tenth of 10,000 cases, or all of them where
// TESSERA_TEST_ALL is set.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "planner/explain.h"
#include "planner/model/model_json.h"
#include "planner/model/planner_error.h"
#include "planner/model/topology_json.h"
#include "planner/stats.h"
#include "tests/planner/small_model.h"

namespace tessera {
namespace {

constexpr int kCases = 10'000;

class Fuzzer {
 public:
  explicit Fuzzer(uint32_t seed) : random_(seed) {}

  Topology MakeTopology() {
    Topology t;
    t.compute_device = Pick(
        {ComputeDevice::kCuda, ComputeDevice::kCuda, ComputeDevice::kCpu, ComputeDevice::kMtia});
    t.local_world_size = Pick({1, 2, 3, 4, 8});
    t.pod_size = Pick({1, 1, 1, 2});
    t.world_size = t.local_world_size * t.pod_size * Pick({1, 1, 2, 3, 5});
    if (Chance(5)) t.world_size = Pick({0, 7, 1});
    t.hbm_cap = int64_t{1} << (Chance(10) ? Pick({20, 26}) : Pick({30, 34, 36, 38}));
    t.ddr_cap = int64_t{1} << (Chance(10) ? Pick({24, 28}) : Pick({34, 37, 40}));
    t.ssd_cap = Pick({int64_t{0}, int64_t{1} << 40});
    if (Chance(15))
      for (int r = 0; r < t.world_size; ++r)
        t.hbm_caps.push_back(int64_t{1} << Pick({0, 26, 30, 33}));
    if (Chance(5)) t.ddr_caps.assign(static_cast<size_t>(t.world_size), int64_t{1} << 31);
    if (Chance(10)) t.cores_per_node = Pick({1, 2, 16});
    if (Chance(5)) t.inter_host_bw = Pick({0.0, -1.0, 1e-3});
    if (Chance(5)) t.comms_table = {{Collective::kAllToAll, t.world_size, t.local_world_size, 1e6}};
    return t;
  }

  PlannerModel MakeModel() {
    PlannerModel model;
    model.batch_size = Pick({int64_t{1}, int64_t{64}, int64_t{2048}, int64_t{100000}});
    const int modules = Pick({1, 1, 2, 3});
    for (int m = 0; m < modules; ++m)
      model.modules.push_back({.path = "m" + std::to_string(m),
                               .kind = static_cast<ModuleKind>(Chance(80) ? 0 : Below(5)),
                               .is_weighted = Chance(30)});
    const int tables = Pick({0, 1, 2, 5, 9, 20});
    for (int t = 0; t < tables; ++t) AddTable(model, Below(modules));
    model.dense_parameter_bytes = Chance(20) ? int64_t{1} << 30 : 0;
    model.estimator = {.is_inference = Chance(10),
                       .pipeline_type = static_cast<PipelineType>(Below(4)),
                       .run_embedding_at_peak_memory = Chance(30)};
    if (Chance(20))
      model.sharders[ModuleKind::kEbc] = {.cache_load_factor = 0.1,
                                          .pooled_all_to_all = CommBytes{2, 2}};
    return model;
  }

  PlannerOptions MakeOptions(const PlannerModel& model) {
    PlannerOptions options;
    options.option_rules = Chance(50) ? OptionRules::kBuild : OptionRules::kTorchRec;
    options.reservation.kind = static_cast<ReservationKind>(Below(5));
    options.perf_model = Chance(10) ? PerfModel::kMaxRankHbm : PerfModel::kMaxRankPerf;
    options.search = Chance(90);
    options.effort = 0.02;
    if (Chance(30))
      options.proposers = {{.kind = static_cast<ProposerKind>(Below(5)),
                            .use_depth = Chance(50),
                            .max_proposals = 200,
                            .hbm_bins_per_device = 10}};
    if (Chance(20)) options.partitioner.kind = PartitionerKind::kMemoryBalanced;
    if (Chance(25)) options.rules = MakeRules(model);
    return options;
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  bool Chance(int percent) { return Below(100) < percent; }
  template <typename T>
  T Pick(std::initializer_list<T> values) {
    return values.begin()[Below(static_cast<int>(values.size()))];
  }

  void AddTable(PlannerModel& model, int module) {
    PlannerTable table;
    table.name = "t" + std::to_string(Chance(99) ? static_cast<int>(model.tables.size()) : 0);
    table.module = module;
    table.rows =
        Pick({int64_t{1}, int64_t{3}, int64_t{1000}, int64_t{1'000'003}, int64_t{1} << 23});
    if (Chance(2)) table.rows = Pick({int64_t{1} << 27, int64_t{1} << 33});
    table.dim = Pick({1, 4, 12, 64, 128, 130, 512});
    table.dtype = static_cast<RowDType>(Below(4));
    table.optimizer = Pick<const char*>({"", "adam", "sgd", "rowwise_adagrad", "lamb"});
    model.tables.push_back(table);
    if (Chance(50)) model.constraints[table.name] = MakeConstraints();
    if (Chance(1) && Chance(30)) model.constraints["nobody"] = {};
  }

  TableConstraints MakeConstraints() {
    TableConstraints c;
    if (Chance(20))
      for (int i = 0; i < 7; ++i)
        if (Chance(60)) c.sharding_types.push_back(static_cast<ShardingType>(i));
    if (Chance(15))
      for (int i = 0; i < 12; ++i)
        if (Chance(70)) c.compute_kernels.push_back(static_cast<PlanKernel>(i));
    if (Chance(20)) c.min_partition = Pick({int64_t{0}, int64_t{1}, int64_t{32}, int64_t{1000}});
    c.pooling_factors.assign(static_cast<size_t>(Pick({0, 1, 1, 1, 1, 2, 4})),
                             Pick({0.0, 0.5, 1.0, 33.0}));
    if (Chance(2)) c.num_poolings.assign(static_cast<size_t>(Pick({1, 2})), 2.0);
    if (Chance(2)) c.batch_sizes = {128};
    if (Chance(20)) {
      c.cache_params.emplace();
      if (Chance(80))
        c.cache_params->load_factor = Pick({0.1, 0.2, 0.5, 0.9, Chance(10) ? 1.5 : 0.3});
      c.cache_params->prefetch_pipeline = Chance(30);
      if (Chance(60))
        c.cache_params->statistics = CacheStatistics{.cacheability = Pick({0.0, 0.3}),
                                                     .expected_lookups = Pick({0.0, 1e5}),
                                                     .histogram = {Pick({0.0, 5.0}), 2, 0},
                                                     .height = 1000};
    }
    if (Chance(5)) c.key_value_params = KeyValueParams{.max_l1_cache_size = 10};
    if (Chance(2)) c.device_group = ComputeDevice::kCpu;
    c.use_virtual_table = Chance(3);
    return c;
  }

  std::string Name(const PlannerModel& model) {
    if (model.tables.empty() || Chance(2)) return "nobody";
    return model.full_name(
        model.tables[static_cast<size_t>(Below(static_cast<int>(model.tables.size())))]);
  }

  PlacementRules MakeRules(const PlannerModel& model) {
    PlacementRules rules;
    if (Chance(40)) rules.together = {{Name(model), Name(model)}};
    if (Chance(40)) rules.apart = {{Name(model), Name(model), Name(model)}};
    if (Chance(40))
      rules.rank_caps = {{.rank = Below(4), .hbm = Pick({int64_t{0}, int64_t{1} << 28})}};
    return rules;
  }

  std::mt19937 random_;
};

// Plans a case, checks the plan, its report and its explanation. True unless it throws, so that
// plans and errors can be counted.
bool PlanOnce(Fuzzer& fuzzer) {
  const Topology topology = fuzzer.MakeTopology();
  const PlannerModel model = fuzzer.MakeModel();
  const PlannerOptions options = fuzzer.MakeOptions(model);
  const TopologyFile file = TopologyFromJson(TopologyToJson({topology, ""}), "topology");
  const PlannerModel read = PlannerModelFromJson(PlannerModelToJson(model), "model");
  const EmbeddingShardingPlanner planner(file.topology, read, options);
  const PlanResult plan = planner.Plan();
  std::vector<Storage> used(static_cast<size_t>(topology.world_size));
  for (const PlacedOption& placed : plan.tables)
    placed.option.ForEachShard([&](int64_t i, const ShardRun& run) {
      used.at(static_cast<size_t>(placed.ranks.at(static_cast<size_t>(i)))) += run.storage;
    });
  for (size_t r = 0; r < used.size(); ++r)
    EXPECT_TRUE(used[r] == Storage{} || used[r].FitsIn(plan.reserved.capacity[r])) << "rank " << r;
  EXPECT_GE(plan.rating, plan.lower_bound * (1 - 1e-6));
  EXPECT_FALSE(StatsText(file.topology, read, plan,
                         ComputeStats(file.topology, read, plan.tables, plan.reserved))
                   .empty());
  if (plan.tables.empty()) return true;
  EXPECT_FALSE(ExplanationText(Explain(planner, plan), plan).empty());
  return true;
}

TEST(PlannerFuzzTest, APlanOrAClearError) {
  const int step = std::getenv("TESSERA_TEST_ALL") ? 1 : 10;
  int plans = 0, errors = 0;
  for (int seed = 0; seed < kCases; seed += step) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Fuzzer fuzzer(static_cast<uint32_t>(seed));
    try {
      plans += PlanOnce(fuzzer);
    } catch (const Error& error) {
      ++errors;
      EXPECT_GT(std::string(error.what()).size(), 10u);
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(plans, kCases / step / 4) << errors << " errors";
  EXPECT_GT(errors, kCases / step / 20);
}

}  // namespace
}  // namespace tessera
