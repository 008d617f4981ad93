#ifndef TESSERA_BENCH_EMBEDDING_ID_SOURCE_H_
#define TESSERA_BENCH_EMBEDDING_ID_SOURCE_H_
// Traces of ids for the eviction topic: of files of any layout, or made up.
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::bench {

struct RawIdTrace {
  std::vector<int64_t> raw;    // 64-bit hashes
  std::vector<int64_t> dense;  // the same ids as 0, 1, 2, … in the order of their first use
  int64_t distinct = 0;
};

constexpr const char* kIdSourceHelp =
    "lines:FILE (all words) | bags:FILE (all words of a line but the first) | column:N:FILE (the "
    "N-th "
    "of columns between tabs, from 1; empty ones are left out) | uniform | zipf:S | "
    "distances[:FILE]";

// A word of a file, plain or gzip, is the id that its hash is. Others are drawn by a skew
// (bench/inputs/skew.h): `count` ids of `rows` rows. Throws Error that names what is allowed, and for
// a file without ids.
RawIdTrace ReadIdSource(const std::string& text, int64_t count, int64_t rows);
// Throws Error for text that is no source; a file need not be there.
void CheckIdSource(const std::string& text);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_ID_SOURCE_H_
