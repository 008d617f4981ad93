#ifndef TESSERA_CLI_SHOW_REPORTS_H_
#define TESSERA_CLI_SHOW_REPORTS_H_
// A report is what a command writes about its work: figures, scores, plans, pictures. A report is
// written over an earlier one of its kind, which the next run makes again, and over nothing else:
// no model, data or configuration is lost to a mistaken path.
#include <string>

namespace tessera::cli {

// Text that files of a kind begin with, without spaces; nullptr: their first line is kScore, or
// names that begin with kScoresOfTasks, with tabs between. `or_begins`: what others of the kind
// begin with; nullptr: there are none.
struct Report {
  const char* what;
  const char* begins;
  const char* or_begins = nullptr;
};
inline constexpr char kScore[] = "score", kScoresOfTasks[] = "score_";
inline constexpr Report kEvaluation = {"a report of tessera train, evaluate or predict",
                                       "{\"auc\":", "{\"verify\":{\"record\":"};
inline constexpr Report kRecallReport = {"a report of tessera recall", "{\"recall_at\":"};
inline constexpr Report kMetricLines = {"metrics of tessera train", "{\"phase\":"};
inline constexpr Report kMlLog = {"an MLPerf log", ":::MLLOG{"};
inline constexpr Report kRunRecord = {"a record of tessera train --verify", "{\"tessera_verify\":"};
inline constexpr Report kTraceEvents = {"a trace of tessera train", "{\"displayTimeUnit\":"};
inline constexpr Report kScores = {"scores of tessera predict", nullptr};
inline constexpr Report kPlan = {"a plan", "{\"tessera_sharding_plan\":"};
inline constexpr Report kPlanPage = {"a page of tessera plan", "<!DOCTYPEhtml>"};
inline constexpr Report kPlanReport = {"a report of tessera plan", "{\"cost_model\":"};
inline constexpr Report kPlanDiffReport = {"a report of tessera plan diff", "{\"moved_bytes\":"};
inline constexpr Report kTopology = {"a topology", "{\"tessera_topology\":"};
inline constexpr Report kBenchRun = {"results of tessera bench", "{\"machine\":"};
inline constexpr Report kGoogleBenchmark = {"results in Google Benchmark's layout",
                                            "{\n \"context\":"};
inline constexpr Report kBenchTable = {"a table of tessera bench", "name,case,threads,"};
inline constexpr Report kColumnsReport = {"a report of tessera describe", "{\"described_rows\":"};
inline constexpr Report kRunsReport = {"a report of tessera runs", "{\"compared_by\":"};
inline constexpr Report kRunsPicture = {"a picture of tessera runs", "<svg"};
inline constexpr Report kRunsPage = {"a page of tessera runs", "<!DOCTYPEhtml>"};
inline constexpr Report kBenchPicture = {"a picture of tessera bench", "<svg"};

// Throws Error, naming the path, where something lies there that is no earlier report of the kind.
// (cli/outputs.h asks it for all that a command writes.)
void CheckReplaced(const std::string& path, const Report& report);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_REPORTS_H_
