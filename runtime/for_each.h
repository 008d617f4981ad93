#ifndef TESSERA_RUNTIME_FOR_EACH_H_
#define TESSERA_RUNTIME_FOR_EACH_H_
// A function of an index, called for every index, on the CPU; runtime/launch.cuh has the same for a
// GPU. What both compute is one struct with `TESSERA_HD void operator()(int64_t i) const`.
#include "runtime/context.h"

namespace tessera::internal {

// `grain` items are one piece of work for a thread.
template <typename Fn>
void ForEach(OnCpu, Context& ctx, int64_t n, int64_t grain, const Fn& fn) {
  ParallelFor(ctx, n, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) fn(i);
  });
}

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_FOR_EACH_H_
