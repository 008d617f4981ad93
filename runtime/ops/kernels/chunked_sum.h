#ifndef TESSERA_RUNTIME_OPS_KERNELS_CHUNKED_SUM_H_
#define TESSERA_RUNTIME_OPS_KERNELS_CHUNKED_SUM_H_
// Sums over many items, in double, whose bits depend neither on the number of threads nor on the
// device: chunks of fixed length, each in the order of runtime/numbers/lanes.h; then the chunks'
// sums, in that order again.
#include <vector>

#include "runtime/device/dispatch.h"
#include "runtime/ops/kernels/sum_factor.h"
#include "runtime/ops/kernels/vector_math.h"
#include "runtime/tensor.h"

namespace tessera::internal {

inline constexpr int64_t kTermsOfAChunk = 1024;

// *out = factor·Σ_i term(i) for i in [0, n). Term: a struct with `TESSERA_HD double operator()(
// int64_t i) const`.
template <typename Term>
void RunChunkedSum(OnCpu, Context& ctx, int64_t n, const Term& term, SumFactor factor, float* out) {
  std::vector<double> partial(static_cast<size_t>((n + kTermsOfAChunk - 1) / kTermsOfAChunk));
  ParallelFor(ctx, n, kTermsOfAChunk, [&](int64_t begin, int64_t end) {
    partial[static_cast<size_t>(begin / kTermsOfAChunk)] =
        SumInLanes(end - begin, [&](int64_t i) { return term(begin + i); });
  });
  const double sum = SumInLanes(static_cast<int64_t>(partial.size()),
                                [&](int64_t i) { return partial[static_cast<size_t>(i)]; });
  *out = static_cast<float>(sum * factor.Value());
}
template <typename Term>
void RunChunkedSum(OnCuda, Context& ctx, int64_t n, const Term& term, SumFactor factor, float* out);

// factor·Σ_i term(i), of shape []. A term needs a line in the .cu file of its op
// (TESSERA_CHUNKED_SUM_ON_CUDA in chunked_sum.cuh).
template <typename Term>
Tensor ChunkedSum(Context& ctx, int64_t n, const Term& term, SumFactor factor) {
  Tensor sum = Tensor::Empty(ctx, {});
  DispatchDevice(ctx.device(),
                 [&](auto on) { RunChunkedSum(on, ctx, n, term, factor, sum.data<float>()); });
  return sum;
}

// The numbers of an array.
template <typename T>
struct NumbersOf {
  const T* data;
  TESSERA_HD double operator()(int64_t i) const { return data[i]; }
};

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_OPS_KERNELS_CHUNKED_SUM_H_
