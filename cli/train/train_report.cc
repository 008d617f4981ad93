#include "cli/train/train_report.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "cli/show/bad_lines.h"
#include "cli/show/numbers.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
constexpr MetricValues kNoValues = {0, kUndefined, kUndefined, kUndefined, kUndefined};

// Adds the metrics; NaN is written as null.
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
    line += Format("  AUC {}  log-loss {}", Fixed(epoch.evaluation->auc, 4),
                   Fixed(epoch.evaluation->log_loss, 4));
  line += Format("  ({:.2f} s)", epoch.seconds);
  return epoch.raw_ids.empty() ? line : line + "  " + InUse(Sum(epoch.raw_ids));
}

std::string FinalTable(const TrainingRunReport& report,
                       const std::optional<MetricValues>& optimum) {
  std::string text;
  if (report.evaluation) text += TextTable(MetricRows(*report.evaluation, optimum)) + "\n";
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
  AddMetrics(json, report.evaluation);
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
    AddMetrics(entry, epoch.evaluation);
    AddRawIds(entry, epoch.raw_ids);
    json["epochs"].push_back(entry);
  }
  if (optimum) AddMetrics(json["optimum"], optimum);
  AddRawIds(json, report.raw_ids);
  if (report.disk) AddDisk(json, *report.disk);
  return json.dump(2) + "\n";
}

}  // namespace tessera::cli
