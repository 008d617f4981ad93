// Step times that the calibrated model predicts, against those that are measured: several plans of
// one model of eight tables, on ranks that are threads of one process.
//
//   bazel run -c opt //bench/planner:validate_bench -- --ranks 2,4 [--slow] [--profile FILE]
//
// Without a profile the machine is calibrated first. --slow: over a link of 100 us and 200 MB/s a
// rank (comm/slow_communicator.h), which is calibrated as well.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <random>

#include "bench/harness/bench_main.h"
#include "comm/local_communicator.h"
#include "comm/slow_communicator.h"
#include "planner/calibration/calibrate.h"
#include "planner/calibration/machine_profile_json.h"
#include "planner/calibration/validate_plans.h"
#include "planner/step_model/step_model.h"
#include "planner/torchrec/torchrec_estimators.h"
#include "runtime/context.h"
#include "runtime/files/files.h"
#include "runtime/flags/flags.h"
#include "sharding/plan/plan_makers.h"

namespace tessera::bench {
namespace {

constexpr SlowLink kSlow = {.latency_s = 100e-6, .bytes_per_s = 200e6};

struct Flags {
  std::vector<int> ranks = {2, 4};
  bool slow = false, parts = false;
  std::string profile, codec = "fp32";
  int64_t bags = 512;
  double seconds = 0.5;
  int passes = 2;
};

StepLoad Model(const Flags& flags) {
  struct Shape {
    int64_t rows, dim;
    double ids;
    double zipf;
    bool sorted;
  };
  // Small and large, wide and narrow tables, whose rows are named evenly or unevenly.
  constexpr Shape kShapes[] = {{300'000, 64, 10, 0, false}, {200'000, 32, 20, 1.05, true},
                               {1'000, 16, 1, 0, false},    {100'000, 128, 4, 0.8, false},
                               {20'000, 64, 1, 0, false},   {500'000, 16, 5, 1.2, false},
                               {50'000, 64, 30, 0, false},  {2'000, 64, 10, 0, false}};
  StepLoad load;
  for (const Shape& s : kShapes) {
    StepTable table{.name = "t" + std::to_string(load.tables.size()), .rows = s.rows, .dim = s.dim};
    table.rule = "rowwise_adagrad";
    const auto bags = static_cast<double>(flags.bags);
    table.features.push_back({bags, bags * s.ids, ZipfRows(s.rows, s.zipf, s.sorted)});
    load.tables.push_back(std::move(table));
  }
  load.codecs = ParseWireCodecs(flags.codec);
  load.dense_flops = {6.0 * 512 * 128 * 128, 6.0 * 512 * 256 * 256};
  load.dense_bytes = 4.0 * (128 * 128 + 256 * 256);
  return load;
}

// Sixteen plans: each type for all tables, then mixtures.
std::vector<NamedPlan> PlansFor(const StepLoad& load, int ranks) {
  const std::vector<TableShape> shapes = ShapesOf(load);
  std::vector<NamedPlan> plans;
  const auto add = [&](const std::string& name, const std::function<TableSharder(size_t)>& of) {
    std::map<std::string, TableSharder> sharders;
    for (size_t t = 0; t < shapes.size(); ++t) sharders[shapes[t].name] = of(t);
    plans.push_back({name, MakeShardingPlan({ranks, ranks}, shapes, sharders)});
  };
  const auto home = [&](size_t t) { return static_cast<int>(t) % ranks; };
  const auto two_columns = [&](size_t t) { return ColumnWise({home(t), (home(t) + 1) % ranks}); };
  add("table_wise", [&](size_t t) { return TableWise(home(t)); });
  add("table_wise, halves", [&](size_t t) { return TableWise(t < 4 ? 0 : ranks - 1); });
  add("table_wise, all on rank 0", [&](size_t) { return TableWise(0); });
  add("row_wise", [&](size_t) { return RowWise(); });
  add("column_wise", two_columns);
  add("data_parallel", [&](size_t) { return DataParallel(); });
  add("small data_parallel, large table_wise",
      [&](size_t t) { return shapes[t].rows <= 2'000 ? DataParallel() : TableWise(home(t)); });
  add("small data_parallel, large row_wise",
      [&](size_t t) { return shapes[t].rows <= 50'000 ? DataParallel() : RowWise(); });
  add("large row_wise, small table_wise",
      [&](size_t t) { return shapes[t].rows >= 100'000 ? RowWise() : TableWise(home(t)); });
  add("wide column_wise, narrow row_wise",
      [&](size_t t) { return shapes[t].dim >= 64 ? two_columns(t) : RowWise(); });
  std::mt19937 random(7);
  for (int i = 0; i < 6; ++i)
    add("mixture " + std::to_string(i + 1), [&](size_t t) {
      const auto rank = static_cast<int>(random() % static_cast<unsigned>(ranks));
      switch (random() % 6) {
        case 0:
          return RowWise();
        case 1:
          return shapes[t].dim >= 32 ? two_columns(t) : TableWise(rank);
        case 2:
          return shapes[t].rows < 100'000 ? DataParallel() : TableWise(rank);
        default:
          return TableWise(rank);
      }
    });
  return plans;
}

void OnRanks(const Flags& flags, int ranks,
             const std::function<void(Context&, Communicator&)>& fn) {
  RunLocalRanks(ranks, [&](Communicator& local) {
    Context ctx({.threads = 1, .seed = 3});
    if (!flags.slow) return fn(ctx, local);
    auto comm = MakeSlowCommunicator(local.Split(0, local.rank()), kSlow);
    fn(ctx, *comm);
  });
}

MachineProfile ProfileOf(const Flags& flags, int ranks) {
  if (!flags.profile.empty() && std::filesystem::exists(flags.profile))
    return MachineProfileFromJson(ReadTextFile(flags.profile), flags.profile);
  MachineProfile profile;
  OnRanks(flags, ranks, [&](Context& ctx, Communicator& comm) {
    const MachineProfile measured = Calibrate(ctx, comm);
    if (IsLeader(comm)) profile = measured;
  });
  if (!flags.profile.empty()) ReplaceTextFile(flags.profile, MachineProfileToJson(profile));
  return profile;
}

// A plan's cost by TorchRec's formulas and constants: the busiest rank's sum of milliseconds.
double TorchRecSeconds(const StepLoad& load, const ShardingPlan& plan, int64_t bags) {
  PlannerModel model;
  model.batch_size = bags;
  model.modules = {{"model", ModuleKind::kEbc, false}};
  Topology topology;
  topology.compute_device = ComputeDevice::kCpu;
  topology.world_size = topology.local_world_size = plan.world_size;
  std::vector<double> ranks(static_cast<size_t>(plan.world_size));
  for (const StepTable& t : load.tables) {
    model.constraints[t.name].pooling_factors = {t.features[0].ids / t.features[0].bags};
    model.tables.push_back(
        {.name = t.name, .rows = t.rows, .dim = t.dim, .features = {t.name}, .optimizer = t.rule});
  }
  const TorchRecPerfEstimator estimator;
  for (size_t t = 0; t < load.tables.size(); ++t) {
    const TableSharding& sharding = plan.tables.at(load.tables[t].name);
    ShardingOption option;
    option.table = static_cast<int>(t);
    option.type = sharding.type;
    option.kernel =
        sharding.type == ShardingType::kDataParallel ? PlanKernel::kDense : PlanKernel::kFused;
    for (const Shard& shard : sharding.shards)
      option.shards.push_back({.rows = shard.rows, .columns = shard.columns});
    estimator.Estimate(topology, model, option);
    option.ForEachShard([&](int64_t i, const ShardRun& run) {
      ranks[static_cast<size_t>(sharding.shards[static_cast<size_t>(i)].rank)] +=
          run.perf.total() / 1e3;
    });
  }
  return *std::max_element(ranks.begin(), ranks.end());
}

void PrintParts(const StepPrediction& step, const PlanTime& time) {
  RankSeconds r;
  for (const RankSeconds& rank : step.ranks) r += rank;
  r = r * (1 / static_cast<double>(step.ranks.size()));
  const double predicted[] = {r.input_dist + r.ids_wire, r.lookup, r.output_dist + r.rows_wire,
                              r.dense + r.dense_wire,
                              r.gradient_dist + r.update + r.gradients_wire};
  std::printf("   mean over ranks, predicted/measured ms:");
  const char* names[] = {"input", "lookup", "output", "dense", "backward"};
  for (size_t i = 0; i < 5; ++i)
    std::printf("  %s %.2f/%.2f", names[i], 1e3 * predicted[i], 1e3 * time.phases[i]);
  std::printf("  (update %.2f)\n", 1e3 * r.update);
}

std::string LimitOf(const StepPrediction& step) {
  if (step.limited_by_cores) return "cores";
  return Format("rank {}, {}", step.busiest,
                LargestPart(step.ranks[static_cast<size_t>(step.busiest)]));
}

void PrintAgreement(const char* model, const Agreement& agreement) {
  std::printf("%-10s Spearman %.3f, median error %.1f %% (%.1f %% but for one factor)\n", model,
              agreement.spearman, 100 * agreement.median_error, 100 * agreement.median_ratio_error);
  std::fflush(stdout);
}

void Validate(const Flags& flags, int ranks, const MachineProfile& profile) {
  const StepModel model(profile, Model(flags), {ranks, ranks});
  const std::vector<NamedPlan> plans = PlansFor(model.load(), ranks);
  std::vector<ValidatedPlan> validated;
  OnRanks(flags, ranks, [&](Context& ctx, Communicator& comm) {
    auto mine =
        ValidatePlans(ctx, comm, model, plans, {.seconds = flags.seconds, .passes = flags.passes});
    if (IsLeader(comm)) validated = std::move(mine);
  });
  std::printf("\n%d ranks%s\n%-38s %13s %13s %7s %13s  %s\n", ranks,
              flags.slow ? ", slow link" : "", "plan", "predicted ms", "measured ms", "error",
              "TorchRec's ms", "limit");
  std::vector<double> torchrec, measured;
  for (size_t p = 0; p < plans.size(); ++p) {
    const ValidatedPlan& v = validated[p];
    torchrec.push_back(TorchRecSeconds(model.load(), plans[p].plan, flags.bags));
    measured.push_back(v.measured.seconds);
    std::printf("%-38s %13.2f %13.2f %6.0f%% %13.2f  %s\n", v.name.c_str(),
                1e3 * v.predicted.seconds, 1e3 * v.measured.seconds,
                100 * (v.predicted.seconds / v.measured.seconds - 1), 1e3 * torchrec.back(),
                LimitOf(v.predicted).c_str());
    if (flags.parts) PrintParts(v.predicted, v.measured);
  }
  PrintAgreement("calibrated", ComputeAgreement(validated));
  PrintAgreement("TorchRec's", ComputeAgreement(torchrec, measured));
}

int Main(int argc, char** argv) {
  Flags flags;
  internal::ProgramFlags line("Predicted and measured steps");
  line.Add("--ranks", flags.ranks, "numbers of ranks").Delimiter(',');
  line.Add("--slow", flags.slow, "over a slow link");
  line.Add("--parts", flags.parts, "print the parts of rank 0");
  line.Add("--profile", flags.profile, "read the profile from this file, or write it there");
  line.Add("--codec", flags.codec, "wire codecs");
  line.Add("--bags", flags.bags, "examples of a rank");
  line.Add("--seconds", flags.seconds, "of steps of a plan and pass");
  line.Add("--passes", flags.passes, "over all plans");
  if (!line.Parse(argc, argv)) return 0;
  const int most = *std::max_element(flags.ranks.begin(), flags.ranks.end());
  const auto begin = std::chrono::steady_clock::now();
  const MachineProfile profile = ProfileOf(flags, most);
  std::printf("%s, calibrated in %.0f s\n", profile.machine.c_str(),
              std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  for (const int ranks : flags.ranks) Validate(flags, ranks, profile);
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::BenchMain("validate_bench", tessera::bench::Main, argc, argv);
}
