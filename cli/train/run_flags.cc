#include "cli/train/run_flags.h"

#include <filesystem>
#include <utility>

#include "cli/files.h"
#include "cli/runs/run_folder.h"
#include "cli/show/numbers.h"
#include "cli/train/flags/evaluation_flags.h"
#include "cli/train/run_start.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "train/checkpoint/saved_form.h"
#include "train/config/config_keys.h"
#include "train/pipeline/pipeline_kind.h"
#include "train/task_meter.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;
using internal::Json;

std::string PlaceOf(const TrainFlags& flags, const std::string& name, bool is_folder) {
  return PathIn(flags.run, CheckpointName(name, is_folder));
}

void CheckAlone(const TrainFlags& flags) {
  const std::pair<const char*, const std::string&> own[] = {{"--checkpoint", flags.checkpoint},
                                                            {"--best", flags.evaluation.best},
                                                            {"--metrics", flags.metrics},
                                                            {"--json", flags.json}};
  for (const auto& [flag, value] : own)
    if (!value.empty())
      throw Error(
          Format("{} {} beside --run {}, which keeps that in its folder: leave one of them "
                 "out",
                 flag, value, flags.run));
}

// Throws Error for a folder with files in it that are no run's. Another process may be writing
// run.json at this moment, by another name first.
void CheckFolder(const std::string& folder) {
  if (!IsThere(folder) || IsRunFolder(folder)) return;
  if (!tessera::IsFolder(folder))
    throw Error(Format("--run {}: a file is there: name a folder", folder));
  for (const std::string& name : EntriesOf(folder))
    if (!name.starts_with('.') && !name.starts_with(kRunDocument))
      throw Error(Format("--run {}: {} is there, and no run of tessera train: name another folder",
                         folder, name));
}

// Throws Error that says what to do about a run.json that does not hold a run's document.
void CheckReadable(const std::string& folder) {
  try {
    ReadRunDocument(folder);
  } catch (const Error& error) {
    throw Error(
        Format("{}: name another folder, or give --overwrite to begin the run anew", error.what()));
  }
}

// Whether a save there is complete.
bool HasCheckpoint(const std::string& path) {
  return tessera::IsFolder(path) ? FormIn(path).has_value() : IsThere(path);
}

// Throws Error where the run has saved the checkpoint `which`, "last" or "best", that is not at its
// path now: its model, curve and result are not replaced without a word.
void CheckNeverSaved(const TrainFlags& flags, const std::string& which, const std::string& path) {
  if (HasCheckpoint(path) || !HasSaved(ReadRunDocument(flags.run), which)) return;
  throw Error(
      Format("--run {}: this run has saved {}, which is missing, so it cannot go on: bring it "
             "back, name another folder, or give --overwrite to begin the run anew",
             flags.run, path));
}

bool IsFolder(const TrainFlags& flags, bool with_ranks) { return with_ranks || flags.incremental; }

// Throws Error where the run has saved a checkpoint of this name in the other form.
void CheckSameForm(const TrainFlags& flags, const std::string& name, bool is_folder) {
  const std::string other = PlaceOf(flags, name, !is_folder);
  if (HasCheckpoint(other))
    throw Error(
        Format("--run {}: its checkpoint is {}, but this start saves {}: give --ranks and "
               "--incremental as the run began, or name another folder",
               flags.run, other, PlaceOf(flags, name, is_folder)));
}

// The checkpoint that the run goes on from: the last, else the best; "" where it has saved neither.
std::string SavedIn(const TrainFlags& flags, bool with_ranks) {
  const std::string best = PlaceOf(flags, "best", with_ranks);
  return HasCheckpoint(flags.checkpoint) ? flags.checkpoint : HasCheckpoint(best) ? best : "";
}

// Whether a later start may have another value: it says how long the run goes on.
bool SaysLength(const ConfigKey& key) {
  return key.table.empty() && (key.key == "train.epochs" || key.key == "evaluation.patience" ||
                               key.key == "evaluation.target");
}

// A start that names no metric compares its evaluations by the run's; a target is of the metric
// that is named beside it.
void KeepMetric(const TrainFlags& flags, TrainConfig& config) {
  const std::string path = PathIn(flags.run, kRunConfig);
  if (!ContinuesRun(flags) || !config.evaluation || !IsThere(path)) return;
  EvaluationConfig& evaluation = *config.evaluation;
  if (!evaluation.metric.empty() || evaluation.target) return;
  if (const auto kept = ReadTrainConfig(path).evaluation) evaluation.metric = kept->metric;
}

// Throws Error where the run and what is asked for differ in more than their length: a run is one
// training, of the configuration that its folder says.
void CheckSameTraining(const std::string& folder, const TrainConfig& config) {
  const std::string path = PathIn(folder, kRunConfig);
  if (!IsThere(path)) return;
  TrainConfig kept = ReadTrainConfig(path);
  if (SeeksTime(config.data.split)) ForgetFoundTime(kept.data.split);
  if (config.data.prepared.empty()) kept.data.prepared.clear();  // training has found it
  for (const auto& [was, is] : Differences(KeysOf(kept), KeysOf(config))) {
    const ConfigKey& key = was.key.empty() ? is : was;
    if (SaysLength(key)) continue;
    const auto shown = [](const ConfigKey& k) { return k.value.empty() ? "none" : k.value; };
    throw Error(
        Format("--run {}: this run's {} is {}, but this start says {}: name another folder, or "
               "give --overwrite to begin it anew",
               folder, ToString(key), shown(was), shown(is)));
  }
}

// Throws Error for an unfinished run that stands behind the end that is asked for: it would be
// finished there with a model that has trained longer.
void CheckNotPast(const TrainFlags& flags, const TrainConfig& config,
                  const std::optional<TrainingProgress>& progress) {
  if (!progress) return;
  const bool inside = progress->row > 0;
  if (progress->epoch + (inside ? 1 : 0) <= config.epochs) return;
  throw Error(Format(
      "--run {}: this run is already past {}: it has trained {}{}: more --epochs go on with it; "
      "else name another folder, or give --overwrite to begin it anew",
      flags.run, Counted(config.epochs, "epoch"), Counted(progress->epoch, "epoch"),
      inside ? Format(" and stands at row {} of the next one", progress->row) : ""));
}

void CheckUnfinished(const TrainFlags& flags, const TrainConfig& config,
                     const std::optional<TrainingProgress>& progress) {
  if (!ContinuesRun(flags)) return;
  CheckSameTraining(flags.run, config);
  const std::optional<RunFinish> finish = FinishOf(ReadRunDocument(flags.run));
  if (!finish) return CheckNotPast(flags, config, progress);
  const std::string early = progress ? StoppedEarlyText(config, progress->evaluation) : "";
  if (early.empty() && config.epochs > finish->epochs) return;
  throw Error(Format(
      "--run {}: this run is finished: {}; else name another folder, or give --overwrite to begin "
      "it anew",
      flags.run,
      early.empty() ? Format("it has trained {}: more --epochs go on with it",
                             Counted(finish->epochs, "epoch"))
                    : "it " + early));
}

}  // namespace

bool ContinuesRun(const TrainFlags& flags) {
  const std::string& from = flags.resume;
  const bool is_own = from == flags.checkpoint || from == PlaceOf(flags, "best", true) ||
                      from == PlaceOf(flags, "best", false);
  return is_own && !flags.overwrite;
}

void ApplyRunFlag(TrainFlags& flags, bool with_ranks) {
  if (flags.run.empty()) return;
  CheckAlone(flags);
  CheckFolder(flags.run);
  const bool is_folder = IsFolder(flags, with_ranks);
  flags.checkpoint = PlaceOf(flags, "last", is_folder);
  flags.metrics = PathIn(flags.run, kRunMetrics);
  flags.json = PathIn(flags.run, kRunResult);
  CheckSameForm(flags, "last", is_folder);
  if (flags.overwrite) return;
  CheckReadable(flags.run);
  if (!HasCheckpoint(flags.checkpoint)) {
    CheckNeverSaved(flags, "last", flags.checkpoint);
    CheckSameForm(flags, "best", with_ranks);
    CheckNeverSaved(flags, "best", PlaceOf(flags, "best", with_ranks));
  }
  const std::string from = SavedIn(flags, with_ranks);
  if (from.empty()) {
    flags.overwrite = IsRunFolder(flags.run);  // a start that was cut off before it saved
    return;
  }
  if (!flags.resume.empty() && flags.resume != from)
    throw Error(
        Format("--resume {} beside --run {}, which goes on from its own checkpoint: leave "
               "--resume out, or name another folder",
               flags.resume, flags.run));
  flags.resume = from;
}

void BeginRunFolder(const TrainFlags& flags) {
  if (flags.run.empty() || IsRunFolder(flags.run)) return;
  CheckWritable(PathIn(flags.run, kRunDocument));
  WriteRunDocument(flags.run, NewRunDocument());
}

void CheckRunData(const TrainFlags& flags, const DataSets& data) {
  if (flags.run.empty() || !ContinuesRun(flags) || flags.other_data) return;
  const Json document = ReadRunDocument(flags.run);
  if (!document.contains("starts") || document["starts"].empty()) return;
  const Json& before = document["starts"].back();
  const Json was = before.is_object() && before.contains("data") ? before["data"] : Json(),
             is = DataJson(data);
  for (const auto& [side, what] : {std::pair{"train", "trains"}, std::pair{"eval", "evaluates"}})
    if (const Json a = ContentOf(was, side), b = ContentOf(is, side); a != b) {
      const bool by_rows = a.is_object() && b.is_object() && a["rows"] != b["rows"];
      throw Error(Format(
          "--run {}: this run {} on {}, but this start {}: name another folder, give "
          "--other-data to go on nevertheless, or --overwrite to begin it anew",
          flags.run, what, by_rows ? Format("rows {}", a["rows"].get<std::string>()) : "other rows",
          by_rows ? Format("on {}", b["rows"].get<std::string>()) : "has other files"));
    }
}

void ApplyRunToEvaluations(TrainFlags& flags, bool with_ranks,
                           const std::optional<TrainingProgress>& progress, TrainConfig& config) {
  if (flags.run.empty()) return;
  const bool made_up = flags.data.empty() && config.data.eval_rows > 0;
  if (!flags.eval.empty() || !flags.eval_rows.empty() || made_up || config.data.split) {
    flags.evaluation.best = PlaceOf(flags, "best", with_ranks);
    ApplyEvaluationFlags(flags.evaluation, config);
    KeepMetric(flags, config);
    const bool inside = config.evaluation->every_steps > 0 || config.evaluation->every > 0;
    if (inside && ParsePipelineKind(flags.pipeline) == PipelineKind::kSemiSync)
      throw Error(
          "--run with evaluations inside epochs beside --pipeline semi_sync: the best model, which "
          "--run keeps, would change what is trained; expected --pipeline none, base, sparse_dist "
          "or prefetch");
  }
  CheckUnfinished(flags, config, progress);
}

}  // namespace tessera::cli
