#include "runtime/tensor.h"
#include "sparse/jagged/jagged_elementwise_impl.h"
#include "sparse/jagged/jagged_intersect.cuh"

namespace tessera::internal {
namespace {

// Calls fn for each jagged element.
template <typename Fn>
struct WherePresent {
  Fn fn;
  TESSERA_HD void operator()(float* jagged, float& padded) const {
    if (jagged != nullptr) fn(*jagged, padded);
  }
};

}  // namespace

void Meet(OnCuda, Context& ctx, const JaggedLayout& layout, const Tensor& jagged,
          const Tensor& padded, MeetOp op) {
  VisitMeetOp(op, [&](auto fn) {
    ForMeeting<float>(ctx, layout, jagged, padded, WherePresent<decltype(fn)>{fn});
  });
}

void Multiply(OnCuda, Context& ctx, const Tensor& by, const Tensor& product) {
  ForEach(ctx, by.numel(), MultiplyElement{by.data<float>(), product.data<float>()});
}

}  // namespace tessera::internal
