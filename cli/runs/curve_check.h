#ifndef TESSERA_CLI_RUNS_CURVE_CHECK_H_
#define TESSERA_CLI_RUNS_CURVE_CHECK_H_
// Holds the learning curve of a finished run against the report of its last start.
#include <string>

#include "cli/runs/run_folder.h"

namespace tessera::cli {

// A sentence for people about what result.json has that curve.jsonl lacks, or has otherwise, with
// the file's name; "" where they agree, and for a run that is not finished or has no result.json.
std::string CurveNote(const KeptRun& run);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_RUNS_CURVE_CHECK_H_
