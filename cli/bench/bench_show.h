#ifndef TESSERA_CLI_BENCH_BENCH_SHOW_H_
#define TESSERA_CLI_BENCH_BENCH_SHOW_H_
// `tessera bench show FILE`: a data file of `tessera bench` as table, picture or comparison.
#include "cli/command_line.h"

namespace tessera::cli {

void AddBenchShow(Command bench);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_BENCH_BENCH_SHOW_H_
