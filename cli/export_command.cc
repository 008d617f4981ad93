// tessera export: a sharded checkpoint as one plain safetensors file.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/byte_progress.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/numbers.h"
#include "sharding/plan_makers.h"
#include "train/checkpoint/export_checkpoint.h"

namespace tessera::cli {
namespace {

constexpr char kDescription[] =
    "Write a sharded checkpoint as one safetensors file with whole tables, as a training without "
    "ranks saves it.";

struct Flags {
  std::string checkpoint, out;
  bool weights_only = false;
};

void SayWhatChanges(const CheckpointIndex& index) {
  const ShardingPlan whole = MakeShardingPlan({}, ShapesOf(index.info), TableWise(0));
  for (const std::string& sentence : StatisticsChanged(index, whole))
    std::fprintf(stderr, "%s\n", sentence.c_str());
}

int Export(const Flags& flags) {
  CheckWritable(flags.out);
  ShardedCheckpoint from(flags.checkpoint);
  if (!flags.weights_only) SayWhatChanges(from.index());
  double seconds = 0;
  {
    ByteProgress progress;
    ExportCheckpoint(
        from, flags.out,
        {.optimizer_state = !flags.weights_only,
         .progress = [&](int64_t done, int64_t total) { progress.Show(done, total); }});
    seconds = progress.seconds();
  }
  std::printf("%s: %zu tables, %s, in %s\n", flags.out.c_str(), from.info().tables.size(),
              Bytes(static_cast<int64_t>(std::filesystem::file_size(flags.out))).c_str(),
              Duration(seconds).c_str());
  return 0;
}

}  // namespace

void AddExportCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("export", kDescription);
  const auto f = std::make_shared<Flags>();
  command->add_option("checkpoint", f->checkpoint, "Folder of a sharded checkpoint")
      ->required()
      ->type_name("DIR");
  command->add_option("--out", f->out, "Where to write")->required()->type_name("FILE");
  command->add_flag("--weights-only", f->weights_only,
                    "Leave out optimizer state and where the training stands");
  command->callback([f, &action] { action = [f] { return Export(*f); }; });
}

}  // namespace tessera::cli
