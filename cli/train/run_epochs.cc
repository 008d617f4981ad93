#include "cli/train/run_epochs.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "cli/runs/run_folder.h"
#include "cli/show/evaluation_report.h"
#include "cli/train/train_report.h"
#include "runtime/files/files.h"

namespace tessera::cli {
namespace {

using internal::Json;

constexpr char kEpochs[] = "epochs", kUnderWay[] = "under_way", kEvaluations[] = "evaluations",
               kSplit[] = "split";

// A document of the folder; null where there is none that can be read.
Json DocumentIn(const std::string& folder, const char* name) {
  const std::string path = PathIn(folder, name);
  if (!IsThere(path)) return {};
  try {
    return internal::ParseJson(ReadTextFile(path));
  } catch (const std::exception&) {
    return {};
  }
}

// The values of a line of curve.jsonl, as a report has them.
Json ValuesOf(Json line) {
  for (const char* key : {"epoch", "step", "epoch_fraction", "metric", "value", kTrainLoss, "best"})
    line.erase(key);
  if (!line.contains("tasks")) line.erase("loss");
  return line;
}

// An entry of "evaluations" of a line of curve.jsonl.
Json EvaluationOf(const Json& line) {
  Json entry;
  for (const char* key : {"epoch", "step", "epoch_fraction"})
    if (line.contains(key)) entry[key] = line[key];
  entry.update(ValuesOf(line));
  entry["best"] = line.value("best", false);
  return entry;
}

// The list of a document; empty where it has none.
Json ListIn(const Json& document, const char* key) {
  const bool has = document.is_object() && document.contains(key) && document[key].is_array();
  return has ? document[key] : Json::array();
}

}  // namespace

RunEpochs::UnderWay RunEpochs::FromJson(const Json& json) {
  return {.step = json.at("step").get<int64_t>(),
          .epoch = json.at("epoch").get<int64_t>(),
          .rows = json.at("rows").get<int64_t>(),
          .loss_sum = json.at("loss_sum").get<double>(),
          .seconds = json.at("seconds").get<double>(),
          .best = json.at("best").get<bool>()};
}

bool RunEpochs::GoOn(const std::string& folder, const TrainingProgress& from, bool has_same_data) {
  Json kept = DocumentIn(folder, kRunLoss);
  if (kept.is_null()) kept = DocumentIn(folder, kRunResult);
  if (has_same_data && kept.is_object() && kept.contains(kSplit) && kept[kSplit].is_object())
    split_ = kept[kSplit];
  try {
    for (const Json& epoch : ListIn(kept, kEpochs))
      if (epoch.at("epoch").get<int64_t>() <= from.epoch) ended_.push_back(epoch);
    TakeUnderWay(folder, ListIn(kept, kUnderWay), from);
    saved_rows_ = Rows();
  } catch (const std::exception&) {  // of values that are no such document's
  }
  return !kept.is_null();
}

// The epoch that goes on, or one that had ended when it was saved, but was not evaluated yet.
void RunEpochs::TakeUnderWay(const std::string& folder, const Json& saved,
                             const TrainingProgress& from) {
  for (const Json& entry : saved)
    if (const UnderWay one = FromJson(entry); one.step <= from.step) saved_.push_back(one);
  const auto found = std::ranges::find(saved_, from.step, &UnderWay::step);
  if (found == saved_.end()) return;
  if (from.row > 0) {
    now_ = *found;
    watch_ = {};
    return;
  }
  const bool is_ended = !ended_.empty() && ended_.back().at("epoch") == from.epoch;
  if (is_ended || found->epoch != from.epoch || found->rows == 0) return;
  Json entry = {{"epoch", found->epoch},
                {"rows", found->rows},
                {"train_loss", found->loss_sum / static_cast<double>(found->rows)},
                {"seconds", found->seconds}};
  for (const CurvePoint& point : ReadCurve(folder, from.step))
    if (point.step == from.step && point.metric != kTrainLoss) entry.update(ValuesOf(point.values));
  ended_.push_back(std::move(entry));
}

void RunEpochs::OnStep(const StepReport& step) {
  if (now_.epoch != step.epoch) {
    now_ = {.epoch = step.epoch};
    watch_ = {};
  }
  now_.rows += step.examples;
  now_.loss_sum += step.loss * static_cast<double>(step.examples);
}

// One that was made up for is of an epoch that has ended.
void RunEpochs::OnEvaluation(const EvaluationReport& report) {
  if (!report.ends_epoch || ended_.empty()) return;
  if (ended_.back().at("epoch") == report.at.epoch) AddEvaluation(ended_.back(), report.values);
}

void RunEpochs::OnEpoch(const EpochReport& epoch) {
  Json entry = EpochJson(epoch);
  if (now_.epoch == epoch.epoch && now_.rows > 0) {
    entry["rows"] = now_.rows;
    entry["train_loss"] = now_.loss_sum / static_cast<double>(now_.rows);
    entry["seconds"] = now_.seconds + epoch.seconds;
  }
  ended_.push_back(std::move(entry));
}

void RunEpochs::OnSplit(const Json& split) { split_.update(split); }

// A kill may leave the checkpoint of this save or of the one before, of either kind.
void RunEpochs::OnSave(int64_t step, bool best) {
  std::erase_if(saved_, [&](const UnderWay& one) { return one.best == best && one.step >= step; });
  const auto is_this_kind = [&](const UnderWay& one) { return one.best == best; };
  if (std::ranges::count_if(saved_, is_this_kind) > 1)
    saved_.erase(std::ranges::find_if(saved_, is_this_kind));
  UnderWay one = now_;
  one.step = step;
  one.seconds = Seconds();
  one.best = best;
  saved_.push_back(one);
  if (!best || std::ranges::all_of(saved_, &UnderWay::best)) saved_rows_ = Rows();
}

int64_t RunEpochs::Rows() const {
  const bool goes_on = ended_.empty() || ended_.back().at("epoch") != now_.epoch;
  int64_t rows = goes_on ? now_.rows : 0;  // of an epoch that has not ended
  for (const Json& epoch : ended_) rows += epoch.at("rows").get<int64_t>();
  return rows;
}

void RunEpochs::AddTo(Json& document) const {
  document[kRunRows] = saved_rows_;
  document[kEpochs] = ended_;
  if (!split_.empty()) document[kSplit] = split_;
  document[kUnderWay] = Json::array();
  for (const UnderWay& one : saved_)
    document[kUnderWay].push_back({{"step", one.step},
                                   {"epoch", one.epoch},
                                   {"rows", one.rows},
                                   {"loss_sum", one.loss_sum},
                                   {"seconds", one.seconds},
                                   {"best", one.best}});
}

void RunEpochs::AddTo(Json& report, const std::string& folder) const {
  report[kRunRows] = Rows();
  report[kEpochs] = ended_;
  if (report.contains(kSplit))
    for (const auto& [key, value] : split_.items())
      if (!report[kSplit].contains(key)) report[kSplit][key] = value;
  if (!report.contains(kEvaluations)) return;
  Json all = Json::array();
  const Json& own = report[kEvaluations];
  for (const CurvePoint& point : ReadCurve(folder)) {
    if (!own.empty() && point.step >= own.front().at("step").get<int64_t>()) break;
    if (point.metric != kTrainLoss) all.push_back(EvaluationOf(point.values));
  }
  for (const Json& entry : own) all.push_back(entry);
  report[kEvaluations] = std::move(all);
}

}  // namespace tessera::cli
