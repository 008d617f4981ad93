// tessera runs: compares runs that tessera train --run kept.
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/runs/compared_folders.h"

namespace tessera::cli {
namespace {

constexpr char kRunsFooter[] =
    "\n"
    "Examples:\n"
    "  tessera runs runs/first runs/second\n"
    "  tessera runs runs --svg curves.svg --html runs.html\n"
    "  tessera runs runs --metric log_loss --json runs.json\n"
    "\n"
    "The best run, and the group with the best mean, is the first. Runs whose configurations, "
    "data, --pipeline, --wire-codecs and sharding groups differ by train.seed alone are one group. "
    "Its means and standard errors are over the seeds of its finished runs; runs of one "
    "seed count as one. A folder that is named twice is read once. Rows are those of the whole "
    "run, however often it was started; time and speed are of its starts without those that were "
    "killed. Long values in tables are shortened, those of --json are whole. A table of what "
    "differs that is wider than 100 columns has a row a key "
    "and a column a group, and is folded where that is too wide, too.\n"
    "A metric of a task, as auc-like, is also that of runs that have this task alone, and auc is "
    "that of the first task.\n"
    "A run that failed before its first step is listed below the tables with the reason. "
    "A run with a damaged file is left out and listed below the tables with what is wrong; the "
    "exit code is then 1. A note there says where the curve of a finished run is not that of its "
    "result.json, where that is missing, where a line of a curve was cut off, and where a start "
    "has evaluated a step again to other numbers than a start "
    "before it.\n";

struct RunsFlags {
  std::vector<std::string> folders;
  ComparisonFlags comparison;
};

int Compare(const RunsFlags& flags) {
  Outputs outputs(/*overwrite=*/false, flags.folders);
  ClaimComparison(flags.comparison, outputs);
  ThrowIfUnread(CompareFolders(flags.folders, flags.comparison, /*needs_curve=*/true));
  return 0;
}

}  // namespace

void AddRunsCommand(Command app) {
  Command command = app.AddCommand(
      "runs",
      "Compare runs of tessera train --run: metrics, speed, what their configurations differ in, "
      "means over seeds, learning curves.");
  const auto f = std::make_shared<RunsFlags>();
  command
      .Add("folders", f->folders,
           "Folders of runs, or folders with such folders in them, up to two deep, as those of "
           "sweeps")
      .Required()
      .Value("DIR");
  AddComparisonFlags(command, f->comparison);
  command.Footer(kRunsFooter);
  command.Run([f] { return Compare(*f); });
}

}  // namespace tessera::cli
