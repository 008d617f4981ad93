#ifndef TESSERA_BENCH_QUANT_BARE_ROWS_H_
#define TESSERA_BENCH_QUANT_BARE_ROWS_H_
// The limit that this machine's memory sets to lookups from rows of bytes: a loop that reads and
// writes as much, and decodes nothing. Compiled for the machine at hand (-march=native).
#include <cstdint>

namespace tessera::bench {

// Reads every cache line of every row of each bag, and writes as many bytes as the bag's output
// has. ids table-major, offsets [T·B + 1]; a sequence is a bag an id.
struct BareRows {
  const uint8_t* const* tables;
  int64_t num_tables, batch, row_bytes, output_bytes;  // output_bytes: a multiple of 64
  const int32_t *ids, *offsets;
  uint8_t* out;
  void Run(int64_t part, int64_t parts) const;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_QUANT_BARE_ROWS_H_
