#ifndef TESSERA_CLI_RUNS_RUN_COMPARISON_H_
#define TESSERA_CLI_RUNS_RUN_COMPARISON_H_
// Runs beside each other: the last and the best value of one metric, what their configurations and
// data differ in, and means over runs that differ by their seeds alone.
#include <cstdint>
#include <string>
#include <vector>

#include "cli/runs/run_folder.h"

namespace tessera::cli {

struct ComparedRun {
  KeptRun run;
  size_t group = 0;
  // Values of the metric; NaN where there is none.
  double last = 0, best = 0;
  double epochs = 0;  // trained, with the fraction of one under way
};

// Whether a value is better than another. NaN is better than none.
bool IsBetter(double value, double than, bool higher);

// The mean of some numbers, NaN of none, and its standard error, NaN for fewer than two.
struct MeanValue {
  double mean = 0, standard_error = 0;
};
MeanValue MeanOf(const std::vector<double>& values);

// Runs that differ by their seeds alone.
struct RunGroup {
  std::vector<size_t> runs;           // of RunComparison::runs
  std::vector<std::string> settings;  // values of RunComparison::keys, as JSON; "": none
  std::vector<std::string> shown;     // the same, as tables have room for them
  MeanValue last, best;               // over the seeds of runs that are finished
};

// A run that cannot be compared, and why not: its folder has a file that is not what it should be,
// or it failed before its first step.
struct UnreadRun {
  std::string path, why;
  bool is_damaged = true;
};

struct RunComparison {
  std::string metric;
  bool higher = false;            // whether higher values are better
  std::vector<std::string> keys;  // that differ between groups; tables that go alike are one
  std::vector<ComparedRun> runs;  // the best one first
  std::vector<RunGroup> groups;   // that of the best mean of `best` first
  std::vector<UnreadRun> unread = {};
};

// Compares by a metric under its name in --eval-metric, or train_loss; "": the one that the first
// run's evaluations are compared by. Throws Error for one that no run has. REQUIRES: some runs.
RunComparison CompareRuns(std::vector<KeptRun> runs, const std::string& metric);

// "optimizer.lr=0.01, model.over_arch=[16,1]"; "" where nothing differs.
std::string SettingsText(const RunComparison& comparison, const RunGroup& group);

// A table of runs, and one of groups where there are several or a mean over seeds; then the notes.
std::string ComparisonText(const RunComparison& comparison);
// A sentence for each run with a note, and for each that cannot be read.
std::vector<std::string> ComparisonNotes(const RunComparison& comparison);
// {"compared_by", "higher_is_better", "runs": [{"path", "group", "seed", "finished", "epochs",
// "last", "best", "rows", "seconds", "rows_per_second", "note"}, …], "groups": [{"settings", "runs",
// "last": {"mean", "standard_error"}, "best"}, …], "unread": [{"path", "why"}, …]}; groups and runs
// name each other by their places in these lists, from 0. A value that is not defined is null.
std::string ComparisonJson(const RunComparison& comparison);
// The rows of both tables, headings first.
std::vector<std::vector<std::string>> RunRows(const RunComparison& comparison);
std::vector<std::vector<std::string>> GroupRows(const RunComparison& comparison);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_RUNS_RUN_COMPARISON_H_
