#include "cli/runs/compared_folders.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <utility>

#include "cli/runs/curve_check.h"
#include "cli/runs/curves_picture.h"
#include "cli/runs/run_folder.h"
#include "cli/show/log.h"
#include "cli/show/reports.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"

namespace tessera::cli {
namespace {

// Whether a run has begun, or has failed before; a damaged one is read later, which says so.
bool HasHappened(const std::string& path) {
  try {
    return HasBegun(path) || HasFailed(path);
  } catch (const Error&) {
    return true;
  }
}

// Whether a folder is a run's, which may have lost its run.json.
bool IsOfRun(const std::string& path) {
  return IsRunFolder(path) ||
         (IsThere(PathIn(path, kRunConfig)) && IsThere(PathIn(path, kRunCurve)));
}

// Adds the runs that have begun in a folder, and in the folders in it, which may be of sweeps.
void AddRuns(const std::string& folder, bool of_sweeps, std::vector<std::string>& runs) {
  constexpr auto kReadable = std::filesystem::directory_options::skip_permission_denied;
  for (const auto& entry : std::filesystem::directory_iterator(folder, kReadable)) {
    const std::string path = PathIn(folder, entry.path().filename().string());
    if (IsOfRun(path)) {
      if (HasHappened(path)) runs.push_back(path);
    } else if (of_sweeps && IsFolder(path)) {
      AddRuns(path, /*of_sweeps=*/false, runs);
    }
  }
}

// The folder itself, or the runs in it, by name.
std::vector<std::string> RunsIn(const std::string& folder) {
  if (!IsFolder(folder)) CheckRunFolder(folder);
  if (IsRunFolder(folder)) return {folder};
  std::vector<std::string> runs;
  AddRuns(folder, /*of_sweeps=*/true, runs);
  if (runs.empty()) throw Error(Format("{}: there is no run of tessera train --run in it", folder));
  std::ranges::sort(runs);
  return runs;
}

// The paths of the runs in folders; a folder that is named twice is read once.
std::vector<std::string> PathsOf(const std::vector<std::string>& folders) {
  std::vector<std::string> paths;
  std::set<std::filesystem::path> known;
  for (const std::string& folder : folders)
    for (const std::string& path : RunsIn(folder))
      if (known.insert(std::filesystem::weakly_canonical(path)).second) paths.push_back(path);
  return paths;
}

struct FoundRuns {
  std::vector<KeptRun> runs;
  std::vector<UnreadRun> unread;
};

FoundRuns ReadRuns(const std::vector<std::string>& folders) {
  FoundRuns found;
  for (const std::string& path : PathsOf(folders)) {
    try {
      if (const std::string why = MissingFileText(path); !why.empty()) {
        found.unread.push_back({path, why, /*is_damaged=*/!HasFailed(path)});
        continue;
      }
      found.runs.push_back(ReadKeptRun(path));
      found.runs.back().note = CurveNote(found.runs.back());
    } catch (const Error& error) {
      found.unread.push_back({path, error.what()});
    }
  }
  if (!found.runs.empty()) return found;
  const UnreadRun& first = found.unread.front();
  const std::string why =
      first.why.starts_with(first.path) ? first.why : Format("{}: {}", first.path, first.why);
  if (found.unread.size() == 1) throw Error(why);
  throw Error(Format("none of {} runs can be read; the first: {}", found.unread.size(), why));
}

}  // namespace

void AddComparisonFlags(Command command, ComparisonFlags& flags) {
  command
      .Add("--metric", flags.metric,
           "Compare by this metric, under its name in --eval-metric of tessera train, or by "
           "train_loss; default: the one that the runs' evaluations were compared by")
      .Value("METRIC");
  command.Add("--json", flags.json, "Write the comparison to this file as JSON").Value("FILE");
  command.Add("--svg", flags.svg, "Draw the learning curves into this file").Value("FILE");
  command.Add("--html", flags.html, "Write a page with the curves and tables to this file")
      .Value("FILE");
}

void ClaimComparison(const ComparisonFlags& flags, Outputs& outputs) {
  outputs.AddReport(flags.json, kRunsReport);
  outputs.AddReport(flags.svg, kRunsPicture);
  outputs.AddReport(flags.html, kRunsPage);
}

RunComparison CompareFolders(const std::vector<std::string>& folders, const ComparisonFlags& flags,
                             bool needs_curve) {
  FoundRuns found = ReadRuns(folders);
  RunComparison comparison = CompareRuns(std::move(found.runs), flags.metric);
  comparison.unread = std::move(found.unread);
  std::fputs(ComparisonText(comparison).c_str(), stdout);
  if (!flags.json.empty()) ReplaceTextFile(flags.json, ComparisonJson(comparison));
  if (!flags.html.empty()) ReplaceTextFile(flags.html, CurvesPage(comparison));
  if (flags.svg.empty()) return comparison;
  if (needs_curve || HasCurve(comparison))
    ReplaceTextFile(flags.svg, CurvesSvg(comparison));
  else
    Warn(Format("--svg {} is not written: no run has two values of {}", flags.svg,
                comparison.metric));
  return comparison;
}

void ThrowIfUnread(const RunComparison& comparison) {
  const auto damaged = std::ranges::count_if(comparison.unread, &UnreadRun::is_damaged);
  if (damaged == 0) return;
  throw Error(Format("{} of {} runs cannot be read: what is wrong is below the table", damaged,
                     comparison.unread.size() + comparison.runs.size()));
}

}  // namespace tessera::cli
