#include "cli/train_command_ranks.h"

#include <algorithm>
#include <map>

#include "cli/auto_plan.h"
#include "comm/local_communicator.h"
#include "comm/mpi_communicator.h"
#include "runtime/machine.h"
#include "sharding/dist_layout.h"
#include "train/pipeline/pipeline_kind.h"
#include "train/ranks_plan.h"

namespace tessera::cli {
namespace {

// Ranks of one node, where they are as many on each.
RankLayout LayoutOf(const Communicator& comm) {
  const int here = UnderMpirun() ? MpiLocalSize() : 0;
  const bool known = here > 0 && comm.size() % here == 0;
  return {comm.size(), known ? here : comm.size()};
}

// Its threads exchange at the same time.
bool PipelineNeedsThread(const TrainFlags& flags) {
  return ParsePipelineKind(flags.pipeline) != PipelineKind::kNone;
}

int OnLocalRanks(int ranks, const std::function<int(Communicator*)>& fn) {
  int result = 0;
  RunLocalRanks(ranks, [&](Communicator& comm) {
    const int mine = fn(&comm);
    if (IsLeader(comm)) result = mine;
  });
  return result;
}

}  // namespace

bool WithRanks(const TrainFlags& flags) {
  if (flags.ranks && UnderMpirun())
    throw Error("--ranks under mpirun, which says itself how many there are");
  return flags.ranks || UnderMpirun();
}

int OnRanks(const TrainFlags& flags, const std::function<int(Communicator*)>& fn) {
  if (UnderMpirun())
    return RunMpiRank(
        {.comm_thread = PipelineNeedsThread(flags) || MpiLocalSize() <= MachineCores()},
        [&](Communicator& comm) { return fn(&comm); });
  return flags.ranks ? OnLocalRanks(*flags.ranks, fn) : fn(nullptr);
}

int SignalOfRanks(Communicator* comm, int mine) {
  if (comm == nullptr) return mine;
  for (const std::string& signal :
       comm->GatherStringsSync(std::to_string(mine), "the signal that stops the ranks"))
    if (signal != "0") return std::stoi(signal);
  return 0;
}

int ThreadsOfRank(const TrainFlags& flags) {
  if (!WithRanks(flags)) return flags.threads;
  const int processes = UnderMpirun() ? std::max(1, MpiLocalSize()) : 1;
  const int threads = flags.threads > 0 ? flags.threads : DefaultThreads(processes);
  return std::max(1, threads / flags.ranks.value_or(1));
}

TrainingRanks RanksOf(const TrainFlags& flags, Communicator& comm, const TrainConfig& config) {
  const RankLayout layout = LayoutOf(comm);
  TrainingRanks ranks{
      .comm = &comm,
      .plan = flags.plan == "auto"
                  ? AutoPlan(config, comm, layout, ParseDevice(flags.device), flags.topology)
                  : MakeRanksPlan(flags.plan, layout, ShapesOf(config.tables),
                                  config.managed_collision)};
  if (!flags.wire_codecs.empty()) ranks.codecs = ParseWireCodecs(flags.wire_codecs);
  return ranks;
}

TrainingPlace PlaceOf(const TrainingRanks& ranks) {
  const RankLayout layout = LayoutOf(*ranks.comm);
  const int here = ranks.comm->backend() == "local" ? ranks.comm->size() : layout.local_size;
  return {.plan = &ranks.plan, .first_rank = ranks.comm->rank() / here * here, .num_ranks = here};
}

std::string RanksLine(const TrainingRanks& ranks) {
  std::map<ShardingType, int> tables;
  for (const auto& [name, sharding] : ranks.plan.tables) ++tables[sharding.type];
  std::string line = Format("{} ranks ({})", ranks.comm->size(), ranks.comm->backend());
  const char* separator = ": ";
  for (const auto& [type, count] : tables) {
    line += Format("{}{} {} {}", separator, count, count == 1 ? "table" : "tables", ToString(type));
    separator = ", ";
  }
  if (ranks.codecs != WireCodecs{})
    line += Format("; embeddings and gradients travel as {}", ToString(ranks.codecs));
  return line;
}

}  // namespace tessera::cli
