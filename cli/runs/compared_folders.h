#ifndef TESSERA_CLI_RUNS_COMPARED_FOLDERS_H_
#define TESSERA_CLI_RUNS_COMPARED_FOLDERS_H_
// The comparison of runs as commands print and write it, and the flags that say how.
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/outputs.h"
#include "cli/runs/run_comparison.h"

namespace tessera::cli {

struct ComparisonFlags {
  std::string metric, json, svg, html;
};
void AddComparisonFlags(Command command, ComparisonFlags& flags);
// Claims the files that the flags name.
void ClaimComparison(const ComparisonFlags& flags, Outputs& outputs);

// Prints the comparison of the runs in folders, each of which is a run's or has such in it, and
// writes it to the files that the flags name. A run that cannot be read is listed with what is
// wrong, beside the others. Throws Error for a folder without runs, where no run can be read, and
// for an --svg without a curve, which without `needs_curve` is only said on standard error.
RunComparison CompareFolders(const std::vector<std::string>& folders, const ComparisonFlags& flags,
                             bool needs_curve);
// Throws Error for a comparison that lists damaged runs.
void ThrowIfUnread(const RunComparison& comparison);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_RUNS_COMPARED_FOLDERS_H_
