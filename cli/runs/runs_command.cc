// tessera runs: compares runs that tessera train --run kept.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/runs/curves_picture.h"
#include "cli/runs/run_comparison.h"
#include "cli/runs/run_folder.h"
#include "cli/show/reports.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"

namespace tessera::cli {
namespace {

constexpr char kFooter[] =
    "\n"
    "Examples:\n"
    "  tessera runs runs/first runs/second\n"
    "  tessera runs runs --svg curves.svg --html runs.html\n"
    "  tessera runs runs --metric log_loss --json runs.json\n"
    "\n"
    "The best run, and the group with the best mean, is the first. Runs whose configurations, "
    "data, --pipeline and --wire-codecs differ by train.seed alone are one group. Its means and "
    "standard errors are over the seeds of its finished runs; runs of one "
    "seed count as one. A folder that is named twice is read once. Rows and time are sums over the "
    "starts of a run, without those that were killed.\n";

struct Flags {
  std::vector<std::string> folders;
  std::string metric, json, svg, html;
};

// The folder itself, or the runs in it that have begun, by name.
std::vector<std::string> RunsIn(const std::string& folder) {
  if (IsRunFolder(folder) || !std::filesystem::is_directory(folder)) return {folder};
  std::vector<std::string> runs;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (const std::string path = PathIn(folder, entry.path().filename().string());
        IsRunFolder(path) && std::filesystem::exists(PathIn(path, kRunConfig)))
      runs.push_back(path);
  if (runs.empty()) throw Error(Format("{}: there is no run of tessera train --run in it", folder));
  std::ranges::sort(runs);
  return runs;
}

int CompareFolders(const Flags& flags) {
  Outputs outputs(/*overwrite=*/false, flags.folders);
  outputs.AddReport(flags.json, kRunsReport);
  outputs.AddReport(flags.svg, kRunsPicture);
  outputs.AddReport(flags.html, kRunsPage);
  std::vector<KeptRun> runs;
  std::set<std::filesystem::path> known;
  for (const std::string& folder : flags.folders)
    for (const std::string& path : RunsIn(folder))
      if (known.insert(std::filesystem::weakly_canonical(path)).second)
        runs.push_back(ReadKeptRun(path));
  const RunComparison comparison = CompareRuns(std::move(runs), flags.metric);
  std::fputs(ComparisonText(comparison).c_str(), stdout);
  if (!flags.json.empty()) ReplaceTextFile(flags.json, ComparisonJson(comparison));
  if (!flags.svg.empty()) ReplaceTextFile(flags.svg, CurvesSvg(comparison));
  if (!flags.html.empty()) ReplaceTextFile(flags.html, CurvesPage(comparison));
  return 0;
}

}  // namespace

void AddRunsCommand(Command app) {
  Command command = app.AddCommand(
      "runs",
      "Compare runs of tessera train --run: metrics, speed, what their configurations differ in, "
      "means over seeds, learning curves.");
  const auto f = std::make_shared<Flags>();
  command.Add("folders", f->folders, "Folders of runs, or folders that have such folders in them")
      .Required()
      .Value("DIR");
  command
      .Add("--metric", f->metric,
           "Compare by this metric, under its name in --eval-metric of tessera train, or by "
           "train_loss; default: the one that the runs' evaluations were compared by")
      .Value("METRIC");
  command.Add("--json", f->json, "Write the comparison to this file as JSON").Value("FILE");
  command.Add("--svg", f->svg, "Draw the learning curves into this file").Value("FILE");
  command.Add("--html", f->html, "Write a page with the curves and tables to this file")
      .Value("FILE");
  command.Footer(kFooter);
  command.Run([f] { return CompareFolders(*f); });
}

}  // namespace tessera::cli
