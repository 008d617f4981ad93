#include "cli/train/flags/evaluation_flags.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>

#include "runtime/base/check.h"
#include "runtime/base/parse_number.h"
#include "runtime/base/size_limits.h"
#include "runtime/files/files.h"
#include "runtime/files/safetensors.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/saved_form.h"
#include "train/checkpoint/whole_tables.h"
#include "train/config/config_keys.h"
#include "train/run/evaluation_schedule.h"

namespace tessera::cli {
namespace {

constexpr char kNone[] = "none";

// A whole number is steps, any other a fraction.
void SetInterval(const std::string& text, EvaluationConfig& config) {
  config.every_steps = 0;
  config.every = 0;
  if (ParseNumber(text, config.every_steps) && config.every_steps >= 0 &&
      config.every_steps <= SizeLimits::kSteps)
    return;
  config.every_steps = 0;
  if (ParseNumber(text, config.every) && config.every > 0 && config.every < 1) return;
  throw Error(
      Format("--eval-every {}: expected a number of steps (500), a fraction of an epoch "
             "(0.05), or 0 for the ends of epochs alone",
             text));
}

void SetTarget(const EvaluationFlags& flags, EvaluationConfig& config) {
  config.target.reset();
  if (flags.stop_at == kNone) return;
  const size_t equals = flags.stop_at.find('=');
  double target = 0;
  if (equals == 0 || equals == std::string::npos ||
      !ParseNumber(flags.stop_at.substr(equals + 1), target) || !std::isfinite(target))
    throw Error(Format("--stop-at {}: expected METRIC=VALUE, as auc=0.8, or none", flags.stop_at));
  const std::string metric = flags.stop_at.substr(0, equals);
  if (!flags.eval_metric.empty() && flags.eval_metric != metric)
    throw Error(
        Format("--stop-at {} beside --eval-metric {}: evaluations are compared by one "
               "metric",
               flags.stop_at, flags.eval_metric));
  config.metric = metric;
  config.target = target;
}

bool SaysLengthOrEvaluation(const ConfigKey& key) {
  return key.table.empty() && (key.key == "train.epochs" || key.key.starts_with("evaluation"));
}

// The metadata of a checkpoint in any form; of a file, and of what ranks saved, no tensor is read.
std::map<std::string, std::string> MetadataOf(const std::string& path) {
  const SavedForm form = DetectForm(path);
  if (IsOfRanks(form)) return OpenFolderOfRanks(path).info().metadata;
  return form == SavedForm::kFile ? SafetensorsFile(path).metadata()
                                  : ReadCheckpoint(path).metadata;
}

bool HaveSameConfig(const std::string& a, const std::string& b) {
  const auto differences =
      Differences(KeysOf(ParseTrainConfig(a, "")), KeysOf(ParseTrainConfig(b, "")));
  return std::ranges::all_of(differences, [](const ConfigDifference& difference) {
    return SaysLengthOrEvaluation(difference.first);
  });
}

}  // namespace

void AddEvaluationFlags(Command app, EvaluationFlags& f) {
  app.Add("--eval-every", f.eval_every,
          "Also evaluate inside epochs: after every N steps (500), or after every FRACTION of an "
          "epoch (0.05), in whole steps, the last at its end; text that data.split divides takes "
          "steps alone. Training is not changed by it. 0: only after each epoch")
      .Value("N|FRACTION");
  app.Add("--eval-metric", f.eval_metric,
          "Metric that evaluations are compared by, under its name in --json: auc, log_loss, "
          "rmse, loss, …; auc-like is that of the task like (default: the first task's auc, else "
          "loss)")
      .Value("METRIC");
  app.Add("--best", f.best,
          "Save the model and the state of the training here whenever an evaluation is the best "
          "so far; with --ranks or mpirun it is a folder")
      .Value("PATH");
  app.Add("--stop-at", f.stop_at,
          "Stop when an evaluation reaches this value, as auc=0.80275 (at least) or log_loss=0.4 "
          "(at most); none: no target")
      .Value("METRIC=VALUE");
  app.Add("--patience", f.patience,
          "Stop after N evaluations in a row without a better value than the best before (0: "
          "never)")
      .Within(NumbersFrom(int64_t{0}, SizeLimits::kSteps))
      .Value("N");
  app.Add("--mllog", f.mllog,
          "Write MLPerf's log of the run to this file, as its compliance checker reads it")
      .Value("FILE");
}

void ApplyEvaluationFlags(const EvaluationFlags& flags, TrainConfig& config) {
  const bool any = !flags.eval_every.empty() || !flags.eval_metric.empty() ||
                   !flags.stop_at.empty() || !flags.best.empty() || !flags.mllog.empty() ||
                   flags.patience;
  if (!any) return;
  EvaluationConfig evaluation = config.evaluation.value_or(EvaluationConfig());
  if (!flags.eval_every.empty()) SetInterval(flags.eval_every, evaluation);
  if (!flags.eval_metric.empty() && flags.eval_metric != evaluation.metric) {
    if (evaluation.target && flags.stop_at.empty())
      throw Error(
          Format("--eval-metric {} beside evaluation.target {}, which is one of another "
                 "metric: give --stop-at, too, maybe none",
                 flags.eval_metric, *evaluation.target));
    evaluation.metric = flags.eval_metric;
  }
  if (!flags.stop_at.empty()) SetTarget(flags, evaluation);
  evaluation.patience = flags.patience.value_or(evaluation.patience);
  config.evaluation = evaluation;
}

void CheckEvalMetric(const EvaluationFlags& flags, const DataSets& data) {
  if (flags.eval_metric.empty() || data.has_eval_rows()) return;
  throw Error(
      Format("--eval-metric {}: there are no rows for evaluation: give --eval FILE, --eval-rows "
             "FIRST:LAST or a data.split, or leave it out",
             flags.eval_metric));
}

bool IsOfTraining(const std::string& path) {
  if (!IsThere(path)) return false;
  try {
    const auto metadata = MetadataOf(path);
    return ParseProgress(metadata) && metadata.contains("config");
  } catch (const std::exception&) {
    return false;
  }
}

bool IsBestOf(const std::string& best, const ResumedRun& resumed) {
  if (best.empty() || resumed.config.empty() || !IsThere(best)) return false;
  try {
    const auto metadata = MetadataOf(best);
    const std::optional<TrainingProgress> kept = ParseProgress(metadata);
    return kept && !kept->evaluation.empty() && kept->seed == resumed.progress.seed &&
           kept->data == resumed.progress.data &&
           HaveSameConfig(metadata.at("config"), resumed.config);
  } catch (const std::exception&) {
    return false;  // no checkpoint of a training
  }
}

std::optional<EvaluatedRows> EvaluatedIn(const DataSets& data) {
  return data.has_eval_rows() ? std::optional(EvaluatedRowsOf(data)) : std::nullopt;
}

std::string DueText(const TrainConfig& config, const std::string& evaluation,
                    const std::optional<EvaluatedRows>& rows) {
  const auto due = EvaluationStateFromText(evaluation).due;
  if (!due || !rows || !config.evaluation) return "";
  return Format("the evaluation of step {} was not made yet when it was saved, and is made first",
                due->step);
}

std::string MissingBest(const std::string& best, const TrainConfig& config,
                        const std::string& evaluation, const std::optional<EvaluatedRows>& rows) {
  if (best.empty() || !config.evaluation || IsThere(best)) return "";
  const EvaluationState state = StateFor(config, evaluation, rows);
  if (!state.best) return "";
  return Format(
      "{} of step {} is the best {} so far, but its model is not in {}, which gets the "
      "first better one",
      state.best->value, state.best->at.step, state.metric, best);
}

std::string StoppedEarlyText(const TrainConfig& config, const std::string& evaluation,
                             const std::optional<EvaluatedRows>& rows) {
  const EarlyStop stop = StopOf(config, evaluation, rows);
  if (stop == EarlyStop::kNone) return "";
  if (stop == EarlyStop::kPatience)
    return Format("stopped early by its patience of {}: a larger --patience, or 0, goes on with it",
                  config.evaluation->patience);
  return Format("stopped early by its target {}: another --stop-at, or none, goes on with it",
                *config.evaluation->target);
}

std::string NothingLeftText(const TrainConfig& config, const TrainingProgress& from,
                            const std::optional<EvaluatedRows>& rows) {
  if (from.epoch >= config.epochs)
    return Format("{} done: nothing is left to train",
                  config.epochs == 1 ? "the epoch is" : Format("all {} epochs are", config.epochs));
  const std::string early = StoppedEarlyText(config, from.evaluation, rows);
  return early.empty() ? "" : "nothing is left to train: it " + early;
}

}  // namespace tessera::cli
