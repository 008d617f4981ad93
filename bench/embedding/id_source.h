#ifndef TESSERA_BENCH_EMBEDDING_ID_SOURCE_H_
#define TESSERA_BENCH_EMBEDDING_ID_SOURCE_H_
// Traces of ids for the eviction topic: words of text files, or made up.
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::bench {

struct RawIdTrace {
  std::vector<int64_t> raw;    // 64-bit hashes
  std::vector<int64_t> dense;  // RenamedDensely (bench/inputs/trace.h)
  int64_t distinct = 0;
};

constexpr const char* kIdSourceHelp =
    "lines:FILE (all words) | bags:FILE (all words of a line but the first) | column:N:FILE (the "
    "N-th of columns between tabs, from 1; empty ones are left out) | uniform | zipf:S | "
    "distances[:FILE]";

// The hashes of words of a file, plain or gzip; else hashes of `count` ids of `rows` rows, drawn by
// a skew (bench/inputs/skew.h). REQUIRES: what CheckIdSource takes, and count > 0. Throws Error for
// a file that cannot be read or has no ids.
RawIdTrace ReadIdSource(const std::string& text, int64_t count, int64_t rows);
// Throws Error for text that is no source. A file of words need not be there; one of distances is
// read.
void CheckIdSource(const std::string& text);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_ID_SOURCE_H_
