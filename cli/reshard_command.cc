// tessera reshard: a checkpoint of any form for another number of ranks, or another plan.
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "cli/changed_statistics.h"
#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/show/byte_progress.h"
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

constexpr char kDescription[] =
    "Write a checkpoint of any form anew for a number of ranks and a plan: weights, "
    "optimizer state, and where the training stands.";
constexpr char kFooter[] =
    "\nExamples:\n"
    "  tessera reshard ckpt --world-size 16 --plan plan.json --out ckpt16\n"
    "  tessera reshard ckpt --world-size 8 --local-size 4 --plan row_wise --out ckpt8\n"
    "  tessera reshard model.safetensors --world-size 4 --plan table_wise --out ckpt4\n"
    "\n"
    "A plan is a file of this library's (JSON), or of TorchRec's (JSON, or as it prints one). "
    "table_wise deals tables out, the largest first, each to the rank that has the least.\n";

struct Flags {
  std::string checkpoint, plan, out, config;
  int world_size = 1, local_size = 0;  // 0: world_size
  bool overwrite = false;
};

ShardingPlan PlanFor(const Flags& flags, const std::vector<TableShape>& tables) {
  const RankLayout layout{flags.world_size,
                          flags.local_size == 0 ? flags.world_size : flags.local_size};
  return MakeRanksPlan(flags.plan, layout, tables);
}

int64_t BytesIn(const CheckpointIndex& index) {
  int64_t bytes = 0;
  for (const StoredFile& file : index.files) bytes += file.bytes;
  return bytes;
}

ShardedCheckpoint Open(const Flags& flags) {
  if (IsOfRanks(FormOf(flags.checkpoint))) return OpenFolderOfRanks(flags.checkpoint);
  std::optional<TrainConfig> config;
  if (!flags.config.empty()) config = ReadTrainConfig(flags.config);
  Checkpoint checkpoint = ReadCheckpoint(flags.checkpoint);
  const TrainConfig model = serve::ConfigOf(checkpoint, config);
  return AsOfRanks(std::move(checkpoint), model);
}

int Reshard(const Flags& flags) {
  ShardedCheckpoint from = Open(flags);
  const ShardingPlan plan = PlanFor(flags, ShapesOf(from.info()));
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
  std::printf("%s: %zu tables for %d ranks, %s, in %s\n", flags.out.c_str(), plan.tables.size(),
              plan.world_size, Bytes(BytesIn(ShardedCheckpoint(flags.out).index())).c_str(),
              Duration(seconds).c_str());
  return 0;
}

}  // namespace

void AddReshardCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("reshard", kDescription);
  const auto f = std::make_shared<Flags>();
  const auto ranks = NumbersFrom(1, 1 << 20);
  command->add_option("checkpoint", f->checkpoint, "A checkpoint of tessera train in any form")
      ->required()
      ->type_name("PATH");
  command->add_option("--world-size", f->world_size, "Write it for so many ranks")
      ->required()
      ->check(ranks)
      ->type_name("N");
  command
      ->add_option("--local-size", f->local_size,
                   "So many ranks share a node; default: all of them")
      ->check(ranks)
      ->type_name("N");
  command
      ->add_option("--plan", f->plan,
                   "Say which rank gets what of each table: a plan file, or table_wise, row_wise, "
                   "column_wise or data_parallel for every table")
      ->required()
      ->type_name("PLAN");
  command->add_option("-o,--out", f->out, "Write to this folder, which may be the same")
      ->required()
      ->type_name("DIR");
  command
      ->add_option(
          "--config", f->config,
          "Take the training configuration from this file where the checkpoint has none inside")
      ->type_name("FILE");
  AddOverwriteFlag(*command, f->overwrite);
  command->footer(kFooter);
  command->callback([f, &action] { action = [f] { return Reshard(*f); }; });
}

}  // namespace tessera::cli
