#include "cli/train/run_recorder.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <utility>

#include "cli/files.h"
#include "cli/runs/run_folder.h"
#include "cli/show/evaluation_report.h"
#include "cli/show/log.h"
#include "cli/show/memory_text.h"
#include "cli/show/split_text.h"
#include "cli/train/run_flags.h"
#include "cli/train/train_report.h"
#include "runtime/base/check.h"
#include "runtime/base/process_text.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/files.h"
#include "runtime/files/write_line.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;
using internal::Json;

constexpr char kSinceLine[] = "since_line";  // of loss.json

// Empty where there is no such file, or a damaged one: the next line then has the loss of the rows
// since this start.
std::vector<LossSum> ReadLossSums(const std::string& path) {
  if (!IsThere(path)) return {};
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

}  // namespace

RunRecorder::RunRecorder(const TrainFlags& flags)
    : folder_(flags.run),
      goes_on_(ContinuesRun(flags)),
      has_same_data_(!flags.other_data),
      document_(goes_on_ ? ReadRunDocument(folder_) : NewRunDocument()),
      log_(PathIn(flags.run, kRunLog), "started: " + CommandText()) {}

void RunRecorder::Begin(const TrainConfig& config, const DataSets& data, const RunStart& start) {
  if (!goes_on_) {
    if (IsThere(PathIn(folder_, kRunConfig)))
      Note(Format("{}: the run begins anew; what it had is replaced", folder_));
    for (const char* name : {kRunMetrics, kRunCurve, kRunLoss}) fs::remove(PathIn(folder_, name));
  }
  for (const char* name : {kRunDocument, kRunConfig, kRunMetrics, kRunCurve, kRunLoss, kRunResult})
    RemoveLeftovers(folder_, name);  // of starts that were killed
  for (CurvePoint& point : ReadCurve(folder_))
    earlier_.insert_or_assign(point.step, std::move(point.values));
  KeepLinesUpTo(folder_, start.from.step);
  step_ = start.from.step;
  data_ = &data;
  GoOnWithLossSum(start.from.step);
  if (goes_on_) {
    if (!epochs_.GoOn(folder_, start.from, has_same_data_) && start.from.step > 0)
      Warn(
          Format("{}: it is missing or damaged: the result leaves out the rows and epochs before "
                 "step {}, and the next mean loss the rows before it",
                 PathIn(folder_, kRunLoss), start.from.step));
    WriteLoss();  // before the result that it may be of goes
  }
  fs::remove(PathIn(folder_, kRunResult));
  ReplaceTextFile(PathIn(folder_, kRunConfig), internal::ParseJson(ToJson(config)).dump(2) + "\n");
  for (const char* key : {"finished", kRunFailed}) document_.erase(key);
  document_["starts"].push_back(StartJson(data, start));
  WriteRunDocument(folder_, document_);
  begun_ = true;
  // The epoch that was saved as it ended, before its line was written.
  if (start.from.row == 0 && since_line_.rows > 0 && !data.has_eval_rows())
    AddTrainLoss(start.from.epoch);
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

// Text is counted in its first whole epoch, which is saved before it is reported.
void RunRecorder::TakeSplit() {
  Json counted;
  AddSplit(data_->split(), data_->split_counts(), counted);
  if (!counted.is_null()) epochs_.OnSplit(counted["split"]);
}

void RunRecorder::GoOnWithLossSum(int64_t step) {
  saved_ = ReadLossSums(PathIn(folder_, kRunLoss));
  // An epoch without evaluations is saved before its line is written, which may have followed.
  const auto line = earlier_.find(step);
  if (line != earlier_.end() && line->second.at("metric") == kTrainLoss) return;
  const auto found = std::ranges::find(saved_, step, &LossSum::step);
  if (found != saved_.end()) since_line_ = *found;
}

void RunRecorder::AddTrainLoss(int64_t epoch) {
  const double loss = TakeTrainLoss();
  AddLine({.epoch = epoch, .step = step_, .fraction = 1}, kTrainLoss, loss, {{kTrainLoss, loss}});
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
  errno = 0;
  std::ofstream file(path, std::ios::app);
  WriteLine(file, path, json.dump());
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
    TakeSplit();
    WriteLoss();
    then(step);
  };
  options.on_saved = [this, last = options.checkpoint,
                      then = options.on_saved](const std::string& path) {
    if (NoteSaved(document_, path == last ? "last" : "best")) WriteRunDocument(folder_, document_);
    then(path);
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
    if (!epoch.evaluation) AddTrainLoss(epoch.epoch);
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
  if (IsThere(PathIn(folder_, kRunConfig))) return;  // of starts before this one
  document_[kRunFailed] = {{"time", UtcTimeText()}, {"command", CommandText()}, {kRunError, error}};
  WriteRunDocument(folder_, document_);
}

}  // namespace tessera::cli
