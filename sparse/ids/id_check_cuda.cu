#include "runtime/launch.cuh"
#include "sparse/ids/id_check.h"

namespace tessera::internal {
namespace {

constexpr int kThreads = 256;

template <typename T>
__global__ void __launch_bounds__(kThreads)
    FirstOutsideKernel(const T* ids, int64_t n, int64_t rows, unsigned long long* first) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += step)
    if (static_cast<uint64_t>(static_cast<int64_t>(ids[i])) >= static_cast<uint64_t>(rows)) {
      atomicMin(first, static_cast<unsigned long long>(i));
      return;
    }
}

}  // namespace

int64_t FirstOutsideSync(OnCuda, Context& ctx, const Tensor& ids, int64_t rows) {
  const int64_t n = ids.numel();
  const Tensor first = Tensor::Full(ctx, {1}, static_cast<double>(n), DType::kI64);
  VisitDType(ids.dtype(), [&]<typename T>() {
    if constexpr (std::is_integral_v<T>)
      Launch(ctx, FirstOutsideKernel<T>, BlocksFor(n, 8 * kThreads), kThreads, 0, ids.data<T>(), n,
             rows, static_cast<unsigned long long*>(first.raw_data()));
  });
  return first.ToVector<int64_t>()[0];
}

}  // namespace tessera::internal
