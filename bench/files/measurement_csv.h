#ifndef TESSERA_BENCH_FILES_MEASUREMENT_CSV_H_
#define TESSERA_BENCH_FILES_MEASUREMENT_CSV_H_
// A run as a table for spreadsheets and plots: RFC 4180, a line a row, with a column for each axis
// and for each fact that any row has. What is not known of a row is empty.
#include <string>

#include "bench/harness/measurement.h"

namespace tessera::bench {

std::string RunToCsv(const BenchRun& run);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_FILES_MEASUREMENT_CSV_H_
