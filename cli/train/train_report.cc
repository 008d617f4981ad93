#include "cli/train/train_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/show/bad_lines.h"
#include "cli/show/evaluation_report.h"
#include "cli/show/numbers.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kNotTrainedOn[] = "rows not trained on";

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

}  // namespace

std::string EpochLine(const EpochReport& epoch) {
  std::string line = Format("epoch {}: train loss {}", epoch.epoch, Fixed(epoch.train_loss, 4));
  if (!epoch.whole)
    line += Format(" of the {} rows since the resume", WithCommas(static_cast<double>(epoch.rows)));
  if (epoch.evaluation)
    for (const NamedTaskValues& task : epoch.evaluation->tasks)
      line += (epoch.evaluation->tasks.size() > 1 ? "  " + task.task : "") + "  " + ShortText(task);
  line += Format("  ({:.2f} s)", epoch.seconds);
  return epoch.raw_ids.empty() ? line : line + "  " + InUse(Sum(epoch.raw_ids));
}

std::string FinalTable(const TrainingRunReport& report,
                       const std::optional<MetricValues>& optimum) {
  std::string text;
  if (report.evaluation) text += EvaluationTable(*report.evaluation, kNotTrainedOn, optimum) + "\n";
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
