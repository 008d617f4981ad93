#include "cli/train/train_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/show/bad_lines.h"
#include "cli/show/evaluation_report.h"
#include "cli/show/memory_text.h"
#include "cli/show/numbers.h"
#include "cli/show/split_text.h"
#include "cli/show/unknown_items_text.h"
#include "cli/train/ranks_report.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

// Where a training has gone on with other data, it may have trained on them before.
constexpr char kRowsAre[] = "rows for evaluation";

double SamplesPerSecond(const TrainingRunReport& report) {
  return report.training_seconds > 0 ? static_cast<double>(report.rows) / report.training_seconds
                                     : kNoValue;
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

std::string InUse(const RawIdsReport& r) {
  return Format("{} of {} in use", Count(r.ids), Counted(r.rows, "row"));
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
      "{} on disk ({} in files{}), caches of {}: {:.2f} % of {} found there; {} read, {} written "
      "by {}, {:.0f} in flight\n",
      Counted(d.tables, "table"), Bytes(d.file_bytes), d.direct ? "" : ", through the page cache",
      Bytes(d.cache_bytes), 100 * d.hit_rate(), Counted(d.rows, "row"), Bytes(d.bytes_read),
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

void AddPoint(Json& json, const EvaluationPoint& at) {
  json["epoch"] = at.epoch;
  json["step"] = at.step;
  if (at.fraction) json["epoch_fraction"] = *at.fraction;
}

Json StopToJson(EarlyStop stop) {
  return stop == EarlyStop::kNone ? Json(nullptr) : Json(StopName(stop));
}

void AddEvaluations(Json& json, const EvaluationsReport& evaluations) {
  json["evaluations"] = Json::array();
  for (const EvaluationReport& report : evaluations.all) {
    Json entry;
    AddPoint(entry, report.at);
    AddEvaluation(entry, report.values);
    entry["best"] = report.best;
    entry["seconds"] = report.seconds;
    json["evaluations"].push_back(entry);
  }
  json["best"] = nullptr;
  if (evaluations.best) {
    json["best"] = {{"metric", evaluations.metric}, {"value", evaluations.best->value}};
    AddPoint(json["best"], evaluations.best->at);
  }
  json["stopped_early"] = StopToJson(evaluations.stop);
}

void AddVerify(Json& json, const VerifyReport& v) {
  json["verify"] = {{"record", v.record},
                    {"equal", v.equal},
                    {"added", v.added},
                    {"difference", v.difference.empty() ? Json(nullptr) : Json(v.difference)}};
}

// "epoch 1, 0.25 of it", or "epoch 1" where nobody knows how much.
std::string EpochText(const EvaluationPoint& at) {
  return Format("epoch {}{}", at.epoch,
                at.fraction ? Format(", {} of it", Fixed(*at.fraction, 2)) : "");
}

// "best auc 0.7672, of step 79 (epoch 1, 1.00 of it)".
std::string BestLine(const EvaluationsReport& evaluations) {
  const auto& [at, value] = *evaluations.best;
  return Format("best {} {}, of step {} ({})\n", evaluations.metric, Fixed(value, 4), at.step,
                EpochText(at));
}

std::string TasksText(const EvaluationValues& values) {
  std::string text;
  for (const NamedTaskValues& task : values.tasks)
    text += (values.tasks.size() > 1 ? "  " + task.task : "") + "  " + ShortText(task);
  return text;
}

}  // namespace

std::string StopName(EarlyStop stop) {
  if (stop == EarlyStop::kNone) return "";
  return stop == EarlyStop::kTarget ? "target" : "patience";
}

std::string EpochLine(const EpochReport& epoch) {
  std::string line = Format("epoch {}: ", epoch.epoch);
  const std::string loss = Format("train loss {}", Fixed(epoch.train_loss, 4));
  if (epoch.whole)
    line += loss;
  else if (epoch.rows > 0)
    line += Format("{} of the {} since the resume", loss, Counted(epoch.rows, "row"));
  else
    line += "no row was left after the resume";
  if (epoch.evaluation) line += TasksText(*epoch.evaluation);
  line += Format("  ({:.2f} s)", epoch.seconds);
  if (epoch.best) line += "  best so far";
  return epoch.raw_ids.empty() ? line : line + "  " + InUse(Sum(epoch.raw_ids));
}

std::string EvaluationLine(const EvaluationReport& report) {
  return Format("{}, step {}:{}  ({:.2f} s){}", EpochText(report.at), report.at.step,
                TasksText(report.values), report.seconds, report.best ? "  best so far" : "");
}

std::string EarlyStopLine(const EvaluationsReport& evaluations, const EvaluationConfig& config) {
  if (evaluations.stop == EarlyStop::kNone) return "";
  if (evaluations.stop == EarlyStop::kTarget)
    return Format("stopped early: {} {} has reached the target {}", evaluations.metric,
                  evaluations.best->value, config.target.value_or(kNoValue));
  return Format("stopped early: no better {} in {}", evaluations.metric,
                Counted(evaluations.since_best, "evaluation"));
}

std::string FinalTable(const TrainingRunReport& report,
                       const std::optional<MetricValues>& optimum) {
  std::string text;
  if (report.evaluation) text += EvaluationTable(*report.evaluation, kRowsAre, optimum) + "\n";
  if (const LeftOutLines& lines = report.left_out_of_evaluation; lines.rows > 0)
    text += "the evaluation " + LeftOut(lines.rows, lines.by_reason) + "\n";
  text += "trained " + Counted(report.rows, "row");
  if (report.skipped_rows > 0)
    text += ", " + LeftOut(report.skipped_rows, report.skipped_by_reason);
  text += Format(", {} samples/s; {:.2f} s with evaluation\n", WithCommas(SamplesPerSecond(report)),
                 report.seconds);
  if (report.evaluations && report.evaluations->best) text += BestLine(*report.evaluations);
  text += Format("memory: {}\n", MemoryText(report.memory));
  text += RanksTable(report.ranks) + GroupsLine(report.groups);
  if (report.disk) text += DiskLine(*report.disk);
  if (report.raw_ids.empty()) return text;
  const RawIdsReport raw = Sum(report.raw_ids);
  return text + Format(
                    "raw ids of {}: {}; {} given in this run, {} of them taken from ids for "
                    "others\n",
                    Counted(std::ssize(report.raw_ids), "table"), InUse(raw), Count(raw.admitted),
                    Count(raw.evicted));
}

Json EpochJson(const EpochReport& epoch) {
  Json json = {{"epoch", epoch.epoch},
               {"rows", epoch.rows},
               {"train_loss", epoch.train_loss},
               {"seconds", epoch.seconds}};
  AddEvaluation(json, epoch.evaluation);
  AddRawIds(json, epoch.raw_ids);
  return json;
}

Json ReportJson(const TrainingRunReport& report, const std::optional<MetricValues>& optimum,
                const DataSets& data, const std::optional<VerifyReport>& verified) {
  Json json;
  AddEvaluation(json, report.evaluation);
  json["seconds"] = report.seconds;
  json["samples_per_second"] = SamplesPerSecond(report);
  json["rows"] = report.rows;
  json["skipped_rows"] = report.skipped_rows;
  if (!report.skipped_by_reason.empty()) json["skipped_by_reason"] = report.skipped_by_reason;
  const LeftOutLines& lines = report.left_out_of_evaluation;
  json["skipped_eval_rows"] = lines.rows;
  if (!lines.by_reason.empty()) json["skipped_eval_by_reason"] = lines.by_reason;
  json["epochs"] = Json::array();
  for (const EpochReport& epoch : report.epochs) json["epochs"].push_back(EpochJson(epoch));
  if (report.evaluations) AddEvaluations(json, *report.evaluations);
  if (optimum) AddMetrics(json["optimum"], optimum);
  AddRawIds(json, report.raw_ids);
  if (report.disk) AddDisk(json, *report.disk);
  AddMemory(report.memory, json);
  AddRanks(report.ranks, json);
  AddGroups(report.groups, json);
  AddSplit(data.split(), data.split_counts(), json);
  AddUnknownItems(data.unknown_items().get(), "unknown_items", json);
  AddUnknownItems(data.unknown_eval_items().get(), "unknown_eval_items", json);
  if (verified) AddVerify(json, *verified);
  return json;
}

std::string DifferenceJson(const VerifyReport& report) {
  Json json;
  AddVerify(json, report);
  return json.dump(2) + "\n";
}

}  // namespace tessera::cli
