#include "cli/train/train_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/show/bad_lines.h"
#include "cli/show/numbers.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

// Adds the metrics; NaN is written as null.
void AddMetrics(Json& json, const std::optional<MetricValues>& given) {
  const MetricValues values = given.value_or(kNoClicks);
  json["auc"] = values.auc;
  json["log_loss"] = values.log_loss;
  json["normalized_entropy"] = values.normalized_entropy;
  json["calibration"] = values.calibration;
}

// Whether there is more to tell than one task of clicks.
bool HasTasks(const EvaluationValues& values) {
  return values.tasks.size() > 1 ||
         (values.tasks.size() == 1 && values.tasks[0].loss != TaskLoss::kBce);
}

// The first task's, and where there are several those of each.
void AddEvaluation(Json& json, const std::optional<EvaluationValues>& given) {
  AddMetrics(json, given);
  if (!given || !HasTasks(*given)) return;
  json["loss"] = given->loss;
  for (const NamedTaskValues& task : given->tasks) {
    Json& entry = json["tasks"][task.task];
    entry = {{"examples", task.values.clicks.examples}, {"loss", ToString(task.loss)}};
    if (task.loss == TaskLoss::kBce) {
      AddMetrics(entry, task.values.clicks);
    } else if (task.loss == TaskLoss::kInBatchSoftmax) {
      entry["softmax_loss"] = task.values.softmax;
      for (size_t k = 0; k < kRecallAt.size(); ++k)
        entry[Format("in_batch_recall_at_{}", kRecallAt[k])] = task.values.recall[k];
    } else {
      entry["mse"] = task.values.mse;
      entry["rmse"] = std::sqrt(task.values.mse);
      entry["mae"] = task.values.mae;
    }
  }
}

double SamplesPerSecond(const TrainingRunReport& report) {
  return report.training_seconds > 0 ? static_cast<double>(report.rows) / report.training_seconds
                                     : kNoValue;
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

// A metric of tasks of one loss.
struct TaskMetric {
  const char* name;
  TaskLoss loss;
  double (*value)(const TaskValues& of);
};
constexpr TaskMetric kTaskMetrics[] = {
    {"AUC", TaskLoss::kBce, [](const TaskValues& of) { return of.clicks.auc; }},
    {"log-loss", TaskLoss::kBce, [](const TaskValues& of) { return of.clicks.log_loss; }},
    {"normalized entropy", TaskLoss::kBce,
     [](const TaskValues& of) { return of.clicks.normalized_entropy; }},
    {"calibration", TaskLoss::kBce, [](const TaskValues& of) { return of.clicks.calibration; }},
    {"RMSE", TaskLoss::kMse, [](const TaskValues& of) { return std::sqrt(of.mse); }},
    {"MAE", TaskLoss::kMse, [](const TaskValues& of) { return of.mae; }},
    {"softmax loss", TaskLoss::kInBatchSoftmax, [](const TaskValues& of) { return of.softmax; }},
    {"in-batch recall@1", TaskLoss::kInBatchSoftmax,
     [](const TaskValues& of) { return of.recall[0]; }},
    {"in-batch recall@10", TaskLoss::kInBatchSoftmax,
     [](const TaskValues& of) { return of.recall[1]; }},
    {"in-batch recall@20", TaskLoss::kInBatchSoftmax,
     [](const TaskValues& of) { return of.recall[2]; }}};

// A column a task and a row a metric that some task has; what a task's loss does not have is "–".
Rows TaskRows(const EvaluationValues& values) {
  Rows rows = {{"on rows not trained on"}, {"rows"}};
  for (const NamedTaskValues& task : values.tasks) {
    rows[0].push_back(task.task);
    rows[1].push_back(WithCommas(static_cast<double>(task.values.clicks.examples)));
  }
  for (const TaskMetric& metric : kTaskMetrics) {
    const auto has = [&](const NamedTaskValues& task) { return task.loss == metric.loss; };
    if (std::ranges::none_of(values.tasks, has)) continue;
    rows.push_back({metric.name});
    for (const NamedTaskValues& task : values.tasks)
      rows.back().push_back(has(task) ? Fixed(metric.value(task.values), 4) : "–");
  }
  return rows;
}

// The sum over all tables; its table and kind are "".
RawIdsReport Sum(const std::vector<RawIdsReport>& tables) {
  RawIdsReport sum;
  for (const RawIdsReport& table : tables) {
    sum.rows += table.rows;
    sum.ids += table.ids;
    sum.admitted += table.admitted;
    sum.evicted += table.evicted;
  }
  return sum;
}

std::string Count(int64_t n) { return WithCommas(static_cast<double>(n)); }

std::string InUse(const RawIdsReport& r) {
  return Format("{} of {} rows in use", Count(r.ids), Count(r.rows));
}

void AddRawIds(Json& json, const std::vector<RawIdsReport>& tables) {
  for (const RawIdsReport& r : tables)
    json["raw_ids"].push_back({{"table", r.table},
                               {"kind", r.kind},
                               {"rows", r.rows},
                               {"ids", r.ids},
                               {"admitted", r.admitted},
                               {"evicted", r.evicted}});
}

// The line about tables on disk: "3 tables on disk (1.2 GiB in files), caches of 200.0 MiB: 93.10 %
// of 81,230 rows found there; …".
std::string DiskLine(const DiskReport& d) {
  return Format(
      "{} tables on disk ({} in files{}), caches of {}: {:.2f} % of {} rows found there; {} read, "
      "{} written by {}, {:.0f} in flight\n",
      d.tables, Bytes(d.file_bytes), d.direct ? "" : ", through the page cache",
      Bytes(d.cache_bytes), 100 * d.hit_rate(), Count(d.rows), Bytes(d.bytes_read),
      Bytes(d.bytes_written), d.io, d.reads_in_flight);
}

void AddDisk(Json& json, const DiskReport& d) {
  json["disk"] = {{"tables", d.tables},
                  {"file_bytes", d.file_bytes},
                  {"cache_bytes", d.cache_bytes},
                  {"rows", d.rows},
                  {"hits", d.hits},
                  {"hit_rate", d.hit_rate()},
                  {"bytes_read", d.bytes_read},
                  {"bytes_written", d.bytes_written},
                  {"reads_in_flight", d.reads_in_flight},
                  {"io", d.io},
                  {"direct", d.direct}};
}

std::string ShortText(const NamedTaskValues& task) {
  if (task.loss == TaskLoss::kMse) return Format("  RMSE {}", Fixed(std::sqrt(task.values.mse), 4));
  if (task.loss == TaskLoss::kInBatchSoftmax)
    return Format("  softmax loss {}  in-batch recall@20 {}", Fixed(task.values.softmax, 4),
                  Fixed(task.values.recall[2], 4));
  return Format("  AUC {}  log-loss {}", Fixed(task.values.clicks.auc, 4),
                Fixed(task.values.clicks.log_loss, 4));
}

}  // namespace

std::string EpochLine(const EpochReport& epoch) {
  std::string line = Format("epoch {}: train loss {}", epoch.epoch, Fixed(epoch.train_loss, 4));
  if (!epoch.whole)
    line += Format(" of the {} rows since the resume", WithCommas(static_cast<double>(epoch.rows)));
  if (epoch.evaluation)
    for (const NamedTaskValues& task : epoch.evaluation->tasks)
      line += (epoch.evaluation->tasks.size() > 1 ? "  " + task.task : "") + ShortText(task);
  line += Format("  ({:.2f} s)", epoch.seconds);
  return epoch.raw_ids.empty() ? line : line + "  " + InUse(Sum(epoch.raw_ids));
}

std::string FinalTable(const TrainingRunReport& report,
                       const std::optional<MetricValues>& optimum) {
  std::string text;
  if (report.evaluation)
    text += TextTable(HasTasks(*report.evaluation) ? TaskRows(*report.evaluation)
                                                   : MetricRows(*report.evaluation, optimum)) +
            "\n";
  text += Format("trained {} rows", WithCommas(static_cast<double>(report.rows)));
  if (report.skipped_rows > 0)
    text += ", " + LeftOut(report.skipped_rows, report.skipped_by_reason);
  text += Format(", {} samples/s; {:.2f} s with evaluation\n", WithCommas(SamplesPerSecond(report)),
                 report.seconds);
  if (report.disk) text += DiskLine(*report.disk);
  if (report.raw_ids.empty()) return text;
  const RawIdsReport raw = Sum(report.raw_ids);
  return text + Format(
                    "raw ids of {} {}: {}; {} given in this run, {} of them taken from ids "
                    "for others\n",
                    report.raw_ids.size(), report.raw_ids.size() == 1 ? "table" : "tables",
                    InUse(raw), Count(raw.admitted), Count(raw.evicted));
}

std::string ReportJson(const TrainingRunReport& report,
                       const std::optional<MetricValues>& optimum) {
  Json json;
  AddEvaluation(json, report.evaluation);
  json["seconds"] = report.seconds;
  json["samples_per_second"] = SamplesPerSecond(report);
  json["rows"] = report.rows;
  json["skipped_rows"] = report.skipped_rows;
  if (!report.skipped_by_reason.empty()) json["skipped_by_reason"] = report.skipped_by_reason;
  json["epochs"] = Json::array();
  for (const EpochReport& epoch : report.epochs) {
    Json entry = {{"epoch", epoch.epoch},
                  {"rows", epoch.rows},
                  {"train_loss", epoch.train_loss},
                  {"seconds", epoch.seconds}};
    AddEvaluation(entry, epoch.evaluation);
    AddRawIds(entry, epoch.raw_ids);
    json["epochs"].push_back(entry);
  }
  if (optimum) AddMetrics(json["optimum"], optimum);
  AddRawIds(json, report.raw_ids);
  if (report.disk) AddDisk(json, *report.disk);
  return json.dump(2) + "\n";
}

}  // namespace tessera::cli
