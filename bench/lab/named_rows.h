#ifndef TESSERA_BENCH_LAB_NAMED_ROWS_H_
#define TESSERA_BENCH_LAB_NAMED_ROWS_H_
// The rows that a batch names, with their states: their bytes are read, compared and put back,
// which is how the updates of large tables are checked without a second copy of them.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/lab/row_check.h"
#include "embedding/update/update.h"
#include "runtime/context.h"

namespace tessera::bench {

class NamedRows {
 public:
  using Bytes = std::vector<char>;

  // REQUIRES: the tables outlive this, and their states are one a row.
  explicit NamedRows(const UpdateArgs& args);

  Bytes Read() const;
  void Write(const Bytes& bytes) const;
  // Throws Error where one has other bytes (CheckRows).
  void Compare(const Bytes& expected) const;

 private:
  // A row or a state of it.
  struct Piece {
    size_t table;
    const char* what;
    RowsAt at;
    char* data;
    int64_t size;
  };
  std::vector<Piece> pieces_;
};

// A hash of all rows and states.
uint64_t Fingerprint(Context& ctx, std::span<const UpdateTable> tables);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_NAMED_ROWS_H_
