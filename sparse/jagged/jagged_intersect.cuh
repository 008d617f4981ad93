#ifndef TESSERA_SPARSE_JAGGED_JAGGED_INTERSECT_CUH_
#define TESSERA_SPARSE_JAGGED_JAGGED_INTERSECT_CUH_
// A thread for each element of a padded tensor, with the element of its jagged twin where it has
// one. For .cu files.
#include "runtime/launch.cuh"
#include "runtime/tensor.h"
#include "sparse/jagged/jagged_layout.h"
#include "sparse/ops/divider.h"
#include "sparse/ops/row_runs.h"

namespace tessera::internal {

// op(jagged element or null, padded element).
template <typename T, typename Op>
struct MeetElement {
  JaggedView view;
  T *jagged, *padded;
  Divider width, slots;
  Op op;
  TESSERA_HD void operator()(int64_t e) const {
    const Divider::Parts place = width.Split(e), slot = slots.Split(place.quotient);
    const JaggedView::Run run = view.run(slot.quotient);
    const int64_t row = run.row + slot.rest;
    op(slot.rest < run.count ? jagged + row * static_cast<int64_t>(width.divisor()) + place.rest
                             : static_cast<T*>(nullptr),
       padded[e]);
  }
};

template <typename T, typename Op>
void ForMeeting(Context& ctx, const JaggedLayout& layout, const Tensor& jagged,
                const Tensor& padded, const Op& op) {
  const int64_t width = RowBytes(jagged) / SizeOf(jagged.dtype());
  ForEach(ctx, padded.numel(),
          MeetElement<T, Op>{layout.view(), jagged.data<T>(), padded.data<T>(),
                             Divider(static_cast<uint64_t>(width)),
                             Divider(static_cast<uint64_t>(layout.slots())), op});
}

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_JAGGED_JAGGED_INTERSECT_CUH_
