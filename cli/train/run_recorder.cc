#include "cli/train/run_recorder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "cli/files.h"
#include "cli/runs/run_folder.h"
#include "cli/show/evaluation_report.h"
#include "cli/show/log.h"
#include "cli/show/memory_text.h"
#include "cli/show/numbers.h"
#include "cli/train/flags/evaluation_flags.h"
#include "cli/train/train_report.h"
#include "runtime/base/check.h"
#include "runtime/base/process_text.h"
#include "runtime/files/files.h"
#include "train/checkpoint/saved_form.h"
#include "train/config/config_keys.h"
#include "train/pipeline/pipeline_kind.h"
#include "train/task_meter.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;
using internal::Json;

constexpr char kSinceLine[] = "since_line";  // of loss.json

// Empty where there is no such file, or a damaged one: the next line then has the loss of the rows
// since this start.
std::vector<LossSum> ReadLossSums(const std::string& path) {
  if (!fs::exists(path)) return {};
  try {
    const Json document = internal::ParseJson(ReadTextFile(path));
    std::vector<LossSum> sums;
    for (const Json& sum : document.at(kSinceLine))
      sums.push_back({sum.at("step").get<int64_t>(), sum.at("rows").get<int64_t>(),
                      sum.at("loss_sum").get<double>()});
    return sums;
  } catch (const std::exception&) {
    return {};
  }
}

std::string PlaceOf(const TrainFlags& flags, const std::string& name, bool is_folder) {
  return PathIn(flags.run, CheckpointName(name, is_folder));
}

// Whether it goes on from a checkpoint of the run: the last, or the best before there is a last.
bool Continues(const TrainFlags& flags) {
  const std::string& from = flags.resume;
  const bool is_own = from == flags.checkpoint || from == PlaceOf(flags, "best", true) ||
                      from == PlaceOf(flags, "best", false);
  return is_own && !flags.overwrite;
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
  if (!fs::exists(folder) || IsRunFolder(folder)) return;
  if (!fs::is_directory(folder))
    throw Error(Format("--run {}: a file is there: name a folder", folder));
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (const std::string name = entry.path().filename().string();
        !name.starts_with('.') && !name.starts_with(kRunDocument))
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
  return fs::is_directory(path) ? FormIn(path).has_value() : fs::exists(path);
}

// Throws Error where the run has saved a checkpoint that is not there now: its model, curve and
// result are not replaced without a word.
void CheckNeverSaved(const TrainFlags& flags) {
  if (!HasSaved(ReadRunDocument(flags.run))) return;
  throw Error(
      Format("--run {}: this run has saved {}, which is missing, so it cannot go on: bring it "
             "back, name another folder, or give --overwrite to begin the run anew",
             flags.run, flags.checkpoint));
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
  if (!Continues(flags) || !config.evaluation || !fs::exists(path)) return;
  EvaluationConfig& evaluation = *config.evaluation;
  if (!evaluation.metric.empty() || evaluation.target) return;
  if (const auto kept = ReadTrainConfig(path).evaluation) evaluation.metric = kept->metric;
}

// Throws Error where the run and what is asked for differ in more than their length: a run is one
// training, of the configuration that its folder says.
void CheckSameTraining(const std::string& folder, const TrainConfig& config) {
  const std::string path = PathIn(folder, kRunConfig);
  if (!fs::exists(path)) return;
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

void CheckUnfinished(const TrainFlags& flags, const TrainConfig& config,
                     const std::optional<TrainingProgress>& progress) {
  if (!Continues(flags)) return;
  CheckSameTraining(flags.run, config);
  const std::optional<RunFinish> finish = FinishOf(ReadRunDocument(flags.run));
  if (!finish) return;
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
    CheckNeverSaved(flags);
    CheckSameForm(flags, "best", with_ranks);
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
  if (flags.run.empty() || !Continues(flags) || flags.other_data) return;
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

RunRecorder::RunRecorder(const TrainFlags& flags)
    : folder_(flags.run),
      goes_on_(Continues(flags)),
      document_(goes_on_ ? ReadRunDocument(folder_) : NewRunDocument()),
      log_(PathIn(flags.run, kRunLog), "started: " + CommandText()) {}

void RunRecorder::Begin(const TrainConfig& config, const DataSets& data, const RunStart& start) {
  if (!goes_on_) {
    if (fs::exists(PathIn(folder_, kRunConfig)))
      Note(Format("{}: the run begins anew; what it had is replaced", folder_));
    for (const char* name : {kRunMetrics, kRunCurve, kRunLoss}) fs::remove(PathIn(folder_, name));
  }
  for (CurvePoint& point : ReadCurve(folder_))
    earlier_.insert_or_assign(point.step, std::move(point.values));
  KeepLinesUpTo(folder_, start.from.step);
  GoOnWithLossSum(start.from.step);
  if (goes_on_) {
    epochs_.GoOn(folder_, start.from);
    WriteLoss();  // before the result that it may be of goes
  }
  fs::remove(PathIn(folder_, kRunResult));
  ReplaceTextFile(PathIn(folder_, kRunConfig), internal::ParseJson(ToJson(config)).dump(2) + "\n");
  for (const char* key : {"finished", kRunFailed}) document_.erase(key);
  document_["starts"].push_back(StartJson(data, start));
  WriteRunDocument(folder_, document_);
  begun_ = true;
}

// A kill may leave the checkpoint of this save or of the one before.
void RunRecorder::KeepLossSum(int64_t step) {
  std::erase_if(saved_, [&](const LossSum& sum) { return sum.step >= step; });
  if (saved_.size() > 1) saved_ = {saved_.back()};
  saved_.push_back({step, since_line_.rows, since_line_.loss_sum});
}

void RunRecorder::WriteLoss() const {
  Json sums = Json::array();
  for (const LossSum& sum : saved_)
    sums.push_back({{"step", sum.step}, {"rows", sum.rows}, {"loss_sum", sum.loss_sum}});
  Json document = {{kSinceLine, std::move(sums)}};
  epochs_.AddTo(document);
  ReplaceTextFile(PathIn(folder_, kRunLoss), document.dump() + "\n");
}

void RunRecorder::GoOnWithLossSum(int64_t step) {
  saved_ = ReadLossSums(PathIn(folder_, kRunLoss));
  const auto found = std::ranges::find(saved_, step, &LossSum::step);
  if (found != saved_.end()) since_line_ = *found;
}

double RunRecorder::TakeTrainLoss() {
  const LossSum taken = std::exchange(since_line_, {});
  return taken.rows == 0 ? kNoValue : taken.loss_sum / static_cast<double>(taken.rows);
}

void RunRecorder::NoteRepeat(const Json& line) {
  const auto earlier = earlier_.find(line.at("step").get<int64_t>());
  if (earlier == earlier_.end() || line.at("metric") == kTrainLoss) return;
  std::vector<std::string> keys = DifferingNumbers(earlier->second, line);
  std::erase(keys, kTrainLoss);
  if (keys.empty()) return;
  document_["starts"].back()["differs"].push_back({{"step", line.at("step")}, {"keys", keys}});
  WriteRunDocument(folder_, document_);
}

void RunRecorder::AddLine(const EvaluationPoint& at, const std::string& metric, double value,
                          Json line) {
  Json json = {{"epoch", at.epoch}, {"step", at.step}};
  if (at.fraction) json["epoch_fraction"] = *at.fraction;
  json["metric"] = metric;
  json["value"] = value;
  json.update(line);
  NoteRepeat(json);
  const std::string path = PathIn(folder_, kRunCurve);
  std::ofstream file(path, std::ios::app);
  file << json.dump() << std::endl;
  if (!file) throw Error(Format("{}: cannot be written", path));
}

void RunRecorder::Record(TrainingRunOptions& options) {
  options.on_step = [this, then = options.on_step](const StepReport& step) {
    step_ = step.step;
    since_line_.rows += step.examples;
    since_line_.loss_sum += step.loss * static_cast<double>(step.examples);
    epochs_.OnStep(step);
    then(step);
  };
  options.on_save = [this, then = options.on_save](int64_t step) {
    KeepLossSum(step);
    epochs_.OnSave(step, /*best=*/false);
    WriteLoss();
    then(step);
  };
  options.on_evaluation = [this, then = options.on_evaluation](const EvaluationReport& report) {
    Json line = {{kTrainLoss, TakeTrainLoss()}, {"loss", report.values.loss}};
    AddEvaluation(line, report.values);
    line["best"] = report.best;
    AddLine(report.at, report.metric, report.value, std::move(line));
    epochs_.OnEvaluation(report);
    if (report.best) {
      epochs_.OnSave(report.at.step, /*best=*/true);
      WriteLoss();
    }
    then(report);
  };
  options.on_epoch = [this, then = options.on_epoch](const EpochReport& epoch) {
    if (!epoch.evaluation) {
      const double loss = TakeTrainLoss();
      AddLine({.epoch = epoch.epoch, .step = step_, .fraction = 1}, kTrainLoss, loss,
              {{kTrainLoss, loss}});
    }
    epochs_.OnEpoch(epoch);
    WriteLoss();
    then(epoch);
  };
}

void RunRecorder::EndStart(const std::string& how) {
  document_["starts"].back()["ended"] = how;
  document_["starts"].back()["end"] = UtcTimeText();
  WriteRunDocument(folder_, document_);
}

void RunRecorder::End(const TrainingRunReport& report, const TrainingProgress& at) {
  KeepLinesUpTo(folder_, at.step);  // what an evaluation that was made up for has added again
  Json& start = document_["starts"].back();
  start["rows"] = report.rows;
  start["seconds"] = report.seconds;
  start["training_seconds"] = report.training_seconds;
  AddMemory(report.memory, start);
  if (report.stopped) {
    start["stopped"] = {{"epochs", at.epoch}, {"step", at.step}};
  } else {
    const std::string stop =
        report.evaluations ? StopName(report.evaluations->stop) : std::string();
    document_["finished"] = {{"epochs", at.epoch}, {"step", at.step}, {"stopped_early", stop}};
  }
  EndStart(report.stopped ? "interrupted" : "finished");
}

void RunRecorder::Fail(const std::string& error) {
  log_.AddError(error);
  if (begun_) return EndStart("error: " + error);
  if (fs::exists(PathIn(folder_, kRunConfig))) return;  // of starts before this one
  document_[kRunFailed] = {{"time", UtcTimeText()}, {"command", CommandText()}, {kRunError, error}};
  WriteRunDocument(folder_, document_);
}

}  // namespace tessera::cli
