#ifndef TESSERA_BENCH_INPUTS_TRACE_H_
#define TESSERA_BENCH_INPUTS_TRACE_H_
// A recorded stream of ids: a text file, plain or gzip, with one id a line.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera::bench {

// The whole numbers from 0 of a text file, plain or gzip, one a line; `what` says what each is.
// Throws Error for a file that cannot be read or is empty, and for any other line, with its number.
std::vector<int64_t> ReadNumberLines(const std::string& path, const std::string& what);

struct Trace {
  std::vector<int64_t> ids;      // never empty
  std::vector<int64_t> renamed;  // RenamedDensely
  int64_t rows = 0;              // largest id + 1
};

// Renames ids to 0, 1, 2, … in the order of their first use.
std::vector<int64_t> RenamedDensely(std::span<const int64_t> ids);

// Throws Error as ReadNumberLines does.
Trace ReadTrace(const std::string& path);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_INPUTS_TRACE_H_
