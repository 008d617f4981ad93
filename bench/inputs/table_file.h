#ifndef TESSERA_BENCH_INPUTS_TABLE_FILE_H_
#define TESSERA_BENCH_INPUTS_TABLE_FILE_H_
// Tables of a user that differ in rows, dim, bag lengths and skew.
//
//   FILE.json     [{"rows": "1M", "dim": 64, "pooling": "poisson:20", "skew": "zipf:1.05"}, …]
//   FILE.csv      a heading with these names in any order, then a line a table
//   config:FILE   rows and dim of the tables of a training configuration
//
// Values are what the flags of these names take. Pooling and skew may be left out, by all tables or
// by some.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/inputs/bag_lengths.h"
#include "bench/inputs/skew.h"

namespace tessera::bench {

struct FileTable {
  int64_t rows = 0, dim = 0;
  std::optional<BagLengths> lengths = {};
  std::optional<Skew> skew = {};
};

constexpr const char* kTableFileHelp =
    "FILE.json or FILE.csv with rows, dim, and perhaps pooling and skew of each | config:FILE "
    "(those "
    "of a training configuration)";
constexpr int64_t kMaxDim = 1 << 16;

// Whether the text is one of those above.
bool NamesTableFile(const std::string& text);
// Throws Error, naming file and place, for one that cannot be read, or has no tables.
std::vector<FileTable> ReadTableFile(const std::string& text);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_INPUTS_TABLE_FILE_H_
