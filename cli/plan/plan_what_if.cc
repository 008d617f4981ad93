#include "cli/plan/plan_what_if.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/outputs.h"
#include "cli/plan/planner_options.h"
#include "cli/plan/what_if_report.h"
#include "cli/show/measure_progress.h"
#include "planner/calibration/machine_profile_json.h"
#include "planner/cost_models.h"
#include "planner/model/planner_error.h"
#include "planner/plan_load.h"
#include "planner/what_if.h"
#include "quant/wire_codec.h"
#include "runtime/base/check.h"
#include "runtime/base/parse_number.h"
#include "runtime/base/report_text.h"
#include "runtime/files/files.h"

namespace tessera::cli {
namespace {

constexpr double kGigabytePerSecond = 1e6;  // in bytes per ms

bool IsBandwidth(WhatIfKey key) { return key == WhatIfKey::kIntraBw || key == WhatIfKey::kInterBw; }

template <typename T>
T NumberOf(const std::string& text) {
  T number = 0;
  TESSERA_CHECK(ParseNumber(text, number), "'{}' is no number", text);
  return number;
}

// ---- what is refused before anything is planned

void CheckFlags(const PlanFlags& flags) {
  const auto refuse = [](bool given, const char* flag, const char* why) {
    if (given) throw Error(Format("--what-if beside {}: {}", flag, why));
  };
  refuse(!flags.out.empty(), "-o",
         "it makes a plan for each point, and -o writes one; plan for "
         "the point that you choose without --what-if");
  refuse(!flags.existing.empty(), "--existing",
         "points are planned from scratch, and with other ranks; plan for the point that you "
         "choose with --existing alone");
  refuse(flags.most_moved_bytes.has_value(), "--most-moved-bytes",
         "points are planned from scratch; name it for the point that you choose");
  refuse(flags.validate > 0, "--validate",
         "it runs plans on this machine, which the points are not; plan for one that is");
  refuse(flags.simulate > 0, "--simulate",
         "it plays the steps of one plan; simulate the point that you choose without --what-if");
}

void CheckCodecs(const WhatIfAxis& axis, const MachineProfile& profile) {
  for (const std::string& value : axis.values) {
    const std::optional<WireCodec> codec = UnpricedCodec(profile, ParseWireCodecs(value));
    if (codec)
      throw Error(
          Format("--what-if codec={}: the topology has no measured price of {}; tessera "
                 "calibrate measures it",
                 value, *codec));
  }
}

// Whether the machine and its cost model know what the key changes.
void CheckAxis(const WhatIfAxis& axis, const TopologyFile& machine, const std::string& cost_model) {
  const bool calibrated = cost_model == "calibrated";
  if (axis.key == WhatIfKey::kHbm && machine.topology.compute_device == ComputeDevice::kCpu)
    throw Error(
        "--what-if hbm: the ranks of this topology are CPUs, which have no device memory; "
        "ddr is theirs");
  if (IsBandwidth(axis.key) && (calibrated || !machine.topology.comms_table.empty()))
    throw Error(
        Format("--what-if {}: exchanges of this topology are priced as they were measured; "
               "name a machine, as --topology h100",
               axis.key));
  if (axis.key == WhatIfKey::kDisk && calibrated &&
      !MachineProfileOf(machine).tiers.contains(ComputeKernel::kKeyValue))
    throw Error(
        "--what-if disk: the topology has no measured price of rows on disk; tessera calibrate "
        "measures it");
  if (axis.key != WhatIfKey::kCodec) return;
  if (!calibrated)
    throw Error(
        Format("--what-if codec: the {} cost model does not know the work of a codec; give "
               "--topology of tessera calibrate",
               cost_model));
  CheckCodecs(axis, MachineProfileOf(machine));
}

std::vector<WhatIfAxis> ReadAxes(const PlanFlags& flags) {
  std::vector<WhatIfAxis> axes;
  try {
    for (const std::string& text : flags.what_if) axes.push_back(ParseWhatIf(text));
    CheckWhatIf(axes);
  } catch (const Error& error) {
    throw Error(Format("--what-if {}", error.what()));
  }
  return axes;
}

Outputs ClaimOutputs(const PlanFlags& flags) {
  std::vector<std::string> reads = flags.data;
  reads.insert(reads.end(), {flags.tables, flags.topology, flags.constraints});
  Outputs outputs(/*overwrite=*/false, std::move(reads));
  outputs.AddReport(flags.html, kPlanPage);
  outputs.AddReport(flags.json, kPlanReport);
  return outputs;
}

// ---- a point

bool HasTablesOnDisk(const PlannerModel& model) {
  return std::ranges::any_of(model.constraints, [](const auto& named) {
    return std::ranges::count(named.second.compute_kernels, PlanKernel::kKeyValue) > 0;
  });
}

// Lets every table whose kernel is free lie on disk, as well as in memory.
void AllowDisk(PlannerModel& model) {
  for (const PlannerTable& table : model.tables) {
    std::vector<PlanKernel>& kernels = model.constraints[table.name].compute_kernels;
    if (kernels.empty())
      kernels = {PlanKernel::kDense, PlanKernel::kFused, PlanKernel::kFusedUvm,
                 PlanKernel::kFusedUvmCaching, PlanKernel::kKeyValue};
  }
}

std::string CurrentValue(WhatIfKey key, const Topology& topology, const PlannerModel& model) {
  switch (key) {
    case WhatIfKey::kRanks:
      return Format("{}", topology.world_size);
    case WhatIfKey::kHbm:
      return WhatIfNumber(internal::ToGib(topology.hbm_of(0)));
    case WhatIfKey::kDdr:
      return WhatIfNumber(internal::ToGib(topology.ddr_of(0)));
    case WhatIfKey::kDisk:
      return WhatIfNumber(HasTablesOnDisk(model) ? internal::ToGib(topology.ssd_cap) : 0);
    case WhatIfKey::kBatch:
      return Format("{}", model.batch_size);
    case WhatIfKey::kCodec:
      return ToString(WireCodecs{});
    case WhatIfKey::kIntraBw:
      return WhatIfNumber(topology.intra_host_bw / kGigabytePerSecond);
    case WhatIfKey::kInterBw:
      return WhatIfNumber(topology.inter_host_bw / kGigabytePerSecond);
  }
  TESSERA_FAIL("unknown WhatIfKey {}", static_cast<int>(key));
}

// The flags' problem with some values in place of others.
struct Settings {
  PlanFlags flags;
  WireCodecs codecs = {};
  std::optional<double> intra_bw = {}, inter_bw = {}, disk_gib = {};
};

void Set(WhatIfKey key, const std::string& value, Settings& settings) {
  switch (key) {
    case WhatIfKey::kRanks:
      settings.flags.ranks = NumberOf<int>(value);
      return;
    case WhatIfKey::kHbm:
      settings.flags.hbm_gib = NumberOf<double>(value);
      return;
    case WhatIfKey::kDdr:
      settings.flags.ddr_gib = NumberOf<double>(value);
      return;
    case WhatIfKey::kDisk:
      settings.disk_gib = NumberOf<double>(value);
      return;
    case WhatIfKey::kBatch:
      settings.flags.batch_size = NumberOf<int64_t>(value);
      return;
    case WhatIfKey::kCodec:
      settings.codecs = ParseWireCodecs(value);
      return;
    case WhatIfKey::kIntraBw:
      settings.intra_bw = kGigabytePerSecond * NumberOf<double>(value);
      return;
    case WhatIfKey::kInterBw:
      settings.inter_bw = kGigabytePerSecond * NumberOf<double>(value);
      return;
  }
}

int64_t MostDisk(const PlanStats& stats) {
  int64_t most = 0;
  for (const RankStats& rank : stats.ranks) most = std::max(most, rank.ssd);
  return most;
}

// Plans for points. Files of the machine and of rules are read once. What is read and measured of
// the tables is kept, as it depends on the number of ranks alone.
class PointPlanner {
 public:
  explicit PointPlanner(const PlanFlags& flags)
      : flags_(flags),
        source_(flags),
        machine_(source_.Of(flags)),
        rules_(ReadRules(flags, PlannerModel(), machine_.topology)) {}

  const TopologyFile& machine() const { return machine_; }
  std::string cost_model() const { return CostModelName(flags_.cost_model, machine_); }
  const PlannerModel& ModelFor(const Topology& topology) {
    const auto found = inputs_.find(topology.world_size);
    if (found != inputs_.end()) return found->second.model;
    PlanInput input = ReadPlanInput(flags_, topology);
    if (inputs_.empty())
      known_ = MeasureData(flags_, input);
    else
      UseMeasured(known_, input.model);
    return inputs_.emplace(topology.world_size, std::move(input)).first->second.model;
  }

  WhatIfPlan At(const std::vector<WhatIfAxis>& axes, const std::vector<size_t>& values) {
    Settings settings{.flags = flags_};
    for (size_t a = 0; a < axes.size(); ++a) {
      // The batch of a rank stays as it is, also where the tables' own one depends on the ranks.
      if (values[a] != axes[a].current || axes[a].key == WhatIfKey::kBatch)
        Set(axes[a].key, axes[a].values[values[a]], settings);
    }
    try {
      return PlanFor(settings);
    } catch (const PlannerError&) {
      throw;  // no plan fits
    } catch (const Error& error) {
      throw Error(Format("--what-if {}: {}", NameOfPoint(axes, values), error.what()));
    }
  }

 private:
  WhatIfPlan PlanFor(const Settings& settings) {
    TopologyFile machine = source_.Of(settings.flags);
    Topology& topology = machine.topology;
    topology.intra_host_bw = settings.intra_bw.value_or(topology.intra_host_bw);
    topology.inter_host_bw = settings.inter_bw.value_or(topology.inter_host_bw);
    PlannerModel model = ModelFor(topology);
    model.batch_size = settings.flags.batch_size.value_or(model.batch_size);
    if (settings.disk_gib) topology.ssd_cap = internal::BytesOfGib(*settings.disk_gib);
    if (settings.disk_gib.value_or(0) > 0) AllowDisk(model);
    CalibratedOptions known = known_;
    known.codecs = settings.codecs;
    const EmbeddingShardingPlanner planner(
        topology, model, PlannerOptionsOf(settings.flags, model, machine, known, rules_));
    const PlanLoad load = LoadOfPlan(planner, planner.Plan());
    const auto rank = [&](int r) { return load.stats.ranks[static_cast<size_t>(r)]; };
    return {.ranks = topology.world_size,
            .batch = model.batch_size,
            .step_ms = load.step_ms,
            .most_hbm = rank(FullestHbmRank(load.stats)).hbm,
            .most_ddr = rank(FullestDdrRank(load.stats)).ddr,
            .most_disk = MostDisk(load.stats),
            .bound_by = load.bound_by(),
            .bound_share = load.bound_share()};
  }

  const PlanFlags& flags_;
  const MachineSource source_;
  const TopologyFile machine_;
  const PlacementRules rules_;
  std::map<int, PlanInput> inputs_;  // by the number of ranks
  CalibratedOptions known_;
};

int MeasuredRanks(const TopologyFile& machine, const std::string& cost_model) {
  if (cost_model != "calibrated") return 0;
  return MachineProfileOf(machine).ranks;
}

}  // namespace

int PlanWhatIf(const PlanFlags& flags) {
  CheckFlags(flags);
  std::vector<WhatIfAxis> axes = ReadAxes(flags);
  const Outputs outputs = ClaimOutputs(flags);
  PointPlanner planner(flags);
  for (const WhatIfAxis& axis : axes) CheckAxis(axis, planner.machine(), planner.cost_model());
  const Topology& topology = planner.machine().topology;
  for (WhatIfAxis& axis : axes)
    SetCurrent(axis, CurrentValue(axis.key, topology, planner.ModelFor(topology)));
  MeasureProgress progress;
  const WhatIf what_if = ExploreWhatIf(
      axes, [&](const std::vector<size_t>& values) { return planner.At(axes, values); },
      [&](const std::string& name, double done) { progress.Show(name, done); });
  progress.Clear();
  const WhatIfFacts facts{.cost_model = planner.cost_model(),
                          .measured_ranks = MeasuredRanks(planner.machine(), planner.cost_model())};
  std::fputs(WhatIfText(what_if, facts).c_str(), stdout);
  if (!flags.html.empty())
    ReplaceTextFile(flags.html, WhatIfPicture(what_if, "What if, for " + flags.tables));
  if (!flags.json.empty()) ReplaceTextFile(flags.json, WhatIfJson(what_if, facts));
  return 0;
}

}  // namespace tessera::cli
