#ifndef TESSERA_RUNTIME_OPS_KERNELS_ROW_LANES_H_
#define TESSERA_RUNTIME_OPS_KERNELS_ROW_LANES_H_
// Computations of a row, written once as a function of who runs the lanes of
// runtime/numbers/lanes.h: one thread in turn (SerialLanes), or a warp (WarpLanes in
// warp_lanes.cuh). Both have
//
//   Sum(n, term)   Σ_{i<n} term(i) in the order of the lanes, known to all of them
//   Max(n, term)   the largest term(i), −∞ for n = 0
//   Each(n, fn)    fn(i) for i < n; no lane goes on before all are done
//   first()        whether this is the lane that writes what the row has once
//
// In the namespace of the instruction set, as all that is compiled more than once (tools/isa.bzl).
#include <limits>

#include "runtime/context.h"
#include "runtime/device/dispatch.h"
#include "runtime/for_each.h"
#include "runtime/ops/kernels/vector_math.h"

#ifndef TESSERA_ISA
#define TESSERA_ISA native
#endif

namespace tessera::internal {

namespace TESSERA_ISA {

struct SerialLanes {
  template <typename Term>
  auto Sum(int64_t n, Term term) const {
    return SumInLanes(n, term);
  }
  template <typename Term>
  float Max(int64_t n, Term term) const {
    float largest = -std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i < n; ++i) largest = term(i) > largest ? term(i) : largest;
    return largest;
  }
  template <typename Fn>
  void Each(int64_t n, Fn fn) const {
    for (int64_t i = 0; i < n; ++i) fn(i);
  }
  bool first() const { return true; }
};

}  // namespace TESSERA_ISA

// Functor: a struct with `template <typename Lanes> TESSERA_HD void operator()(Lanes, int64_t row)
// const`.
template <typename Functor>
void RunRows(OnCpu on, Context& ctx, int64_t rows, int64_t grain, const Functor& functor) {
  ForEach(on, ctx, rows, grain,
          [&functor](int64_t row) { functor(TESSERA_ISA::SerialLanes{}, row); });
}
template <typename Functor>
void RunRows(OnCuda, Context& ctx, int64_t rows, int64_t grain, const Functor& functor);

// functor(lanes, row) for every row, on ctx's device; `grain` rows make a piece of work for a CPU
// thread. A functor needs a line in the .cu file of its op (TESSERA_ROWS_ON_CUDA in
// warp_lanes.cuh).
template <typename Functor>
void Rowwise(Context& ctx, int64_t rows, const Functor& functor, int64_t grain = 64) {
  DispatchDevice(ctx.device(), [&](auto on) { RunRows(on, ctx, rows, grain, functor); });
}

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_OPS_KERNELS_ROW_LANES_H_
