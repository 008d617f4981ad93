#ifndef TESSERA_SPARSE_JAGGED_JAGGED_ELEMENTWISE_IMPL_H_
#define TESSERA_SPARSE_JAGGED_JAGGED_ELEMENTWISE_IMPL_H_
// The formulas of jagged_elementwise.h, and the devices' halves.
#include "runtime/base/host_device.h"
#include "runtime/device/device.h"
#include "runtime/tensor.h"
#include "sparse/jagged/jagged_layout.h"

namespace tessera::internal {

// The operation on a jagged element x and the padded element y at the same place.
enum class MeetOp { kAddToJagged, kAddToPadded, kMultiplyPadded };

struct AddToJagged {
  TESSERA_HD void operator()(float& x, float y) const { x += y; }
};
struct AddToPadded {
  TESSERA_HD void operator()(float x, float& y) const { y = x + y; }
};
struct MultiplyPadded {
  TESSERA_HD void operator()(float x, float& y) const { y *= x; }
};

template <typename Fn>
void VisitMeetOp(MeetOp op, const Fn& fn) {
  switch (op) {
    case MeetOp::kAddToJagged:
      return fn(AddToJagged{});
    case MeetOp::kAddToPadded:
      return fn(AddToPadded{});
    case MeetOp::kMultiplyPadded:
      return fn(MultiplyPadded{});
  }
}

struct MultiplyElement {
  const float* by;
  float* product;
  TESSERA_HD void operator()(int64_t i) const { product[i] *= by[i]; }
};

// f32, contiguous.
void Meet(OnCpu, Context& ctx, const JaggedLayout& layout, const Tensor& jagged,
          const Tensor& padded, MeetOp op);
void Meet(OnCuda, Context& ctx, const JaggedLayout& layout, const Tensor& jagged,
          const Tensor& padded, MeetOp op);
// product *= by.
void Multiply(OnCpu, Context& ctx, const Tensor& by, const Tensor& product);
void Multiply(OnCuda, Context& ctx, const Tensor& by, const Tensor& product);

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_JAGGED_JAGGED_ELEMENTWISE_IMPL_H_
