#include "cli/train/mllog.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <variant>

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

}  // namespace

MlLog::MlLog(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "wb")) {
  if (!file_) throw Error(Format("{}: cannot be written: {}", path, std::strerror(errno)));
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
  if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size() ||
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
  if (!config.warmup.empty()) return;  // its stages have no such numbers
  for (const char* steps : {"warmup_steps", "decay_start_step", "decay_steps"})
    Event(std::string("opt_learning_rate_") + steps, "0");
}

void MlLog::RunStart(std::optional<int64_t> epoch_rows) {
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
