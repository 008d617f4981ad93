#include "cli/train/resumed.h"

#include <utility>
#include <vector>

#include "cli/changed_statistics.h"
#include "cli/show/checkpoint_summary.h"
#include "cli/show/log.h"
#include "cli/show/numbers.h"
#include "train/checkpoint/as_of_ranks.h"
#include "train/checkpoint/raw_id_parts.h"
#include "train/checkpoint/whole_tables.h"

namespace tessera::cli {
namespace {

// Throws Error for optimizer state without a place in a training: rules that count steps would go
// on from step 0 with states of a later one.
void CheckHasProgress(const std::string& path, bool has_state, const Resumed& resumed) {
  if (!has_state || resumed.progress) return;
  throw Error(Format(
      "{}: it has states of optimizers, but its metadata do not say where the training stands: "
      "expected {} (docs/saved_models.md says what they are). tessera export --weights-only leaves "
      "the states out, and optimizers start afresh",
      path, ProgressKeys()));
}

std::string ConfigIn(const ShardedCheckpoint& folder) {
  const auto& metadata = folder.info().metadata;
  const auto found = metadata.find("config");
  return found == metadata.end() ? "" : found->second;
}

// Loads the whole checkpoint in a run without ranks. False if it holds weights alone.
bool LoadAlone(const TrainFlags& flags, Trainer& trainer, Resumed& resumed) {
  if (IsOfRanks(resumed.form)) SayChangedStatistics(OpenFolderOfRanks(flags.resume).index());
  return trainer.Load(*std::exchange(resumed.checkpoint, std::nullopt));
}

// Whether raw ids go to other parts than they were saved in: tables are then put together first.
bool MovesIds(const Trainer& trainer, const std::string& config) {
  return !config.empty() && PartsDiffer(config, trainer.config());
}

// Says what became of raw ids whose parts, or shared rows, are others than they were saved with.
void SayMovedIds(const std::vector<MovedIds>& moved) {
  for (const MovedIds& of : moved) {
    std::string text = Format("resume: table '{}': {} {} {}", of.table, Counted(of.ids, "raw id"),
                              of.num_parts == of.num_parts_before ? "stayed in" : "went to",
                              of.num_parts == 0 ? "one part" : Counted(of.num_parts, "part"));
    if (of.without_row > 0)
      text += Format(", where {} of them have no row: their parts are full", Count(of.without_row));
    if (of.shared_rows != of.shared_rows_before)
      text += Format("; ids without a row share {}{}, where they shared {}",
                     Counted(of.shared_rows, "row"), of.num_parts > 0 ? " in each part" : "",
                     of.shared_rows_before);
    if (of.sketch_starts_anew) text += "; the sketch of admit_after starts anew";
    Note(text);
  }
}

// Loads this rank's part of the checkpoint. False if it holds weights alone.
bool LoadOnRank(const TrainFlags& flags, Trainer& trainer, SavedForm form, bool is_leader) {
  const ShardingPlan& plan = trainer.model().sharded()->tables().plan();
  if (IsOfRanks(form)) {
    ShardedCheckpoint folder = OpenFolderOfRanks(flags.resume);
    const bool moves_ids = MovesIds(trainer, ConfigIn(folder));
    if (is_leader && !moves_ids) SayChangedStatistics(folder.index(), plan);
    if (is_leader && moves_ids) SayChangedStatistics(folder.index());
    return trainer.Load(folder);
  }
  const Checkpoint checkpoint = ReadCheckpoint(flags.resume);
  if (is_leader) SayChangedStatistics(AsOfRanks(checkpoint, trainer.config()).index(), plan);
  return trainer.Load(checkpoint);
}

}  // namespace

Resumed ReadResumed(const TrainFlags& flags, bool with_ranks) {
  Resumed resumed;
  if (flags.resume.empty()) return resumed;
  resumed.form = DetectForm(flags.resume);
  if (with_ranks && IsOfRanks(resumed.form)) {
    const ShardedCheckpoint folder = OpenFolderOfRanks(flags.resume);
    resumed.config = ConfigIn(folder);
    resumed.progress = ParseProgress(folder.info().metadata);
    CheckHasProgress(flags.resume, HasOptimizerState(folder.index()), resumed);
    return resumed;
  }
  Checkpoint checkpoint = ReadCheckpoint(flags.resume);
  resumed.config = checkpoint.config;
  resumed.of_program = IsOfProgram(checkpoint);
  resumed.progress = checkpoint.progress;
  resumed.chain = checkpoint.chain;
  CheckHasProgress(flags.resume, checkpoint.has_optimizer_state(), resumed);
  if (!with_ranks) resumed.checkpoint = std::move(checkpoint);
  return resumed;
}

std::optional<ResumedRun> RunOf(const TrainFlags& flags, const Resumed& resumed) {
  if (!resumed.progress) return std::nullopt;
  return ResumedRun{flags.resume, resumed.config, *resumed.progress};
}

bool LoadResumed(const TrainFlags& flags, Trainer& trainer, Resumed& resumed, bool is_leader) {
  const bool with_run = trainer.comm() == nullptr
                            ? LoadAlone(flags, trainer, resumed)
                            : LoadOnRank(flags, trainer, resumed.form, is_leader);
  if (!with_run && resumed.progress)
    throw Error(Format(
        "{}: it says that {} were trained, but has no state of the optimizers, and this model's "
        "have some. tessera export --weights-only leaves out where the training stands, and "
        "optimizers start afresh",
        flags.resume, Counted(resumed.progress->step, "step")));
  if (is_leader) SayMovedIds(trainer.moved_ids());
  return with_run;
}

}  // namespace tessera::cli
