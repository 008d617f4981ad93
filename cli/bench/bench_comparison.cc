#include "cli/bench/bench_comparison.h"

#include <algorithm>
#include <cstdio>

namespace tessera::cli {
namespace {

bool SlowerThanAllowed(const bench::RowChange& row, double percent) {
  return row.contender == "tessera" && row.verdict == bench::Verdict::kSlower &&
         row.speed < 1 - percent / 100;
}

}  // namespace

Flag AddAllowTo(Command command, double& allowed) {
  return command
      .Add("--allow", allowed,
           "With a comparison: exit with 1 where a row of ours became slower by more percent, or "
           "has too few rounds to tell, and where no row is in both runs")
      .Within(NumbersFrom(0.0, 100.0))
      .Value("PERCENT");
}

int PrintComparison(const bench::RunComparison& comparison, double allowed) {
  std::fputs(bench::ComparisonText(comparison).c_str(), stdout);
  if (allowed == kAnyChange) return 0;
  if (comparison.rows.empty()) return 1;
  const auto slower =
      std::count_if(comparison.rows.begin(), comparison.rows.end(),
                    [&](const bench::RowChange& row) { return SlowerThanAllowed(row, allowed); });
  const auto open = std::count_if(
      comparison.rows.begin(), comparison.rows.end(), [](const bench::RowChange& row) {
        return row.contender == "tessera" && row.verdict == bench::Verdict::kTooFewRounds;
      });
  std::printf("%d of our rows slower by more than %g %%, %d with too few rounds to tell\n",
              static_cast<int>(slower), allowed, static_cast<int>(open));
  return slower + open > 0 ? 1 : 0;
}

}  // namespace tessera::cli
