#include "train/run/evaluation_schedule.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"
#include "runtime/json/json_fields.h"

namespace tessera {
namespace {

using internal::Json;
using internal::JsonObject;

// A product like 0.29 · 100, which is a little below its whole number, counts as that.
constexpr double kWhole = 1e-9;

constexpr char kEpoch[] = "epoch", kStep[] = "step", kFraction[] = "fraction";

Json ToJson(const EvaluationPoint& point) {
  Json json = {{kEpoch, point.epoch}, {kStep, point.step}};
  if (point.fraction) json[kFraction] = *point.fraction;
  return json;
}

EvaluationPoint ReadPoint(JsonObject& object) {
  EvaluationPoint point;
  object.Required(kEpoch, point.epoch);
  object.Required(kStep, point.step);
  internal::ReadField(object, kFraction, point.fraction);
  return point;
}

EvaluationState StateFromJson(const Json& json) {
  JsonObject object(json, "evaluation");
  EvaluationState state;
  object.Required("metric", state.metric);
  object.Required("since_best", state.since_best);
  if (const Json* value = object.Find("best")) {
    JsonObject best(*value, object.at("best"));
    best.Required("value", state.best.emplace().value);
    state.best->at = ReadPoint(best);
    best.Finish();
  }
  const auto read_point = [&](const char* key, std::optional<EvaluationPoint>& point) {
    const Json* const value = object.Find(key);
    if (value == nullptr) return;
    JsonObject fields(*value, object.at(key));
    point = ReadPoint(fields);
    fields.Finish();
  };
  read_point("last", state.last);
  read_point("due", state.due);
  if (const Json* value = object.Find("rows")) {
    JsonObject rows(*value, object.at("rows"));
    rows.Required("data", state.rows.emplace().data);
    rows.Required("split", state.rows->split);
    rows.Finish();
  }
  object.Finish();
  return state;
}

int64_t StepsOf(const TrainConfig& config, const RowRange& epoch_rows) {
  const int64_t step = ExamplesOfStep(config);
  return (epoch_rows.last - epoch_rows.first + step - 1) / step;
}

// Steps from one evaluation to the next inside an epoch, with their fraction.
double StepsOfInterval(const TrainConfig& config, int64_t epoch_rows) {
  return config.evaluation->every * static_cast<double>(epoch_rows) /
             static_cast<double>(ExamplesOfStep(config)) +
         kWhole;
}

// Whole steps from one evaluation to the next, at least one.
int64_t WholeStepsOfInterval(const TrainConfig& config, const RowRange& epoch_rows) {
  const double steps = StepsOfInterval(config, epoch_rows.last - epoch_rows.first);
  return std::max<int64_t>(1, static_cast<int64_t>(steps));
}

EvaluationMetric MetricOf(const TrainConfig& config, const std::string& name) {
  try {
    return FindEvaluationMetric(TasksOf(config.model, config.data), name);
  } catch (const Error& error) {
    throw Error(Format("evaluation.metric: {}", error.what()));
  }
}

void CheckTarget(const EvaluationConfig& config, const EvaluationMetric& metric) {
  if (!config.target || !metric.IsBetter(*config.target, metric.limit())) return;
  throw Error(Format("evaluation.target: no {} reaches {}: it is never {} {} (--stop-at {}=VALUE)",
                     metric.name, *config.target, metric.higher ? "above" : "below", metric.limit(),
                     metric.name));
}

// Whether both are known, and differ.
bool AreOther(const std::optional<EvaluatedRows>& was, const std::optional<EvaluatedRows>& is) {
  return was && is && !was->SameContent(*is);
}

// Returns the state as StateFor does.
EvaluationState StateOf(const std::string& text, const EvaluationMetric& metric,
                        const std::optional<EvaluatedRows>& rows) {
  EvaluationState state = EvaluationStateFromText(text);
  const bool forgets = state.metric != metric.name || AreOther(state.rows, rows);
  if (rows) state.rows = rows;
  if (!forgets) return state;
  state.metric = metric.name;
  state.best.reset();
  state.since_best = 0;
  return state;
}

EarlyStop StopBy(const EvaluationState& state, const EvaluationConfig& config,
                 const EvaluationMetric& metric) {
  if (state.best && config.target && !metric.IsBetter(*config.target, state.best->value))
    return EarlyStop::kTarget;
  return config.patience > 0 && state.since_best >= config.patience ? EarlyStop::kPatience
                                                                    : EarlyStop::kNone;
}

}  // namespace

std::string ToText(const EvaluationState& state) {
  Json json = {{"metric", state.metric}, {"since_best", state.since_best}};
  if (state.best) {
    json["best"] = ToJson(state.best->at);
    json["best"]["value"] = state.best->value;
  }
  if (state.last) json["last"] = ToJson(*state.last);
  if (state.due) json["due"] = ToJson(*state.due);
  if (state.rows) json["rows"] = {{"data", state.rows->data}, {"split", state.rows->split}};
  return json.dump();
}

EvaluationState EvaluationStateFromText(const std::string& text) {
  if (text.empty()) return {};
  return internal::ReadDocument(text, "what the checkpoint keeps of its evaluations",
                                StateFromJson);
}

EvaluationState StateFor(const TrainConfig& config, const std::string& text,
                         const std::optional<EvaluatedRows>& rows) {
  return StateOf(text, MetricOf(config, config.evaluation->metric), rows);
}

std::string ForgottenText(const TrainConfig& config, const std::string& text,
                          const std::optional<EvaluatedRows>& rows) {
  const EvaluationState was = EvaluationStateFromText(text);
  if (!config.evaluation || !was.best) return "";
  const EvaluationState is = StateFor(config, text, rows);
  if (is.best) return "";
  const std::string why =
      AreOther(was.rows, rows)
          ? ChangeText(*was.rows, *rows)
          : Format("evaluations were compared by {}, are compared by {}", was.metric, is.metric);
  return Format("{}: the best value so far, {} {} of step {}, is forgotten", why, was.metric,
                was.best->value, was.best->at.step);
}

EarlyStop StopOf(const TrainConfig& config, const std::string& text,
                 const std::optional<EvaluatedRows>& rows) {
  if (!config.evaluation) return EarlyStop::kNone;
  const EvaluationMetric metric = MetricOf(config, config.evaluation->metric);
  return StopBy(StateOf(text, metric, rows), *config.evaluation, metric);
}

std::string ShortIntervalText(const TrainConfig& config,
                              const std::optional<RowRange>& epoch_rows) {
  if (!config.evaluation || config.evaluation->every == 0 || !epoch_rows) return "";
  if (StepsOfInterval(config, epoch_rows->last - epoch_rows->first) >= 1) return "";
  return Format(
      "evaluation.every: {} of an epoch of {} steps is less than one step, so each step is "
      "evaluated; a number of steps (--eval-every N) would take less time",
      config.evaluation->every, StepsOf(config, *epoch_rows));
}

std::string UnreachedIntervalText(const TrainConfig& config,
                                  const std::optional<RowRange>& epoch_rows) {
  if (!config.evaluation || config.evaluation->every_steps == 0 || !epoch_rows) return "";
  const int64_t every = config.evaluation->every_steps, steps = StepsOf(config, *epoch_rows);
  if (steps == 0 || (every % steps != 0 && every <= steps * config.epochs)) return "";
  return Format(
      "evaluation.every_steps: {} (--eval-every) is never reached inside an epoch, which has {} "
      "steps, of {} in all: the ends of epochs alone are evaluated",
      every, steps, steps * config.epochs);
}

std::string IntervalText(const TrainConfig& config, const std::optional<RowRange>& epoch_rows) {
  const EvaluationConfig evaluation = config.evaluation.value_or(EvaluationConfig());
  std::string text;
  if (evaluation.every_steps > 0) text = Format("every {} steps and ", evaluation.every_steps);
  if (evaluation.every > 0)
    text = Format("every {} of an epoch ({} steps) and ", evaluation.every,
                  WholeStepsOfInterval(config, *epoch_rows));
  return text + "after each epoch";
}

EvaluationSchedule::EvaluationSchedule(const TrainConfig& config,
                                       const std::optional<RowRange>& epoch_rows)
    : config_(config.evaluation.value_or(EvaluationConfig())),
      metric_(MetricOf(config, config_.metric)) {
  state_.metric = metric_.name;
  CheckTarget(config_, metric_);
  if (config_.every == 0) return;
  if (!epoch_rows)
    throw Error(
        Format("evaluation.every: {} is a fraction of an epoch, but how many rows that has is not "
               "known before they are read{}steps (--eval-every N)",
               config_.every,
               config.data.split ? ", as data.split chooses them: preprocess the text, or give "
                                 : ": say where they end (--train-rows FIRST:LAST), or give "));
  epoch_rows_ = *epoch_rows;
  step_rows_ = ExamplesOfStep(config);
  interval_rows_ = WholeStepsOfInterval(config, *epoch_rows) * step_rows_;
}

void EvaluationSchedule::GoOnFrom(const std::string& text,
                                  const std::optional<EvaluatedRows>& rows) {
  state_ = StateOf(text, metric_, rows);
}

// The number of whole intervals before a row; a row of 0 is that before the epoch's first.
int64_t EvaluationSchedule::IntervalOf(int64_t row) const {
  return std::max<int64_t>(0, row - epoch_rows_.first) / interval_rows_;
}

// Whether the evaluation of the interval that ends here is that of the epoch's end, which is to
// come.
bool EvaluationSchedule::IsEpochsEnd(int64_t row) const {
  const int64_t left = epoch_rows_.last - row;
  if (left <= 0) return false;
  const int64_t steps = (left + step_rows_ - 1) / step_rows_;
  return static_cast<double>(IntervalOf(row)) * config_.every >= 1 - kWhole ||
         3 * steps <= interval_rows_ / step_rows_;
}

void EvaluationSchedule::AfterStep(const TrainingProgress& at, std::optional<double> fraction) {
  const bool due = config_.every_steps > 0 ? at.step % config_.every_steps == 0
                   : interval_rows_ > 0
                       ? IntervalOf(at.row) > IntervalOf(row_) && !IsEpochsEnd(at.row)
                       : false;
  row_ = at.row;
  if (due) state_.due = {at.epoch + 1, at.step, fraction};
}

// The last step may have been evaluated already.
void EvaluationSchedule::AfterEpoch(const TrainingProgress& at) {
  row_ = at.row;
  if (!state_.last || at.step != state_.last->step) state_.due = {at.epoch, at.step, 1};
}

bool EvaluationSchedule::Take(const EvaluationValues& values) {
  TESSERA_CHECK(state_.due.has_value(), "an evaluation that was not due");
  const EvaluationPoint at = *state_.due;
  state_.due.reset();
  state_.last = at;
  const double value = metric_.ValueIn(values);
  const bool better =
      std::isfinite(value) && (!state_.best || metric_.IsBetter(value, state_.best->value));
  state_.since_best = better ? 0 : state_.since_best + 1;
  if (better) state_.best = {at, value};
  return better;
}

EarlyStop EvaluationSchedule::stop() const { return StopBy(state_, config_, metric_); }

}  // namespace tessera
