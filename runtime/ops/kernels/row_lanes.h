#ifndef TESSERA_RUNTIME_OPS_KERNELS_ROW_LANES_H_
#define TESSERA_RUNTIME_OPS_KERNELS_ROW_LANES_H_
// Computations of a row, written once as a function of the lanes that run it (serial_lanes.h), for
// every row on either device.
#include "runtime/context.h"
#include "runtime/device/dispatch.h"
#include "runtime/for_each.h"
#include "runtime/ops/kernels/serial_lanes.h"

namespace tessera::internal {

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
