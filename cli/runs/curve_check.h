#ifndef TESSERA_CLI_RUNS_CURVE_CHECK_H_
#define TESSERA_CLI_RUNS_CURVE_CHECK_H_
// Holds the learning curve of a run against what its starts found before, and, of a finished run,
// against the report of the last start.
#include <string>

#include "cli/runs/run_folder.h"

namespace tessera::cli {

// Sentences for people about evaluations that a start has repeated with other numbers, about a line
// of curve.jsonl that was cut off, about a finished run's result.json that is missing, and about
// what it has that curve.jsonl lacks, or has otherwise, its best value among it, with the file's
// name; "" where there are none. A run that is not finished is held against no result.json.
std::string CurveNote(const KeptRun& run);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_RUNS_CURVE_CHECK_H_
