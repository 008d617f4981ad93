#include "cli/plan/plan_inputs.h"

#include <algorithm>
#include <utility>

#include "cli/config_flags.h"
#include "cli/rank_layout.h"
#include "cli/show/checkpoint_summary.h"
#include "cli/show/log.h"
#include "planner/model/model_json.h"
#include "planner/model/shipped_topologies.h"
#include "planner/step_model/rule_by_name.h"
#include "runtime/base/check.h"
#include "runtime/base/nearest.h"
#include "runtime/base/report_text.h"
#include "runtime/context.h"
#include "runtime/files/files.h"
#include "runtime/json/json_reader.h"
#include "train/data_sets.h"
#include "train/planner_model.h"

namespace tessera::cli {
namespace {

bool IsCheckpoint(const std::string& path) {
  return IsFolder(path) || path.ends_with(".safetensors");
}

// The tables alone, for a checkpoint without its training's configuration.
PlannerModel ModelOfTables(const CheckpointSummary& summary) {
  PlannerModel model;
  model.modules = {{.path = "sparse_arch.embedding_bag_collection"}};
  for (const TableSummary& table : summary.tables)
    model.tables.push_back({.name = table.name, .rows = table.rows, .dim = table.dim});
  model.dense_parameter_bytes = summary.dense_bytes;
  return model;
}

PlanInput OfConfig(TrainConfig config, const Topology& topology) {
  PlanInput input{PlannerModelOf(config, topology.world_size, topology.compute_device), {}};
  input.config = std::move(config);
  return input;
}

// Only a configuration has keys to set.
void RefuseSettings(const PlanFlags& flags) {
  if (!flags.set.empty())
    throw Error(Format("--set {}: beside --tables {}, which has no training configuration",
                       flags.set.front(), flags.tables));
}

PlanInput OfCheckpoint(const PlanFlags& flags, const Topology& topology) {
  const std::string& path = flags.tables;
  const CheckpointSummary summary = SummarizeCheckpoint(path);
  if (!summary.config.empty())
    return OfConfig(ReadConfigText(summary.config, path, flags.set), topology);
  RefuseSettings(flags);
  return {ModelOfTables(summary), {}};
}

// Warns of a table that is priced in another way than it reads: with an optimizer that nobody
// knows, or features beyond the pooling factors.
void WarnOfTable(const PlannerModel& model, const PlannerTable& table) {
  try {
    if (!table.optimizer.empty()) RuleByName(table.optimizer);
  } catch (const Error& error) {
    Warn(Format("table {}: {}; its states are counted as one number a weight", table.name,
                error.what()));
  }
  const auto found = model.constraints.find(table.name);
  const size_t features = table.features.size(),
               factors = (found == model.constraints.end() ? TableConstraints() : found->second)
                             .pooling_factors.size();
  if (features > 1 && factors != features)
    Warn(
        Format("table {}: its {} features are priced as {}: expected a pooling factor for each in "
               "its constraints, got {}",
               table.name, features, factors, factors));
}

PlanInput OfJson(const PlanFlags& flags, const Topology& topology) {
  const std::string& path = flags.tables;
  const std::string text = ReadTextFile(path);
  internal::Json document;
  try {
    document = internal::ReadJsonText(text, {});
  } catch (const Error&) {  // ReadConfigText says what is wrong
  }
  if (document.is_object() && document.contains("tessera_planner_model")) {
    RefuseSettings(flags);
    PlannerModel model = PlannerModelFromJson(text, path);
    for (const PlannerTable& table : model.tables) WarnOfTable(model, table);
    return {std::move(model), {}};
  }
  if (document.is_object() && !document.contains("tables"))
    throw Error(
        Format("{}: neither a model to plan (\"tessera_planner_model\": 1), nor a configuration of "
               "tessera train (\"tables\": …)",
               path));
  return OfConfig(ReadConfigText(text, path, flags.set), topology);
}

// Sets the number of ranks, on nodes of the same size unless another is given; capacities listed by
// rank are dropped, since they no longer fit.
void SetRanks(Topology& topology, const PlanFlags& flags) {
  const int ranks = flags.ranks.value_or(topology.world_size);
  const int per_node = flags.ranks_per_node.value_or(std::min(topology.local_world_size, ranks));
  if (ranks % per_node != 0)
    throw Error(flags.ranks_per_node
                    ? NodesError(ranks, per_node)
                    : Format("--ranks {}: they do not fill the topology's nodes of {} ranks; give "
                             "--ranks-per-node as well",
                             ranks, per_node));
  if (ranks == topology.world_size && per_node == topology.local_world_size) return;
  topology.world_size = ranks;
  topology.local_world_size = per_node;
  topology.pod_size = 1;
  topology.hbm_caps.clear();
  topology.ddr_caps.clear();
}

void RefuseHbmOfCpus(const PlanFlags& flags, const Topology& topology) {
  if (topology.compute_device != ComputeDevice::kCpu) return;
  const std::string machine =
      flags.topology.empty() ? "without --topology" : "beside --topology " + flags.topology;
  throw Error(
      Format("--hbm {}: the ranks are CPUs, which have no device memory; give --ddr, or a machine "
             "of GPUs",
             machine));
}

void AddSimulationFlags(Command command, PlanFlags& f) {
  command
      .Add("--simulate", f.simulate,
           "Play so many training steps under the plan, rank by rank, where ranks keep their "
           "speed, vary, or one is slow (needs a measured topology)")
      .Within(NumbersFrom(1, 100'000))
      .Value("STEPS");
  command
      .Add("--jitter", f.jitter,
           "With --simulate: the standard deviation of a rank's work between two exchanges, as a "
           "fraction of its mean")
      .Within(NumbersFrom(0.0, 10.0))
      .Value("FRACTION")
      .ShowDefault()
      .Needs("--simulate");
  command
      .Add("--slow-rank", f.slow_rank,
           "With --simulate: how many times as long the slow rank's work takes")
      .Within(NumbersFrom(1.0, 1000.0))
      .Value("TIMES")
      .ShowDefault()
      .Needs("--simulate");
}

}  // namespace

void AddTablesFlags(Command command, PlanFlags& f) {
  command
      .Add(
          "--tables", f.tables,
          "Tables to plan: a configuration of tessera train, a checkpoint (a file or a folder), or "
          "a model (JSON)")
      .Required()
      .Value("PATH");
  AddSetFlag(command, f.set);
  AddPluginFlag(command);
  command
      .Add("--topology", f.topology,
           "Machine to plan for: a file of tessera calibrate, or cpu, a100, h100 or h200")
      .Value("FILE|NAME");
}

void AddRanksFlags(Command command, PlanFlags& f) {
  const auto ranks = NumbersFrom(1, 1 << 20);
  const auto size = NumbersFrom(0.0, 1e9);
  command.Add("--ranks", f.ranks, "Number of ranks, of all nodes together")
      .Within(ranks)
      .Value("N");
  command.Add("--ranks-per-node", f.ranks_per_node, "Number of ranks on each node")
      .Within(ranks)
      .Value("N");
  command.Add("--hbm", f.hbm_gib, "GiB of device memory of each rank").Within(size).Value("GIB");
  command.Add("--ddr", f.ddr_gib, "GiB of host memory of each rank").Within(size).Value("GIB");
  command
      .Add("--reserve", f.reserve,
           "Fraction of a rank's memory, of the device and of the host, that is left to everything "
           "else; default 0.15 of the device's")
      .Within(NumbersFrom(0.0, 1.0))
      .Value("SHARE");
}

void AddCostFlags(Command command, PlanFlags& f) {
  command.Add("--batch", f.batch_size, "Examples that each rank trains on in a step")
      .Within(NumbersFrom(int64_t{1}, int64_t{1} << 40))
      .Value("N");
  command
      .Add("--data", f.data,
           Format("Measure the frequency of ids in the first {} of these rows: files of the "
                  "configuration's format (Criteo's text unless it says another), plain or .gz",
                  internal::WithCommas(kMaxMeasuredRows)))
      .Value("FILE");
  command
      .Add("--cost-model", f.cost_model,
           "Cost model by which plans are compared: calibrated (default where the topology was "
           "measured), bandwidth (default elsewhere) or torchrec")
      .Value("MODEL");
}

void AddPlanFlags(Command command, PlanFlags& f) {
  AddTablesFlags(command, f);
  AddRanksFlags(command, f);
  AddCostFlags(command, f);
  command
      .Add("--constraints", f.constraints,
           "Read from this JSON file which tables must be kept together or apart, and limits of "
           "ranks")
      .Value("FILE");
  command.Add("--existing", f.existing, "Start from this plan, which the model has now")
      .Value("PLAN");
  command
      .Add("--most-moved-bytes", f.most_moved_bytes,
           "With --existing: move at most BYTES bytes of tables")
      .Within(NumbersFrom(int64_t{0}, int64_t{1} << 60))
      .Value("BYTES");
  command
      .Add("--validate", f.validate,
           "Run this many plans, this one and others, and compare their step times with the "
           "prediction (needs a measured topology)")
      .Within(NumbersFrom(2, 6))
      .Value("PLANS");
  AddSimulationFlags(command, f);
  command
      .Add(
          "--what-if", f.what_if,
          "Plan for each of these values of a key as well, as ranks=2,4,8, and say what would help "
          "the most (keys: below); given several times, for all combinations")
      .OneAtATime()
      .Value("KEY=V,…");
  command.Add("-o,--out", f.out, "Write the plan to this file").Value("FILE");
  command.Add("--html", f.html, "Draw ranks, times and memory on a page").Value("FILE");
  command.Add("--json", f.json, "Write figures and reasons to this file as JSON").Value("FILE");
}

MachineSource::MachineSource(const PlanFlags& flags) {
  const std::string& path = flags.topology;
  const std::vector<std::string> names = ShippedTopologyNames();
  if (path.empty() && !flags.ranks)
    throw Error("how many ranks? Give --ranks N, or --topology FILE");
  if (path.empty() || std::find(names.begin(), names.end(), path) != names.end()) return;
  if (!IsThere(path))
    throw Error(Format("--topology {}: there is no such file, and {}", path,
                       NoneIsCalled("machine", path, names)));
  file_ = TopologyFromJson(ReadTextFile(path), path);
}

TopologyFile MachineSource::Of(const PlanFlags& flags) const {
  TopologyFile file;
  if (!file_ && !flags.ranks)
    throw Error(Format("how many ranks? --topology {} names a kind of machine: give --ranks N",
                       flags.topology));
  if (file_)
    file = *file_;
  else
    file.topology = ShippedTopology(flags.topology.empty() ? "cpu" : flags.topology, *flags.ranks,
                                    flags.ranks_per_node.value_or(0));
  SetRanks(file.topology, flags);
  if (flags.hbm_gib) {
    RefuseHbmOfCpus(flags, file.topology);
    file.topology.hbm_cap = internal::BytesOfGib(*flags.hbm_gib);
    file.topology.hbm_caps.clear();
  }
  if (flags.ddr_gib) {
    file.topology.ddr_cap = internal::BytesOfGib(*flags.ddr_gib);
    file.topology.ddr_caps.clear();
  }
  CheckTopology(file.topology);
  return file;
}

TopologyFile ReadTopology(const PlanFlags& flags) { return MachineSource(flags).Of(flags); }

PlanInput ReadPlanInput(const PlanFlags& flags, const Topology& topology) {
  PlanInput input =
      IsCheckpoint(flags.tables) ? OfCheckpoint(flags, topology) : OfJson(flags, topology);
  if (flags.batch_size) input.model.batch_size = *flags.batch_size;
  CheckModel(input.model);
  if (input.model.tables.empty()) throw Error(Format("{}: it has no tables to plan", flags.tables));
  return input;
}

CalibratedOptions MeasureData(const PlanFlags& flags, PlanInput& input) {
  CalibratedOptions known;
  if (flags.data.empty()) return known;
  if (!input.config)
    throw Error(Format("--data: {} does not say which columns its tables read", flags.tables));
  Context ctx;
  FeatureCounter counter;
  const DataSets data(*input.config, {.files = flags.data});
  const auto batches = data.OpenTrain(0);
  int64_t rows = 0;
  for (auto batch = batches->Next(); batch && rows < kMaxMeasuredRows; batch = batches->Next()) {
    counter.Add(ctx, batch->features);
    rows += batch->size();
  }
  if (rows == 0) throw Error(Format("{}: there are no rows to measure", flags.data.front()));
  for (const PlannerTable& table : input.model.tables)
    for (const std::string& feature : table.features)
      known.statistics[{table.name, feature}] = counter.Of(feature, table.rows);
  UseMeasured(known, input.model);
  return known;
}

void UseMeasured(const CalibratedOptions& known, PlannerModel& model) {
  if (known.statistics.empty()) return;
  for (const PlannerTable& table : model.tables) {
    std::vector<double>& factors = model.constraints[table.name].pooling_factors;
    factors.clear();
    for (const std::string& feature : table.features)
      factors.push_back(known.statistics.at({table.name, feature}).pooling_factor());
  }
}

}  // namespace tessera::cli
