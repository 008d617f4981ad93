#include "runtime/tensor.h"
#include "runtime/tensor_impl.h"
#include "sparse/jagged/jagged_intersect.cuh"
#include "sparse/jagged/jagged_layout_impl.h"

namespace tessera::internal {
namespace {

template <typename T>
struct PadOp {
  T padding;
  TESSERA_HD void operator()(const T* jagged, T& padded) const {
    padded = jagged != nullptr ? *jagged : padding;
  }
};

template <typename T>
struct UnpadOp {
  TESSERA_HD void operator()(T* jagged, const T& padded) const {
    if (jagged != nullptr) *jagged = padded;
  }
};

}  // namespace

void Pad(OnCuda, Context& ctx, const JaggedLayout& layout, const Tensor& values, double padding,
         const Tensor& padded) {
  VisitDType(values.dtype(), [&]<typename T>() {
    ForMeeting<T>(ctx, layout, values, padded, PadOp<T>{ConvertElement<T>(padding)});
  });
}

void Unpad(OnCuda, Context& ctx, const JaggedLayout& layout, const Tensor& padded,
           const Tensor& values) {
  values.Fill(ctx, 0);
  VisitDType(values.dtype(),
             [&]<typename T>() { ForMeeting<T>(ctx, layout, values, padded, UnpadOp<T>{}); });
}

}  // namespace tessera::internal
