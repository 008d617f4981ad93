#ifndef TESSERA_BENCH_EMBEDDING_BARE_GATHER_H_
#define TESSERA_BENCH_EMBEDDING_BARE_GATHER_H_
// The limit that a GPU's memory sets to a lookup: every row of every bag is read once, eight asked
// for before the first is added, and every output written once, with nothing else of a lookup in
// the way: bags of one length, tables of one dim, ids that are rows.
#include <cstdint>

#include "runtime/context.h"

namespace tessera::bench {

// out[b, t, :] = Σ over i of tables[t][ids[t, b, i], :], in the order of i; all in the GPU's
// memory.
struct DeviceGather {
  const float* const* tables;
  const int64_t* ids;
  float* out;
  int64_t num_tables, batch, pooling, dim;
};

// REQUIRES: ctx is on a GPU, dim is a multiple of 4, rows and out are aligned to 16 bytes.
void RunBareGather(OnCuda, Context& ctx, const DeviceGather& gather);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_BARE_GATHER_H_
