// tessera reshard: writes a checkpoint of any form for another number of ranks or another plan.
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "cli/changed_statistics.h"
#include "cli/command.h"
#include "cli/config_flags.h"
#include "cli/outputs.h"
#include "cli/plan/auto_plan.h"
#include "cli/show/byte_progress.h"
#include "cli/show/log.h"
#include "cli/show/numbers.h"
#include "runtime/base/check.h"
#include "serve/export/model_writer.h"
#include "sharding/checkpoint/reshard_checkpoint.h"
#include "train/checkpoint/as_of_ranks.h"
#include "train/checkpoint/saved_form.h"
#include "train/checkpoint/whole_tables.h"
#include "train/ranks_plan.h"

namespace tessera::cli {
namespace {

constexpr char kReshardDescription[] =
    "Rewrite a checkpoint of any form for a number of ranks and a plan: weights, optimizer "
    "state, and where the training stands.";
constexpr char kReshardFooter[] =
    "\nExamples:\n"
    "  tessera reshard ckpt --ranks 16 --plan plan.json --out ckpt16\n"
    "  tessera reshard ckpt --ranks 8 --ranks-per-node 4 --plan row_wise --out ckpt8\n"
    "  tessera reshard model.safetensors --ranks 4 --plan auto --out ckpt4\n"
    "\n"
    "A plan file is one of this library (JSON), or of TorchRec (JSON, or as it prints one). "
    "table_wise gives each table to the rank that has the least so far, the largest table first. "
    "Without --plan, tables larger than a rank's equal share are split by rows over all ranks, and "
    "the others are placed like table_wise.\n";

struct ReshardFlags {
  std::vector<std::string> set;
  std::string checkpoint, plan, topology, out, config;
  int ranks = 1, ranks_per_node = 0;  // 0: all ranks
  bool overwrite = false;
};

int64_t BytesIn(const CheckpointIndex& index) {
  int64_t bytes = 0;
  for (const StoredFile& file : index.files) bytes += file.bytes;
  return bytes;
}

TrainConfig ReadConfig(const ReshardFlags& flags, const Checkpoint& checkpoint) {
  return serve::ReadConfig(checkpoint, ReadConfigIfGiven(flags.config, flags.set));
}

ShardedCheckpoint Open(const ReshardFlags& flags) {
  if (IsOfRanks(DetectForm(flags.checkpoint))) return OpenFolderOfRanks(flags.checkpoint);
  Checkpoint checkpoint = ReadCheckpoint(flags.checkpoint);
  const TrainConfig model = ReadConfig(flags, checkpoint);
  return AsOfRanks(std::move(checkpoint), model);
}

// The configuration of what is resharded; absent if nobody says it.
std::optional<TrainConfig> ConfigOf(const ReshardFlags& flags, const ShardedCheckpoint& from) {
  if (!flags.config.empty()) return ReadConfigIfGiven(flags.config, flags.set);
  const auto& metadata = from.info().metadata;
  const auto found = metadata.find("config");
  if (found == metadata.end() || found->second.empty()) return {};
  return ParseTrainConfig(found->second, from.folder());
}

// Throws Error for raw ids that ranks cannot take: only a training puts them in other parts.
void CheckRawIds(const ReshardFlags& flags, const std::optional<TrainConfig>& config,
                 const ShardingPlan& plan) {
  if (!config) return;
  try {
    CheckPlanOfRawIds(config->tables, config->managed_collision, plan, flags.plan);
  } catch (const Error& error) {
    throw Error(
        Format("{}: {}. tessera train --resume {} --ranks {} --set "
               "managed_collision.num_parts=N goes on from it in other parts",
               flags.checkpoint, error.what(), flags.checkpoint, flags.ranks));
  }
}

ShardingPlan PlanFor(const ReshardFlags& flags, const std::vector<TableShape>& tables,
                     const std::optional<TrainConfig>& config) {
  const RankLayout layout{flags.ranks,
                          flags.ranks_per_node == 0 ? flags.ranks : flags.ranks_per_node};
  if (flags.plan == "auto")
    return FindAutoPlan(ReadConfig(flags, ReadCheckpoint(flags.checkpoint)),
                        {.layout = layout, .topology = flags.topology});
  if (!flags.topology.empty()) throw Error("--topology needs --plan auto");
  return MakeRanksPlan(flags.plan, layout, tables,
                       config ? config->managed_collision : ManagedTableConfigs());
}

int Reshard(const ReshardFlags& flags) {
  ShardedCheckpoint from = Open(flags);
  const std::optional<TrainConfig> config = ConfigOf(flags, from);
  const ShardingPlan plan = PlanFor(flags, ShapesOf(from.info()), config);
  CheckRawIds(flags, config, plan);
  if (config) CheckPlanOfRules(config->tables, plan, flags.plan);
  SayChangedStatistics(from.index(), plan);
  Outputs outputs(flags.overwrite, {flags.checkpoint, flags.config});
  outputs.AddFolder(flags.out, flags.checkpoint);
  CheckSavesInto(flags.out, SavedForm::kRanks);
  double seconds = 0;
  {
    ByteProgress progress;
    ReshardCheckpoint(from, plan, flags.out,
                      [&](int64_t done, int64_t total) { progress.Show(done, total); });
    seconds = progress.seconds();
  }
  const int64_t bytes = BytesIn(ShardedCheckpoint(flags.out).index());
  Note(Format("{}: {} for {}, {}, in {}", flags.out, Counted(std::ssize(plan.tables), "table"),
              Counted(plan.world_size, "rank"), Bytes(bytes), Duration(seconds)),
       {{"path", flags.out}, {"bytes", bytes}, {"seconds", seconds}});
  return 0;
}

}  // namespace

void AddReshardCommand(Command app) {
  Command command = app.AddCommand("reshard", kReshardDescription);
  const auto f = std::make_shared<ReshardFlags>();
  const auto ranks = NumbersFrom(1, 1 << 20);
  command.Add("checkpoint", f->checkpoint, "A checkpoint of tessera train in any form")
      .Required()
      .Value("PATH");
  command.Add("--ranks,--world-size", f->ranks, "Number of ranks to write it for")
      .Required()
      .Within(ranks)
      .Value("N");
  command
      .Add("--ranks-per-node,--local-size", f->ranks_per_node,
           "Number of ranks on each node; default: all of them")
      .Within(ranks)
      .Value("N");
  command
      .Add("--plan", f->plan,
           "Sharding plan: a plan file; table_wise, row_wise, table_row_wise, column_wise or "
           "data_parallel for every table; or auto, which runs the planner")
      .Value("PLAN");
  command
      .Add("--topology", f->topology,
           "With --plan auto: the machine to plan for, a file of tessera calibrate, or "
           "cpu, a100, h100 or h200")
      .Value("FILE|NAME");
  command.Add("-o,--out", f->out, "Write to this folder, which may be the same")
      .Required()
      .Value("DIR");
  AddConfigFlags(command,
                 "Read the training configuration from this file if the checkpoint has none inside",
                 f->config, f->set);
  AddOverwriteFlag(command, f->overwrite);
  command.Footer(kReshardFooter);
  command.Run([f] { return Reshard(*f); });
}

}  // namespace tessera::cli
