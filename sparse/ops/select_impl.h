#ifndef TESSERA_SPARSE_OPS_SELECT_IMPL_H_
#define TESSERA_SPARSE_OPS_SELECT_IMPL_H_
// The devices' halves of select.h.
#include <memory>

#include "runtime/base/host_device.h"
#include "runtime/device/device.h"
#include "runtime/tensor.h"
#include "sparse/ops/row_runs.h"

namespace tessera::internal {

// Bags `indices` (i64) of every key: key·batch + index; −1 for an index outside on a device, an
// Error on the CPU.
Tensor BagsOfKeys(OnCpu, Context& ctx, const Tensor& indices, int64_t keys, int64_t batch);
Tensor BagsOfKeys(OnCuda, Context& ctx, const Tensor& indices, int64_t keys, int64_t batch);

// The rows where mask (contiguous) is true, and how many each segment keeps (dtype as given). Waits
// for a device.
struct Masked {
  std::shared_ptr<const SegmentSelection> rows;
  Tensor lengths;
};
Masked SelectMasked(OnCpu, Context& ctx, const Segments& segments, const Tensor& mask, DType dtype);
Masked SelectMasked(OnCuda, Context& ctx, const Segments& segments, const Tensor& mask,
                    DType dtype);

// Each segment as a head of at most `longest` rows and a tail: offsets [2n+1]; and the heads.
struct Halves {
  Tensor offsets, heads;
};
Halves CutSegments(OnCpu, Context& ctx, const Segments& segments, int64_t longest);
Halves CutSegments(OnCuda, Context& ctx, const Segments& segments, int64_t longest);

struct CutSegment {
  const int64_t* offsets;
  int64_t longest;
  int64_t *cuts, *heads;
  TESSERA_HD void operator()(int64_t s) const {
    const int64_t begin = offsets[s], end = offsets[s + 1];
    if (s == 0) cuts[0] = begin;
    heads[s] = 2 * s;
    cuts[2 * s + 1] = begin + longest < end ? begin + longest : end;
    cuts[2 * s + 2] = end;
  }
};

// Each segment as what is before the window, the window, and what is behind it: offsets [3n+1]; and
// the windows, as heads.
Halves CutWindows(OnCpu, Context& ctx, const Segments& segments, const Tensor& start,
                  int64_t longest);
Halves CutWindows(OnCuda, Context& ctx, const Segments& segments, const Tensor& start,
                  int64_t longest);

struct CutWindow {
  const int64_t *offsets, *start;
  int64_t longest;
  int64_t *cuts, *windows;
  TESSERA_HD void operator()(int64_t s) const {
    const int64_t begin = offsets[s], end = offsets[s + 1], rows = end - begin;
    const int64_t first = start[s] < 0 ? 0 : start[s] < rows ? start[s] : rows;
    const int64_t left = rows - first;
    if (s == 0) cuts[0] = begin;
    windows[s] = 3 * s + 1;
    cuts[3 * s + 1] = begin + first;
    cuts[3 * s + 2] = begin + first + (longest < left ? longest : left);
    cuts[3 * s + 3] = end;
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_OPS_SELECT_IMPL_H_
