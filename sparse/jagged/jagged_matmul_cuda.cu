// A block takes tiles of c, a thread an element of each; a and b come through shared memory.
#include "runtime/context.h"
#include "runtime/launch.cuh"
#include "sparse/jagged/jagged_matmul_impl.h"

namespace tessera::internal {
namespace {

constexpr int kSide = 16;

int64_t Tiles(int64_t extent) { return (extent + kSide - 1) / kSide; }

// c's element (i, j) of one matrix; a, b, c are its first elements. Every thread of the block
// calls.
__device__ float Element(const BagProduct& p, const float* a, const float* b, int64_t i, int64_t j,
                         const int64_t (&extents)[3]) {
  __shared__ float left[kSide][kSide + 1], right[kSide][kSide + 1];
  const int row = static_cast<int>(threadIdx.x) / kSide, column = threadIdx.x % kSide;
  const int64_t m = extents[0], k = extents[1], n = extents[2];
  float sum = 0;
  for (int64_t first = 0; first < k; first += kSide) {
    const int64_t l_left = first + column, l_right = first + row;
    left[row][column] = i < m && l_left < k ? a[i * p.a.rows + l_left * p.a.columns] : 0.0f;
    right[row][column] = l_right < k && j < n ? b[l_right * p.b.rows + j * p.b.columns] : 0.0f;
    __syncthreads();
    for (int l = 0; l < kSide && first + l < k; ++l) sum += left[row][l] * right[l][column];
    __syncthreads();
  }
  return sum;
}

__global__ void __launch_bounds__(kSide* kSide) ProductKernel(BagProduct p) {
  const int64_t bag = blockIdx.x / p.heads, head = blockIdx.x - bag * p.heads;
  const JaggedView::Run run = p.view.run(bag);
  const float *a = p.a.At(bag, head, run.row), *b = p.b.At(bag, head, run.row);
  float* c = p.c.At(bag, head, run.row);
  const int64_t extents[3] = {p.Extent(p.m, run), p.Extent(p.k, run), p.Extent(p.n, run)};
  const int64_t across = (extents[2] + kSide - 1) / kSide,
                tiles = (extents[0] + kSide - 1) / kSide * across;
  for (int64_t tile = blockIdx.y; tile < tiles; tile += gridDim.y) {
    const int64_t i = tile / across * kSide + threadIdx.x / kSide,
                  j = tile % across * kSide + threadIdx.x % kSide;
    const float sum = Element(p, a, b, i, j, extents);
    if (i < extents[0] && j < extents[2]) c[i * p.c.rows + j * p.c.columns] = sum;
  }
}

}  // namespace

void Multiply(OnCuda, Context& ctx, const BagProduct& p) {
  const auto most = [&](int64_t extent) { return extent == kRowsOfBag ? p.view.slots() : extent; };
  const int64_t tiles = std::min<int64_t>(1024, Tiles(most(p.m)) * Tiles(most(p.n)));
  Launch(ctx, ProductKernel,
         dim3(static_cast<unsigned>(p.bags * p.heads), static_cast<unsigned>(tiles)), kSide * kSide,
         0, p);
}

}  // namespace tessera::internal
