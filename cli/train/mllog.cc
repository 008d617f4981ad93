#include "cli/train/mllog.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "cli/show/log.h"
#include "optim/any_rule.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
std::string ToJsonText(const T& value) {
  return Json(value).dump();
}

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string EpochNum(double epochs) { return "\"epoch_num\": " + ToJsonText(epochs); }
std::string EpochNum(int64_t epochs) { return "\"epoch_num\": " + ToJsonText(epochs); }

double EpochsAt(const EvaluationPoint& at) {
  return static_cast<double>(at.epoch - 1) + at.fraction.value_or(0);
}

// Whether tables are trained as the dense parameters are.
bool TablesAreLike(const TrainConfig& config) {
  const DenseOptimizerConfig& dense = config.dense_optimizer;
  return std::ranges::all_of(config.tables, [&](const EmbeddingBagConfig& table) {
    const auto* const rule = std::get_if<Adagrad>(&table.optimizer);
    return rule != nullptr && dense.name == "adagrad" && dense.lr_decay == 0 &&
           dense.weight_decay == 0 && dense.initial_accumulator_value == 0 &&
           rule->lr == static_cast<float>(dense.lr) && rule->eps == static_cast<float>(dense.eps);
  });
}

// One optimizer's name, or those of both parts.
std::string OptimizerName(const TrainConfig& config) {
  const std::string& dense = config.dense_optimizer.name;
  return TablesAreLike(config)
             ? dense
             : Format("{}, tables {}", dense, RuleName(config.tables.front().optimizer));
}

// A schedule in the log's words: the rate rises linearly to the base rate in warmup_steps, stays,
// and, from decay_start_step on, is base · ((decay_steps − steps since then)/decay_steps)².
struct LoggedSchedule {
  int64_t warmup_steps = 0, decay_start_step = 0, decay_steps = 0;
  std::string why_not;  // the reason why stages have no such numbers, or ""
};

bool IsOne(double factor) { return std::abs(factor - 1) < 1e-3; }

bool StaysAtOne(const WarmupStage& stage) {
  return (stage.policy == WarmupPolicy::kNone && IsOne(stage.lr_scale)) ||
         (stage.policy == WarmupPolicy::kConstant && IsOne(stage.value * stage.lr_scale));
}

bool RisesToOne(const WarmupStage& stage) {
  return stage.policy == WarmupPolicy::kLinear && stage.value < 1 && IsOne(stage.lr_scale);
}

// Says why a poly stage that begins after `begin` steps is no such decay; "" if it is.
std::string WhyNoDecay(const WarmupStage& stage, int64_t begin) {
  const int64_t end = stage.decay_iters < 1 ? stage.max_iters : stage.decay_iters;
  if (stage.value != 2) return Format("its power is {}, that of the log 2", stage.value);
  if (end != stage.max_iters)
    return Format("it ends at step {}, but its factor is 0 at step {}", stage.max_iters, end);
  const double left = 1 - static_cast<double>(begin) / static_cast<double>(end);
  if (!IsOne(stage.lr_scale * left * left))
    return Format(
        "it begins at the factor {:.4g} of the base rate, that of the log at 1 (which "
        "lr_scale {:.6g} gives)",
        stage.lr_scale * left * left, 1 / (left * left));
  return "";
}

LoggedSchedule LoggedScheduleOf(const std::vector<WarmupStage>& stages) {
  LoggedSchedule schedule;
  size_t next = 0;
  const auto end = [&] { return next == 0 ? 0 : stages[next - 1].max_iters; };
  if (next < stages.size() && RisesToOne(stages[next])) ++next;
  schedule.warmup_steps = end();
  while (next < stages.size() && StaysAtOne(stages[next])) ++next;
  if (next < stages.size() && stages[next].policy == WarmupPolicy::kPoly) {
    schedule.why_not = WhyNoDecay(stages[next], end());
    schedule.decay_start_step = end();
    schedule.decay_steps = stages[next].max_iters - end();
    if (schedule.why_not.empty()) ++next;
  }
  if (next == stages.size()) return schedule;
  if (schedule.why_not.empty())
    schedule.why_not =
        "expected a linear rise to the base rate, stages that keep it, and a poly fall to 0";
  schedule.why_not = Format("optimizer.warmup[{}] ({}): {}", next, ToString(stages[next].policy),
                            schedule.why_not);
  return schedule;
}

}  // namespace

MlLog::MlLog(const std::string& path) : path_(path) {
  Event("cache_clear", "true");
  Start("init_start");
}

void MlLog::Write(const char* type, const std::string& key, const std::string& value,
                  const std::string& more, const Place& place) {
  const std::string line = Format(
      ":::MLLOG {{\"namespace\": \"\", \"time_ms\": {}, \"event_type\": \"{}\", \"key\": \"{}\", "
      "\"value\": {}, \"metadata\": {{\"file\": {}, \"lineno\": {}{}{}}}}}\n",
      NowMs(), type, key, value, ToJsonText(place.file_name()), place.line(),
      more.empty() ? "" : ", ", more);
  if (file_)
    WriteText(line);
  else
    before_ += line;
}

void MlLog::WriteText(const std::string& text) {
  if (!file_ || std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() ||
      std::fflush(file_.get()) != 0)
    throw Error(Format("{}: cannot be written: {}", path_, std::strerror(errno)));
}

void MlLog::Event(const std::string& key, const std::string& value, const std::string& more,
                  const Place& place) {
  Write("POINT_IN_TIME", key, value, more, place);
}
void MlLog::Start(const std::string& key, const std::string& more, const Place& place) {
  Write("INTERVAL_START", key, "null", more, place);
}
void MlLog::Stop(const std::string& key, const std::string& more, const Place& place) {
  Write("INTERVAL_END", key, "null", more, place);
}

void MlLog::Settings(const TrainConfig& config, const std::string& platform) {
  const bool is_dcn = config.model.type == RankingModelType::kDlrmDcn;
  Event("submission_benchmark", ToJsonText(is_dcn ? "dlrm_dcnv2" : ToString(config.model.type)));
  Event("submission_org", ToJsonText("SUBMISSION_ORG_PLACEHOLDER"));
  Event("submission_division", ToJsonText("closed"));
  Event("submission_status", ToJsonText("onprem"));
  Event("submission_platform", ToJsonText(platform));
  Event("global_batch_size", ToJsonText(ExamplesOfStep(config)));
  Event("gradient_accumulation_steps", ToJsonText(config.accumulate_steps));
  Event("seed", ToJsonText(config.seed));
  Optimizer(config);
}

void MlLog::Optimizer(const TrainConfig& config) {
  const DenseOptimizerConfig& dense = config.dense_optimizer;
  Event("opt_name", ToJsonText(OptimizerName(config)));
  Event("opt_base_learning_rate", ToJsonText(dense.lr));
  const bool is_adagrad = dense.name == "adagrad";
  if (is_adagrad) Event("opt_adagrad_learning_rate_decay", ToJsonText(dense.lr_decay));
  Event("opt_weight_decay", ToJsonText(dense.weight_decay));
  if (is_adagrad) {
    Event("opt_adagrad_initial_accumulator_value", ToJsonText(dense.initial_accumulator_value));
    Event("opt_adagrad_epsilon", ToJsonText(dense.eps));
  }
  const LoggedSchedule schedule = LoggedScheduleOf(config.warmup);
  if (!schedule.why_not.empty()) {
    Warn(
        Format("--mllog: opt_learning_rate_warmup_steps, _decay_start_step and _decay_steps are "
               "left out: {}",
               schedule.why_not));
    return;
  }
  Event("opt_learning_rate_warmup_steps", ToJsonText(schedule.warmup_steps));
  Event("opt_learning_rate_decay_start_step", ToJsonText(schedule.decay_start_step));
  Event("opt_learning_rate_decay_steps", ToJsonText(schedule.decay_steps));
}

void MlLog::RunStart(std::optional<int64_t> epoch_rows) {
  file_.reset(std::fopen(path_.c_str(), "wb"));
  WriteText(std::exchange(before_, {}));
  Stop("init_stop");
  Start("run_start");
  if (epoch_rows) Event("train_samples", ToJsonText(*epoch_rows));
}

void MlLog::EpochStart(int64_t epoch) {
  epoch_ = epoch - 1;
  Start("epoch_start", EpochNum(*epoch_));
}

void MlLog::EpochStop(int64_t epoch) {
  epoch_.reset();
  Stop("epoch_stop", EpochNum(epoch - 1));
}

void MlLog::EvalStart(const EvaluationPoint& at) { Start("eval_start", EpochNum(EpochsAt(at))); }

void MlLog::EvalStop(const EvaluationReport& report) {
  at_ = EpochsAt(report.at);
  Event("eval_accuracy", ToJsonText(report.value), EpochNum(at_));
  Stop("eval_stop", EpochNum(at_));
  if (said_samples_) return;
  said_samples_ = true;
  Event("eval_samples", ToJsonText(report.values.examples));
}

void MlLog::RunStop(bool success) {
  if (epoch_) EpochStop(*epoch_ + 1);
  Stop("run_stop",
       Format("\"status\": \"{}\", {}", success ? "success" : "aborted", EpochNum(at_)));
}

}  // namespace tessera::cli
