#include "cli/train_report.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "cli/numbers.h"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
constexpr MetricValues kNoValues = {0, kUndefined, kUndefined, kUndefined, kUndefined};

// NaN is written as null.
void AddMetrics(Json& json, const std::optional<MetricValues>& given) {
  const MetricValues values = given.value_or(kNoValues);
  json["auc"] = values.auc;
  json["log_loss"] = values.log_loss;
  json["normalized_entropy"] = values.normalized_entropy;
  json["calibration"] = values.calibration;
}

double SamplesPerSecond(const TrainingRunReport& report) {
  return report.training_seconds > 0 ? static_cast<double>(report.rows) / report.training_seconds
                                     : kUndefined;
}

using Rows = std::vector<std::vector<std::string>>;

Rows MetricRows(const MetricValues& values, const std::optional<MetricValues>& optimum) {
  Rows rows = {
      {Format("on {} rows not trained on", WithCommas(static_cast<double>(values.examples))),
       "model"}};
  if (optimum) rows[0].push_back("best possible");
  const auto add = [&](const char* name, double MetricValues::*member) {
    rows.push_back({name, Fixed(values.*member, 4)});
    if (optimum) rows.back().push_back(Fixed((*optimum).*member, 4));
  };
  add("AUC", &MetricValues::auc);
  add("log-loss", &MetricValues::log_loss);
  add("normalized entropy", &MetricValues::normalized_entropy);
  add("calibration", &MetricValues::calibration);
  return rows;
}

}  // namespace

std::string EpochLine(const EpochReport& epoch) {
  std::string line = Format("epoch {}: train loss {}", epoch.epoch, Fixed(epoch.train_loss, 4));
  if (epoch.evaluation)
    line += Format("  AUC {}  log-loss {}", Fixed(epoch.evaluation->auc, 4),
                   Fixed(epoch.evaluation->log_loss, 4));
  return line + Format("  ({:.2f} s)", epoch.seconds);
}

std::string FinalTable(const TrainingRunReport& report,
                       const std::optional<MetricValues>& optimum) {
  std::string text;
  if (report.evaluation) text += TextTable(MetricRows(*report.evaluation, optimum)) + "\n";
  text += Format("trained {} rows", WithCommas(static_cast<double>(report.rows)));
  if (report.skipped_rows > 0)
    text += Format(", left out {} bad lines", WithCommas(static_cast<double>(report.skipped_rows)));
  text += Format(", {} samples/s; {:.2f} s with evaluation\n", WithCommas(SamplesPerSecond(report)),
                 report.seconds);
  return text;
}

std::string ReportJson(const TrainingRunReport& report,
                       const std::optional<MetricValues>& optimum) {
  Json json;
  AddMetrics(json, report.evaluation);
  json["seconds"] = report.seconds;
  json["samples_per_second"] = SamplesPerSecond(report);
  json["rows"] = report.rows;
  json["skipped_rows"] = report.skipped_rows;
  json["epochs"] = Json::array();
  for (const EpochReport& epoch : report.epochs) {
    Json entry = {{"epoch", epoch.epoch},
                  {"rows", epoch.rows},
                  {"train_loss", epoch.train_loss},
                  {"seconds", epoch.seconds}};
    AddMetrics(entry, epoch.evaluation);
    json["epochs"].push_back(entry);
  }
  if (optimum) AddMetrics(json["optimum"], optimum);
  return json.dump(2) + "\n";
}

}  // namespace tessera::cli
