#ifndef TESSERA_BENCH_EVICTION_ID_SOURCE_H_
#define TESSERA_BENCH_EVICTION_ID_SOURCE_H_
// Traces of ids for the eviction topic: those of files, or made up.
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::bench {

struct RawIdTrace {
  std::vector<int64_t> raw;    // 64-bit hashes
  std::vector<int64_t> dense;  // RenamedDensely (bench/inputs/trace.h)
  int64_t distinct = 0;
};

constexpr const char* kDrawnIdsHelp = "uniform | zipf:S | distances[:FILE]";

// The hashes of a file's ids (bench/inputs/id_file.h), all tables one after another; else hashes of
// `count` ids of `rows` rows, drawn by a skew (bench/inputs/skew.h). REQUIRES: what CheckIdSource
// takes, and count > 0. Throws Error for a file that cannot be read or has no ids.
RawIdTrace ReadIdSource(const std::string& text, int64_t count, int64_t rows);
// Throws Error for text that is no source. A file of words need not be there; one of distances is
// read.
void CheckIdSource(const std::string& text);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EVICTION_ID_SOURCE_H_
