#ifndef TESSERA_RUNTIME_ELEMENTWISE_H_
#define TESSERA_RUNTIME_ELEMENTWISE_H_
// Computations of independent items, written once as a struct with `TESSERA_HD void operator()(
// int64_t i) const` and run by loops on the CPU and by threads on CUDA. A functor that this header
// does not know needs a line in the .cu file of its op (TESSERA_ELEMENTWISE_ON_CUDA in
// elementwise.cuh).
#include "runtime/base/host_device.h"
#include "runtime/context.h"
#include "runtime/device/dispatch.h"
#include "runtime/for_each.h"

namespace tessera::internal {

template <typename Functor>
void RunItems(OnCpu on, Context& ctx, int64_t n, int64_t grain, const Functor& functor) {
  ForEach(on, ctx, n, grain, functor);
}
template <typename Functor>
void RunItems(OnCuda, Context& ctx, int64_t n, int64_t grain, const Functor& functor);

// functor(i) for i in [0, n), on ctx's device; `grain` items make a piece of work for a CPU thread.
template <typename Functor>
void Elementwise(Context& ctx, int64_t n, const Functor& functor, int64_t grain = 1 << 15) {
  DispatchDevice(ctx.device(), [&](auto on) { RunItems(on, ctx, n, grain, functor); });
}

struct AddItems {
  const float *a, *b;
  float* out;
  TESSERA_HD void operator()(int64_t i) const { out[i] = a[i] + b[i]; }
};
struct MultiplyItems {
  const float *a, *b;
  float* out;
  TESSERA_HD void operator()(int64_t i) const { out[i] = a[i] * b[i]; }
};
struct MultiplyAddItems {
  const float *a, *b, *c;
  float* out;
  TESSERA_HD void operator()(int64_t i) const { out[i] = a[i] * b[i] + c[i]; }
};
// Rows of `dim` numbers, to each of which `row` is added.
struct AddRowItems {
  const float *in, *row;
  float* out;
  int64_t dim;
  TESSERA_HD void operator()(int64_t i) const { out[i] = in[i] + row[i % dim]; }
};
struct ScaleItems {
  const float* in;
  float factor;
  float* out;
  TESSERA_HD void operator()(int64_t i) const { out[i] = in[i] * factor; }
};
// All items are a number that lies on the device, times a factor.
struct SpreadNumber {
  const float* number;
  double factor;
  float* out;
  TESSERA_HD void operator()(int64_t i) const { out[i] = static_cast<float>(*number * factor); }
};

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_ELEMENTWISE_H_
