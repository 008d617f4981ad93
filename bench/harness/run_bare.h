#ifndef TESSERA_BENCH_HARNESS_RUN_BARE_H_
#define TESSERA_BENCH_HARNESS_RUN_BARE_H_
// Runs the bare loops that set the benches' limits.
#include <cstdint>

#include "runtime/context.h"

namespace tessera::bench {

// Runs part 0 … parts − 1 of a bare loop on the context's threads.
template <typename Loop>
void RunBare(Context& ctx, const Loop& loop) {
  const int64_t parts = ctx.threads().threads();
  ParallelFor(ctx, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) loop.Run(p, parts);
  });
}

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_RUN_BARE_H_
