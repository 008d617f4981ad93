// tessera export: a checkpoint of any form as one plain safetensors file, or as the next delta of a
// model directory.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/changed_statistics.h"
#include "cli/command.h"
#include "cli/config_flags.h"
#include "cli/files.h"
#include "cli/outputs.h"
#include "cli/show/byte_progress.h"
#include "cli/show/checkpoint_summary.h"
#include "cli/show/log.h"
#include "cli/show/numbers.h"
#include "runtime/base/joined.h"
#include "runtime/context.h"
#include "serve/export/delta_writer.h"
#include "serve/export/model_writer.h"
#include "sharding/checkpoint/checkpoint.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/saved_form.h"
#include "train/checkpoint/version_folders.h"
#include "train/checkpoint/whole_tables.h"

namespace tessera::cli {
namespace {

constexpr char kExportDescription[] =
    "Write a checkpoint of any form as one safetensors file with whole tables, as a training "
    "without ranks saves it; or its changes to a model directory as the directory's next delta.";
constexpr char kExportFooter[] =
    "\n"
    "Examples:\n"
    "  tessera export folder_of_ranks --out model.safetensors\n"
    "  tessera export incremental --out weights.safetensors --weights-only\n"
    "  tessera export newer.safetensors --delta model\n"
    "\n"
    "A delta has the rows whose stored bytes differ from the directory's newest version, new "
    "rows and raw ids, and the dense part; it is written beside model.json as "
    "delta-VERSION.safetensors. A running tessera serve takes it while it answers. If the "
    "directory is on another machine, copy the file there under another name, then rename it.\n";

struct ExportFlags {
  std::vector<std::string> set;
  std::string checkpoint, out, delta, config, nan = "error";
  int threads = 0;
  bool weights_only = false, overwrite = false;
};

// "3 tables"; a program's own model has names of its own: "5 tensors of SaveCheckpoint".
std::string ContentsOf(const Checkpoint& checkpoint) {
  const bool of_program = IsOfProgram(checkpoint);
  const auto count = std::count_if(
      checkpoint.tensors.begin(), checkpoint.tensors.end(), [&](const CheckpointEntry& t) {
        return of_program ? !IsRunState(t.name) : !TableOf(t.name).empty();
      });
  return of_program ? Counted(count, "tensor") + " of SaveCheckpoint" : Counted(count, "table");
}

void Report(const serve::WrittenDelta& delta) {
  std::vector<std::vector<std::string>> rows = {
      {"table", "rows", "changed", "of them new", "ids set", "ids removed"}};
  for (const serve::TableChange& table : delta.tables)
    rows.push_back({table.spec.name, Count(table.spec.rows), Count(table.changed),
                    Count(table.added), Count(table.ids_set), Count(table.ids_removed)});
  const auto bytes = BytesWritten(delta.path);
  Note(Format("{}\n{}: version {}, {}", TextTable(rows), delta.path, delta.version, Bytes(bytes)),
       {{"path", delta.path}, {"version", delta.version}, {"bytes", bytes}});
}

// Rows that pruning dropped stay dropped, whatever training did to them since.
void WarnOfPrunedTables(const serve::WrittenDelta& delta, const std::string& directory) {
  std::vector<std::string> pruned;
  for (const serve::TableChange& table : delta.tables)
    if (table.spec.pruned())
      pruned.push_back(Format("{} ({} of {} rows)", table.spec.name, Count(table.spec.rows),
                              Count(table.spec.ids)));
  if (pruned.empty()) return;
  Warn(
      Format("{}: pruned tables keep the rows that tessera quantize chose for them: {}; rows that "
             "training met or changed since are not among them. tessera quantize chooses anew",
             directory, internal::Joined(pruned)));
}

// Throws unless the delta goes on from the model's own training. A checkpoint or model that does
// not say how far it was trained passes.
void CheckGoesOn(const ExportFlags& flags, const serve::ServedModel& model,
                 const Checkpoint& checkpoint) {
  const auto &before = model.spec().trained, after = serve::TrainedOf(checkpoint);
  if (!before || !after || (before->seed == after->seed && before->step <= after->step)) return;
  throw Error(Format(
      "{}: its version {} is of step {} of a training with seed {}, but {} is of step {} of one "
      "with seed {}: expected what the same training learned later; --overwrite writes it all "
      "the same",
      flags.delta, model.spec().version, before->step, before->seed, flags.checkpoint, after->step,
      after->seed));
}

void CheckModelDirectory(const std::string& path) {
  const SavedForm form = DetectForm(path);
  if (form == SavedForm::kModelDirectory) return;
  throw Error(Format("--delta {}: it is {}: expected {}", path, Described(form),
                     Described(SavedForm::kModelDirectory)));
}

int ExportDelta(const ExportFlags& flags) {
  CheckModelDirectory(flags.delta);
  const std::optional<TrainConfig> config = ReadConfigIfGiven(flags.config, flags.set);
  Outputs outputs(flags.overwrite, {flags.checkpoint, flags.config});
  const auto place = PlaceOfVersion(flags.delta);  // its folder's versions share their numbers
  const std::string locked = place ? place->folder : flags.delta;
  outputs.AddFolder(locked, locked);
  Context ctx({.threads = flags.threads});
  const Checkpoint checkpoint = ReadCheckpoint(flags.checkpoint);
  serve::ModelChain chain(flags.delta);
  if (!flags.overwrite) CheckGoesOn(flags, *chain.model(), checkpoint);
  const auto delta = serve::WriteDelta(ctx, checkpoint, config, chain, ParseNanPolicy(flags.nan));
  Report(delta);
  WarnOfPrunedTables(delta, flags.delta);
  return 0;
}

int ExportFile(const ExportFlags& flags, const Checkpoint& from, const std::string& counted) {
  double seconds = 0;
  {
    ByteProgress progress;
    WriteWhole(from, flags.out,
               {.run_state = !flags.weights_only,
                .progress = [&](int64_t done, int64_t total) { progress.Show(done, total); }});
    seconds = progress.seconds();
  }
  const auto bytes = BytesWritten(flags.out);
  Note(Format("{}: {}, {}, in {}", flags.out, counted, Bytes(bytes), Duration(seconds)),
       {{"path", flags.out}, {"bytes", bytes}, {"seconds", seconds}});
  return 0;
}

int Export(const ExportFlags& flags) {
  if (!flags.delta.empty()) return ExportDelta(flags);
  if (flags.out.empty()) throw Error("give --out FILE or --delta DIR to say what is written");
  Outputs outputs(flags.overwrite, {flags.checkpoint});
  outputs.AddFile(flags.out);
  if (!IsOfRanks(DetectForm(flags.checkpoint))) {
    const Checkpoint from = ReadCheckpoint(flags.checkpoint);
    return ExportFile(flags, from, ContentsOf(from));
  }
  ShardedCheckpoint folder = OpenFolderOfRanks(flags.checkpoint);
  if (!flags.weights_only) SayChangedStatistics(folder.index());
  return ExportFile(flags, WholeTables(folder), Counted(std::ssize(folder.info().tables), "table"));
}

}  // namespace

void AddExportCommand(Command app) {
  Command command = app.AddCommand("export", kExportDescription);
  const auto f = std::make_shared<ExportFlags>();
  command.Add("checkpoint", f->checkpoint, "A checkpoint of tessera train in any form")
      .Required()
      .Value("PATH");
  Flag out =
      command
          .Add("-o,--out", f->out, "Write one safetensors file; either this or --delta is needed")
          .Value("FILE");
  Flag delta = command
                   .Add("--delta", f->delta,
                        "Write the next delta of this model directory of tessera quantize")
                   .Value("DIR");
  out.Excludes(delta);
  command
      .Add("--weights-only", f->weights_only,
           "With --out: leave out optimizer state and where the training stands; rows that raw ids "
           "have stay")
      .Needs(out);
  AddConfigFlags(
      command,
      "With --delta: read the training configuration from this file if the checkpoint has "
      "none inside",
      f->config, f->set)
      .Needs(delta);
  command
      .Add("--nan", f->nan,
           "With --delta: a NaN in a table is an error (the default), or becomes zero")
      .Needs(delta)
      .Value("error|zero");
  command
      .Add("--threads", f->threads,
           "With --delta: number of threads that encode rows; default: all cores")
      .Within(NumbersFrom(1, 1024))
      .Needs(delta)
      .Value("N");
  AddOverwriteFlag(command, f->overwrite);
  command.Footer(kExportFooter);
  command.Run([f] { return Export(*f); });
}

}  // namespace tessera::cli
