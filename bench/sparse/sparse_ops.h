#ifndef TESSERA_BENCH_SPARSE_SPARSE_OPS_H_
#define TESSERA_BENCH_SPARSE_SPARSE_OPS_H_
// The ops of the topic "sparse", by name. Of each: how many bytes a call reads and writes (8 an id,
// 4 a weight or a float; 0 where it only makes views), the call, and a check of its result by plain
// loops.
#include <functional>
#include <span>
#include <string>

#include "runtime/context.h"

namespace tessera::bench {

struct OpShape {
  int64_t keys, batch, lmax, dim;
};

struct OpCall {
  std::function<void()> call, check;
  double bytes = 0;
  int64_t ids = 0;
};

// Names in the order in which they are listed.
std::span<const char* const> SparseOps();
// REQUIRES: one of SparseOps. `ctx` outlives the calls.
OpCall MakeSparseOp(Context& ctx, const std::string& op, const OpShape& shape);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_SPARSE_SPARSE_OPS_H_
