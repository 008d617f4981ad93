#include "cli/train/train_command_ranks.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>

#include "cli/plan/auto_plan.h"
#include "cli/rank_layout.h"
#include "cli/ranks/wrong_start.h"
#include "cli/show/log.h"
#include "cli/show/numbers.h"
#include "cli/train/flags/rank_flags.h"
#include "cli/train/rank_reports.h"
#include "comm/leader.h"
#include "comm/local_communicator.h"
#include "comm/mpi/mpi_communicator.h"
#include "runtime/base/joined.h"
#include "runtime/base/machine.h"
#include "runtime/device/device_properties.h"
#include "runtime/files/files.h"
#include "sharding/distributed_model_parallel.h"
#include "sharding/exchange/dist_layout.h"
#include "sharding/plan/plan_json.h"
#include "train/agreement.h"
#include "train/groups/rank_groups.h"
#include "train/pipeline/pipeline_kind.h"
#include "train/pipeline/trainer_pipeline.h"
#include "train/ranks_plan.h"

namespace tessera::cli {
namespace {

// Whether threads of the pipeline exchange at the same time.
bool PipelineNeedsThread(const TrainFlags& flags) {
  return flags.pipeline != ToString(PipelineKind::kNone);
}

// Reports the rank's end before any other rank can see it.
int Reported(const std::function<int(Communicator*)>& fn, Communicator& comm) {
  try {
    const int code = fn(&comm);
    ReportEnd(code);
    return code;
  } catch (...) {
    ReportEnd(1);
    throw;
  }
}

// mpirun binds each of two ranks to a core, unless it is told otherwise.
void WarnOfBinding(const TrainFlags& flags) {
  const int here = std::max(1, MpiLocalSize()), share = MachineCores() / here;
  const bool told = flags.threads > 0 || std::getenv("TESSERA_THREADS") != nullptr;
  if (MpiRank() != 0 || told || DefaultThreads(here) >= share) return;
  Warn(
      Format("rank 0 is bound to {} of the machine's {}, so it works with as many threads: "
             "mpirun --bind-to none, or --map-by slot:PE={}, lets each rank use its share",
             DefaultThreads(here), Counted(MachineCores(), "core"), share));
}

int OnLocalRanks(int ranks, const std::function<int(Communicator*)>& fn) {
  int result = 0;
  RunLocalRanks(ranks, [&](Communicator& comm) {
    const int mine = fn(&comm);
    if (IsLeader(comm)) result = mine;
  });
  return result;
}

std::string WhereItStands(const std::optional<TrainingProgress>& resumed) {
  if (!resumed) return "";
  return Format("epoch {}, row {}, step {}", resumed->epoch, resumed->row, resumed->step);
}

std::string Given(bool given) { return given ? "given" : ""; }

}  // namespace

bool WithRanks(const TrainFlags& flags) {
  if (flags.ranks && UnderMpirun())
    throw Error("--ranks under mpirun, which says itself how many there are");
  return flags.ranks || UnderMpirun();
}

int OnRanks(const TrainFlags& flags, const std::function<int(Communicator*)>& fn) {
  if (UnderMpirun()) {
    WarnOfBinding(flags);
    MpiOptions options = MpiOptionsOf(PipelineNeedsThread(flags));
    options.rank_timeout_s = flags.rank_timeout.value_or(options.rank_timeout_s);
    options.on_loss = ReportLoss;
    return RunMpiRank(options, [&](Communicator& comm) { return Reported(fn, comm); });
  }
  if (!flags.ranks) return fn(nullptr);
  if (*flags.ranks > 4 * MachineCores())
    Warn(Format("{} ranks are threads on {} of this machine, and take turns", *flags.ranks,
                Counted(MachineCores(), "core")));
  return OnLocalRanks(*flags.ranks, fn);
}

void OnAllAlike(Communicator* comm, const std::function<void()>& fn) {
  if (comm == nullptr) return fn();
  CallAlikeSync(*comm, fn);
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

void CheckRanksAgree(const TrainFlags& flags, Communicator& comm, const TrainConfig& config,
                     const DataSets& data, const std::optional<TrainingProgress>& resumed) {
  std::vector<ConfigKey> facts = FactsOf(config, data);
  const bool on_gpu = !(ParseDevice(flags.device) == Device::Cpu());
  const std::pair<const char*, std::string> of_flags[] = {
      {"--skip-bad-lines", Given(flags.skip_bad_lines)},
      {"--pipeline", flags.pipeline},
      {"--wire-codecs", flags.wire_codecs},
      {"--route", flags.route},
      {"--ranks-per-node", std::to_string(flags.ranks_per_node.value_or(0))},
      {"--sharding-group-size", std::to_string(flags.sharding_group_size.value_or(0))},
      {"--sync-interval", std::to_string(flags.sync_interval.value_or(1))},
      {"--checkpoint", Given(!flags.checkpoint.empty())},
      {"--best", Given(!flags.evaluation.best.empty())},
      {"--checkpoint-every", std::to_string(flags.checkpoint_every)},
      {"--keep-last", std::to_string(flags.keep_last.value_or(0))},
      {"--resume", WhereItStands(resumed)},
      {"--verify", Given(!flags.verify.empty())},
      {"--verify-every", std::to_string(flags.verify_every.value_or(0))},
      {"--metrics", Given(!flags.metrics.empty())},
      {"--mllog", Given(!flags.evaluation.mllog.empty())},
      {"--tensorboard", Given(!flags.tensorboard.empty())},
      {"--trace", Given(!flags.trace.empty())},
      {"--save-plan", Given(!flags.save_plan.empty())},
      {"--device", on_gpu ? "cuda" : "cpu"},
      {"--comm", flags.comm}};
  for (const auto& [flag, value] : of_flags) facts.push_back({"", flag, value});
  CheckAgreement(comm, facts);
}

void SavePlan(const TrainFlags& flags, const TrainingRanks& ranks) {
  if (flags.save_plan.empty() || !IsLeader(*ranks.comm)) return;
  ReplaceTextFile(flags.save_plan, PlanToJson(ranks.plan));
}

namespace {

// The ranks that a plan is for: all, or those of a sharding group. All of a group count as one node
// where mpirun's nodes hold unequal numbers of them. Every rank calls.
RankLayout LayoutSync(const TrainFlags& flags, Communicator& comm) {
  const RankLayout all = RankLayoutSync(comm, flags.ranks_per_node);
  if (NumGroups(flags) == 1) return all;
  const int size = *flags.sharding_group_size;
  const std::optional<RankLayout> layout = LayoutOfGroup(all, size);
  if (!layout && flags.ranks_per_node)
    throw Error(Format(
        "--ranks-per-node {} beside --sharding-group-size {}: nodes of {} ranks hold "
        "unequal numbers of the {} groups' ranks; expected a multiple or a divisor of {}",
        *flags.ranks_per_node, size, *flags.ranks_per_node, NumGroups(flags), NumGroups(flags)));
  return layout.value_or(RankLayout{size, size});
}

ShardingPlan NamedPlan(const TrainFlags& flags, const RankLayout& layout,
                       const TrainConfig& config) {
  try {
    return MakeRanksPlan(flags.plan, layout, ShapesOf(config.tables), config.managed_collision);
  } catch (const Error& error) {
    if (NumGroups(flags) == 1) throw;
    throw Error(Format("{} (--sharding-group-size {}: a plan is for the ranks of one group)",
                       error.what(), *flags.sharding_group_size));
  }
}

WireCodecs CodecsOf(const TrainFlags& flags) {
  return flags.wire_codecs.empty() ? WireCodecs{} : ParseWireCodecs(flags.wire_codecs);
}

// The plan that was asked for, the same on all ranks.
ShardingPlan MakePlan(const TrainFlags& flags, Communicator& comm, const TrainConfig& config) {
  const RankLayout layout = ThrowingAlike([&] { return LayoutSync(flags, comm); });
  ShardingPlan plan;
  if (flags.plan != "auto") {
    CallAlikeSync(comm, [&] { plan = NamedPlan(flags, layout, config); });
    return plan;
  }
  TrainConfig of_group = config;  // which trains on its part of each batch
  of_group.batch_size = std::max<int64_t>(1, config.batch_size / NumGroups(flags));
  return ThrowingAlike([&] {
    return AutoPlan(of_group, comm,
                    {.layout = layout,
                     .device = ParseDevice(flags.device),
                     .topology = flags.topology,
                     .codecs = CodecsOf(flags)});
  });
}

// Throws Error for a plan that does not fit. Every rank calls.
TrainingRanks MakeTrainingRanks(const TrainFlags& flags, Communicator& comm,
                                const TrainConfig& config) {
  TrainingRanks ranks{.comm = &comm, .plan = MakePlan(flags, comm, config)};
  CheckAgreement(comm, FactsOf(ranks.plan));
  CallAlikeSync(comm, [&] {
    CheckPlanOfRawIds(config.tables, config.managed_collision, ranks.plan, flags.plan);
    CheckPlanOfRules(config.tables, ranks.plan, flags.plan);
    CheckPipelineKind(ParsePipelineKind(flags.pipeline), config, &ranks.plan);
    if (NumGroups(flags) > 1) CheckGroupTables(config, &ranks.plan);
  });
  if (NumGroups(flags) > 1) {
    ranks.groups = std::make_shared<TwoDimensionalGroups>(
        MakeTwoDimensionalGroups(comm, *flags.sharding_group_size));
    ranks.sync_interval = flags.sync_interval.value_or(ranks.sync_interval);
  }
  if (!flags.route.empty()) ranks.route = ParseOutputRoute(flags.route);
  ranks.codecs = CodecsOf(flags);
  return ranks;
}

// The ranks whose tables lie in the memory of this machine. `ranks` outlives it.
TrainingPlace PlaceOf(const TrainingRanks& ranks) {
  const int size = ranks.comm->size(), here = UnderMpirun() ? MpiLocalSize() : size;
  const int together = here > 0 && size % here == 0 ? here : size;
  TrainingPlace place = {.plan = &ranks.plan, .ranks = {}, .groups = ranks.num_groups()};
  const int first = ranks.comm->rank() / together * together;
  for (int r = first; r < first + together; ++r) place.ranks.push_back(r / ranks.num_groups());
  return place;
}

// "2 stay whole on one rank: kinds [300, 4], users [500, 12]"; one of them "stays".
std::string TablesThat(const char* stays, const char* stay, const char* where,
                       const std::vector<std::string>& tables) {
  return Format("{} {} {}: {}", tables.size(), tables.size() == 1 ? stays : stay, where,
                internal::JoinedFirst(tables, 4));
}

// " (1 stays whole on one rank: kinds [300, 4]; 1 lies on fewer ranks: days [3, 16] on 3 of 4)", or
// "" where all are cut for all ranks.
std::string UncutText(const ShardingPlan& plan, ShardingType type) {
  const std::vector<std::string> whole = UncutTables(plan, type),
                                 fewer = TablesOnFewerRanks(plan, type);
  std::vector<std::string> parts;
  if (!whole.empty()) parts.push_back(TablesThat("stays", "stay", "whole on one rank", whole));
  if (!fewer.empty()) parts.push_back(TablesThat("lies", "lie", "on fewer ranks", fewer));
  return parts.empty() ? "" : Format(" ({})", internal::Joined(parts, "; "));
}

// Whether rows of some table go from rank to rank.
bool RowsTravel(const ShardingPlan& plan) {
  return plan.world_size > 1 && std::ranges::any_of(plan.tables, [](const auto& table) {
           return table.second.type != ShardingType::kDataParallel;
         });
}

// "4 ranks (nccl): 2 tables row_wise, 1 table table_wise; embeddings and gradients as fp16"; in
// groups "4 ranks (nccl) in 2 sharding groups of 2, averaged every 10 steps: 2 tables …".
std::string RanksLine(const TrainingRanks& ranks) {
  std::map<ShardingType, int> tables;
  for (const auto& [name, sharding] : ranks.plan.tables) ++tables[sharding.type];
  const int size = ranks.comm->size();
  std::string line = Format("{} ({})", Counted(size, "rank"), ranks.comm->backend());
  if (ranks.groups) line += " in " + GroupsText(ranks);
  const char* separator = ": ";
  for (const auto& [type, count] : tables) {
    line += Format("{}{} {}{}", separator, Counted(count, "table"), ToString(type),
                   UncutText(ranks.plan, type));
    separator = ", ";
  }
  if (ranks.codecs.dense != WireCodec{} || (ranks.codecs != WireCodecs{} && RowsTravel(ranks.plan)))
    line +=
        Format("; embeddings{} gradients{} travel as {}",
               ranks.codecs.dense == WireCodec{} ? " and" : ", their",
               ranks.codecs.dense == WireCodec{} ? "" : " and dense ones", ToString(ranks.codecs));
  return line;
}

// It is no error, for tessera launch may go on with the ranks of one node.
void WarnOfRoute(const TrainFlags& flags, const ShardingPlan& plan) {
  const int ranks = plan.local_size, nodes = plan.world_size / ranks;
  if (flags.route != ToString(OutputRoute::kByNode) || (ranks > 1 && nodes > 1)) return;
  Warn(Format(
      "--route by_node beside {} of {} changes nothing: there is nothing to add up before it "
      "leaves a node; --ranks-per-node N names nodes",
      Counted(nodes, "node"), Counted(ranks, "rank")));
}

// It is no error, for tessera launch may go on with one rank.
void SayIdleCodecs(const TrainFlags& flags, const TrainingRanks& ranks) {
  if (ranks.codecs == WireCodecs{} || RowsTravel(ranks.plan)) return;
  Note(Format("--wire-codecs {}: no rows travel, as {}, so none are encoded", flags.wire_codecs,
              ranks.plan.world_size == 1 ? "there is one rank" : "all tables are data_parallel"));
}

LogFields FactsOfLine(const TrainingRanks& ranks) {
  LogFields fields = {{"ranks", ranks.comm->size()}};
  if (!ranks.groups) return fields;
  fields.push_back({"sharding_group_size", ranks.sharding().size()});
  fields.push_back({"sync_interval", ranks.sync_interval});
  return fields;
}

MemoryThere FreeOn(Device device) {
  if (device == Device::Cpu()) return {};
  return {static_cast<double>(FreeMemoryOf(device)), Format("free on {}", device)};
}

// The memory that was free before any rank began to fill its tables.
struct MemoriesThere {
  MemoryThere host, gpu;
};

// Throws Error where this machine, or this rank's GPU, has not the memory that the training takes.
void CheckMemories(Context& ctx, const TrainConfig& config, TrainingPlace place,
                   const GpuRanks& gpus, const MemoriesThere& there) {
  if (ctx.device() == Device::Cpu()) return CheckTrainingMemory(config, place, there.host);
  place.memory = MemoryOf::kHostOfGpus;
  CheckTrainingMemory(config, place, there.host);
  place.memory = MemoryOf::kGpu;
  place.ranks = gpus.sharing;
  for (int& rank : place.ranks) rank /= place.groups;
  CheckTrainingMemory(config, place, there.gpu);
}

}  // namespace

MemoryThere WithRanksHere(MemoryThere there, const TrainFlags& flags, Context& ctx,
                          const TrainingPlace& place) {
  constexpr double kToCome = 8 << 20;
  constexpr double kThreadBytes = 128 << 10;  // of its stack and of what its allocator keeps
  const auto ranks = static_cast<double>(place.ranks.size());
  const double processes = UnderMpirun() ? ranks : 1;
  if (flags.memory_limit.empty()) there.bytes += (processes - 1) * there.processes;
  there.processes =
      processes * (there.processes + kToCome) + ranks * ctx.threads().threads() * kThreadBytes;
  return there;
}

std::optional<TrainingRanks> PlanRanks(Context& ctx, const TrainFlags& flags,
                                       const TrainConfig& config, const MemoryThere& host,
                                       const GpuRanks& gpus, Communicator* comm) {
  MemoriesThere there = {host, FreeOn(ctx.device())};
  if (comm == nullptr) {
    there.host = WithRanksHere(host, flags, ctx, {});
    CheckMemories(ctx, config, {}, gpus, there);
    return {};
  }
  TrainingRanks ranks = MakeTrainingRanks(flags, *comm, config);
  there.host = WithRanksHere(host, flags, ctx, PlaceOf(ranks));
  CallAlikeSync(*comm, [&] { CheckMemories(ctx, config, PlaceOf(ranks), gpus, there); });
  if (IsLeader(*comm)) WarnOfRoute(flags, ranks.plan);
  if (IsLeader(*comm)) SayIdleCodecs(flags, ranks);
  if (IsLeader(*comm)) Note(RanksLine(ranks), FactsOfLine(ranks));
  return ranks;
}

TrainingPlace HostPlace(const Context& ctx, const std::optional<TrainingRanks>& ranks) {
  TrainingPlace place = ranks ? PlaceOf(*ranks) : TrainingPlace();
  if (ctx.device() != Device::Cpu()) place.memory = MemoryOf::kHostOfGpus;
  return place;
}

}  // namespace tessera::cli
