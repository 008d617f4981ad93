#ifndef TESSERA_RUNTIME_OPS_KERNELS_CHUNKED_SUM_CUH_
#define TESSERA_RUNTIME_OPS_KERNELS_CHUNKED_SUM_CUH_
// How the sums of chunked_sum.h run on CUDA: a warp a chunk, then one warp. For .cu files.
#include "runtime/ops/kernels/chunked_sum.h"
#include "runtime/ops/kernels/warp_lanes.cuh"

namespace tessera::internal {

// The sum of chunk `chunk`.
template <typename Term>
struct SumOfChunk {
  Term term;
  int64_t n;
  double* sums;

  template <typename Lanes>
  TESSERA_HD void operator()(Lanes lanes, int64_t chunk) const {
    const int64_t begin = chunk * kTermsOfAChunk, left = n - begin;
    const double sum = lanes.Sum(left < kTermsOfAChunk ? left : kTermsOfAChunk,
                                 [&](int64_t i) { return term(begin + i); });
    if (lanes.first()) sums[chunk] = sum;
  }
};
// Sums the chunks' sums like the columns of one row.
struct SumOfChunks {
  const double* sums;
  int64_t chunks;
  SumFactor factor;
  float* out;

  template <typename Lanes>
  TESSERA_HD void operator()(Lanes lanes, int64_t) const {
    const double sum = lanes.Sum(chunks, [&](int64_t i) { return sums[i]; });
    if (lanes.first()) *out = static_cast<float>(sum * factor.Value());
  }
};

template <typename Term>
void RunChunkedSum(OnCuda on, Context& ctx, int64_t n, const Term& term, SumFactor factor,
                   float* out) {
  const int64_t chunks = (n + kTermsOfAChunk - 1) / kTermsOfAChunk;
  const Tensor sums = Tensor::Empty(ctx, {chunks}, DType::kF64);
  RunRows(on, ctx, chunks, 1, SumOfChunk<Term>{term, n, sums.data<double>()});
  RunRows(on, ctx, 1, 1, SumOfChunks{sums.data<double>(), chunks, factor, out});
}

// Compiles a term for CUDA. In namespace tessera::internal.
#define TESSERA_CHUNKED_SUM_ON_CUDA(Term) \
  template void RunChunkedSum(OnCuda, Context&, int64_t, const Term&, SumFactor, float*)

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_OPS_KERNELS_CHUNKED_SUM_CUH_
