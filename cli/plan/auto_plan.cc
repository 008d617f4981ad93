#include "cli/plan/auto_plan.h"

#include <optional>

#include "cli/plan/plan_inputs.h"
#include "cli/plan/plan_report.h"
#include "cli/show/log.h"
#include "planner/calibration/machine_profile_json.h"
#include "planner/cost_models.h"
#include "runtime/base/check.h"
#include "train/auto_shard.h"
#include "train/planner_model.h"

namespace tessera::cli {
namespace {

// NCCL takes as long between threads as between processes.
void CheckKindOfRanks(const MachineProfile& profile, const std::string& topology,
                      std::string_view backend) {
  if (backend.empty()) return;
  const std::string& measured = profile.backend;
  const auto kind = [](std::string_view of) { return of == "mpi" ? "processes" : "threads"; };
  if (measured == "nccl" || backend == "nccl" || kind(measured) == kind(backend)) return;
  const std::string again =
      backend == "mpi" ? "mpirun -n N tessera calibrate" : "tessera calibrate --ranks N";
  throw Error(Format(
      "--topology {}: it was measured with ranks as {}, and the ranks of this run are {}, whose "
      "exchanges take other times; measure with {}",
      topology, kind(measured), kind(backend), again));
}

void WarnOfCodecs(const std::optional<MachineProfile>& profile, const WireCodecs& codecs) {
  if (codecs == WireCodecs{}) return;
  if (!profile)
    return Warn(
        Format("--wire-codecs {}: --plan auto prices exchanges as fp32, for the costs of a machine "
               "that was not measured do not know the work of a codec; give --topology of tessera "
               "calibrate",
               ToString(codecs)));
  if (const std::optional<WireCodec> codec = UnpricedCodec(*profile, codecs))
    Warn(
        Format("--wire-codecs {}: --plan auto takes the work of {} for nothing, of which the "
               "topology has no measured price; tessera calibrate measures it",
               ToString(codecs), *codec));
}

}  // namespace

ShardingPlan FindAutoPlan(const TrainConfig& config, const PlannedRanks& ranks,
                          std::string_view backend) {
  PlanFlags flags;
  flags.topology = !ranks.topology.empty()         ? ranks.topology
                   : ranks.device == Device::Cpu() ? "cpu"
                                                   : "h100";
  flags.ranks = ranks.layout.world_size;
  flags.ranks_per_node = ranks.layout.local_size;
  const TopologyFile machine = ReadTopology(flags);
  std::optional<MachineProfile> profile;
  if (!machine.profile.empty()) {
    profile = MachineProfileOf(machine);
    CheckKindOfRanks(*profile, ranks.topology, backend);
  }
  WarnOfCodecs(profile, ranks.codecs);
  PlanResult found;
  ShardingPlan plan =
      FindPlan(PlannerModelOf(config, ranks.layout.world_size, machine.topology.compute_device),
               machine, "", &found, {.codecs = ranks.codecs});
  Note("plan: " + PlanLine(found, CostModelName("", machine)), {{"rating", found.rating}});
  return plan;
}

ShardingPlan AutoPlan(const TrainConfig& config, Communicator& comm, const PlannedRanks& ranks) {
  return PlanOnLeader(
      comm, [&] { return FindAutoPlan(config, ranks, comm.backend()); }, ranks.layout.world_size);
}

}  // namespace tessera::cli
