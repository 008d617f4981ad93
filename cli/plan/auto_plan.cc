#include "cli/plan/auto_plan.h"

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
void CheckKindOfRanks(const TopologyFile& machine, const std::string& topology,
                      std::string_view backend) {
  if (machine.profile.empty() || backend.empty()) return;
  const std::string measured = MachineProfileFromJson(machine.profile, topology).backend;
  const auto kind = [](std::string_view of) { return of == "mpi" ? "processes" : "threads"; };
  if (measured == "nccl" || backend == "nccl" || kind(measured) == kind(backend)) return;
  const std::string again =
      backend == "mpi" ? "mpirun -n N tessera calibrate" : "tessera calibrate --ranks N";
  throw Error(Format(
      "--topology {}: it was measured with ranks as {}, and the ranks of this run are {}, whose "
      "exchanges take other times; measure with {}",
      topology, kind(measured), kind(backend), again));
}

}  // namespace

ShardingPlan FindAutoPlan(const TrainConfig& config, const RankLayout& layout, Device device,
                          const std::string& topology, std::string_view backend) {
  PlanFlags flags;
  flags.topology = !topology.empty() ? topology : device == Device::Cpu() ? "cpu" : "h100";
  flags.ranks = layout.world_size;
  flags.ranks_per_node = layout.local_size;
  const TopologyFile machine = ReadTopology(flags);
  CheckKindOfRanks(machine, topology, backend);
  PlanResult found;
  ShardingPlan plan =
      FindPlan(PlannerModelOf(config, layout.world_size, machine.topology.compute_device), machine,
               "", &found);
  Note("plan: " + PlanLine(found, CostModelName("", machine)), {{"rating", found.rating}});
  return plan;
}

ShardingPlan AutoPlan(const TrainConfig& config, Communicator& comm, const RankLayout& layout,
                      Device device, const std::string& topology) {
  return PlanOnLeader(
      comm, [&] { return FindAutoPlan(config, layout, device, topology, comm.backend()); },
      layout.world_size);
}

}  // namespace tessera::cli
