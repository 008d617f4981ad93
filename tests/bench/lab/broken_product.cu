#include <cmath>

#include "runtime/launch.cuh"
#include "tests/bench/lab/broken_product.h"

namespace tessera::bench {
namespace {

constexpr int kThreads = 64;  // two warps

// A block makes kThreads columns of a row, a thread each; they share the row's terms of A.
struct Row {
  const ProductArgs& p;
  const CudaProductFaults& faults;
  float* staged;
  int64_t row, column;

  __device__ __forceinline__ float TermOfA(int64_t term) const {
    const bool swapped = faults.transposed && row < p.k && term < p.m;
    return swapped ? *p.A(term, row) : *p.A(row, term);
  }
  __device__ __forceinline__ float Piece(int64_t begin, int64_t end) const {
    float sum = 0;
    for (int64_t first = begin; first < end; first += kThreads) {
      const int64_t own = first + threadIdx.x;
      if (own < end) staged[threadIdx.x] = TermOfA(own);
      if (!faults.no_barrier) __syncthreads();
      for (int64_t term = first; column < p.n && term < end && term < first + kThreads; ++term) {
        const float a = staged[term - first], b = *p.B(term, column);
        sum = faults.rounding ? sum + a * b : fmaf(a, b, sum);
      }
      __syncthreads();
    }
    return sum;
  }
  __device__ __forceinline__ float Sum() const {
    const int64_t piece = faults.order ? p.k : kGemmPiece,
                  terms = faults.last_term && p.k > 0 ? p.k - 1 : p.k;
    float sum = 0;
    for (int64_t begin = 0; begin < terms; begin += piece)
      sum = sum + Piece(begin, begin + piece < terms ? begin + piece : terms);
    return faults.factor * sum;
  }
};

__global__ void BrokenProductKernel(ProductArgs p, CudaProductFaults faults) {
  __shared__ float staged[kThreads];
  const int64_t blocks_of_row = (p.n + kThreads - 1) / kThreads;
  const int64_t row = blockIdx.x / blocks_of_row,
                column = blockIdx.x % blocks_of_row * kThreads + threadIdx.x;
  const float sum = Row{p, faults, staged, row, column}.Sum();
  if (column >= p.n || (faults.last_row && row == p.m - 1) || (faults.no_terms && p.k == 0)) return;
  float* const c = p.c + row * p.ldc;
  if (!faults.lane || column + 1 < p.n) c[column] = sum;
  if (faults.lane && column + 2 == p.n) c[column + 1] = sum;
  if (faults.beside && row == p.m - 1 && column == p.n - 1) c[p.n] = 1;
}

}  // namespace

CudaProduct BrokenProduct(const CudaProductFaults& faults) {
  return [faults](Context& ctx, const ProductArgs& p) {
    const int64_t blocks = p.m * ((p.n + kThreads - 1) / kThreads);
    internal::Launch(ctx, BrokenProductKernel, dim3(static_cast<unsigned>(blocks)), dim3(kThreads),
                     0, p, faults);
  };
}

}  // namespace tessera::bench
