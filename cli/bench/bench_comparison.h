#ifndef TESSERA_CLI_BENCH_BENCH_COMPARISON_H_
#define TESSERA_CLI_BENCH_BENCH_COMPARISON_H_
// A comparison of two runs as the user sees it, and whether it may be so (--allow).
#include "bench/harness/compare.h"
#include "cli/command_line.h"

namespace tessera::cli {

inline constexpr double kAnyChange = -1;  // of `allowed`: every change is allowed

// allowed: percent, kAnyChange unless the flag is given. REQUIRES: it outlives the command.
Flag AddAllowTo(Command command, double& allowed);

// Returns the exit code: 1 where a row of ours became slower by more than `allowed` percent, or has
// too few rounds to tell, and where no row is in both runs; else 0.
int PrintComparison(const bench::RunComparison& comparison, double allowed);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_BENCH_BENCH_COMPARISON_H_
