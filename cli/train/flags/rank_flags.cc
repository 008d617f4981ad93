#include "cli/train/flags/rank_flags.h"

#include "cli/gpu_ranks.h"
#include "cli/rank_layout.h"
#include "comm/mpi/mpi_communicator.h"
#include "quant/wire_codec.h"
#include "runtime/base/check.h"
#include "runtime/base/size_limits.h"
#include "sharding/exchange/node_routes.h"
#include "train/groups/rank_groups.h"
#include "train/pipeline/pipeline_kind.h"

namespace tessera::cli {
namespace {

// Throws Error for flags that the groups do not go with; one group is like none, without means.
void CheckGroupFlags(const TrainFlags& flags) {
  if (flags.sync_interval && !flags.sharding_group_size)
    throw Error("--sync-interval needs --sharding-group-size G");
  if (NumGroups(flags) == 1) {
    if (flags.sync_interval)
      throw Error(Format(
          "--sync-interval {} beside --sharding-group-size {}: all ranks are one group, which has "
          "no other to be averaged with; leave --sync-interval out, or name a smaller group",
          *flags.sync_interval, *flags.sharding_group_size));
    return;
  }
  CheckGroupPipeline(ParsePipelineKind(flags.pipeline));
  if (flags.incremental)
    throw Error(
        "--sharding-group-size beside --incremental: a delta has the rows that the ranks of a "
        "group have changed, but means change those of all groups; leave one of them out");
}

}  // namespace

void AddRankFlags(Command app, TrainFlags& f) {
  app.Add("--ranks", f.ranks, "Split the tables over N ranks, which are threads of this process")
      .Within(NumbersFrom(1, 1024))
      .Value("N");
  app.Add("--rank-timeout", f.rank_timeout,
          "Under mpirun: end all ranks when one has been stopped, or a host silent, for this long "
          "(default 10; 0: never). A rank that is killed is noticed at once")
      .Within(NumbersFrom(0.0, 1e6))
      .Value("SECONDS");
  app.Add("--comm", f.comm, kCommHelp).Value("KIND");
  app.Add("--plan", f.plan,
          "Sharding plan: a plan file; table_wise, row_wise, table_row_wise, column_wise or "
          "data_parallel for every table; or auto, which runs the planner")
      .Value("PLAN");
  app.Add(
         "--ranks-per-node", f.ranks_per_node,
         "Plan and exchange as if each N consecutive ranks were one node; default: as mpirun says, "
         "or all ranks")
      .Within(NumbersFrom(1, 1024))
      .Value("N");
  app.Add(
         "--sharding-group-size", f.sharding_group_size,
         "Cut the ranks into groups of G, each of which holds all tables (2-D parallelism); a plan "
         "is then for G ranks. Dense layers stay alike on all ranks")
      .Within(NumbersFrom(1, 1024))
      .Value("G");
  app.Add("--sync-interval", f.sync_interval,
          "With --sharding-group-size: give the tables of all groups, and what their optimizers "
          "remember, their mean every STEPS steps (default 1), and before each evaluation and save")
      .Within(NumbersFrom(int64_t{1}, SizeLimits::kSteps))
      .Value("STEPS");
  app.Add("--topology", f.topology,
          "With --plan auto: the machine to plan for, a file of tessera calibrate, or cpu, a100, "
          "h100 or h200")
      .Value("FILE|NAME");
  app.Add("--save-plan", f.save_plan,
          "Write the sharding plan of this run to this file, which --plan takes")
      .Value("FILE");
  app.Add("--wire-codecs", f.wire_codecs,
          "Codecs between ranks, of rows, of their gradients, and of dense gradients: fp16, bf16, "
          "int8/fp16, fp16/bf16/bf16, …; one is of rows and their gradients; default fp32")
      .Value("CODECS");
  app.Add("--route", f.route,
          "How looked-up rows return over nodes: direct, from each rank to each; by_node, added up "
          "in a node before they leave it; or auto (default), by_node where that sends less")
      .Value("ROUTE");
}

int NumGroups(const TrainFlags& flags) {
  if (!flags.sharding_group_size) return 1;
  const int ranks = UnderMpirun() ? MpiSize() : flags.ranks.value_or(1);
  CheckGroupSize(ranks, *flags.sharding_group_size);
  return ranks / *flags.sharding_group_size;
}

void CheckFlagsOfRanks(const TrainFlags& flags, bool with_ranks) {
  CheckComm(flags.comm, flags.device);
  if (!flags.topology.empty() && flags.plan != "auto") throw Error("--topology needs --plan auto");
  if (with_ranks) {
    if (flags.ranks && flags.ranks_per_node && *flags.ranks % *flags.ranks_per_node != 0)
      throw Error(NodesError(*flags.ranks, *flags.ranks_per_node));
    if (!flags.route.empty()) ParseOutputRoute(flags.route);
    if (!flags.wire_codecs.empty()) ParseWireCodecs(flags.wire_codecs);
    if (flags.ranks && flags.rank_timeout)
      throw Error("--rank-timeout needs mpirun: --ranks are threads of one process");
    return CheckGroupFlags(flags);
  }
  if (flags.rank_timeout) throw Error("--rank-timeout needs mpirun");
  if (flags.ranks_per_node) throw Error("--ranks-per-node needs --ranks N, or mpirun");
  if (flags.sharding_group_size) throw Error("--sharding-group-size needs --ranks N, or mpirun");
  if (flags.sync_interval) throw Error("--sync-interval needs --sharding-group-size G");
  if (!flags.plan.empty()) throw Error("--plan needs --ranks N, or mpirun");
  if (!flags.save_plan.empty()) throw Error("--save-plan needs --ranks N, or mpirun");
  if (!flags.wire_codecs.empty()) throw Error("--wire-codecs needs --ranks N, or mpirun");
  if (!flags.route.empty()) throw Error("--route needs --ranks N, or mpirun");
  if (flags.comm != "auto") throw Error("--comm needs --ranks N, or mpirun");
}

}  // namespace tessera::cli
