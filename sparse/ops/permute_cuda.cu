#include "runtime/launch.cuh"
#include "runtime/tensor.h"
#include "sparse/ops/permute_impl.h"

namespace tessera::internal {
namespace {

template <typename T>
struct Invert {
  const T* permute;
  T* y;
  int64_t n;
  TESSERA_HD void operator()(int64_t i) const {
    if (permute[i] >= 0 && permute[i] < n) y[permute[i]] = static_cast<T>(i);
  }
};

}  // namespace

void InvertPermute(OnCuda, Context& ctx, const Tensor& permute, const Tensor& y) {
  VisitIndexType(permute.dtype(), "permute", [&]<typename T>() {
    ForEach(ctx, permute.dim(0), Invert<T>{permute.data<T>(), y.data<T>(), permute.dim(0)});
  });
}

}  // namespace tessera::internal
