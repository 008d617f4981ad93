// Dot interaction on CUDA: some examples a block, each by threads of its own. The rows of an
// example lie in shared memory, as many columns at a time as fit. Every sum has the order of
// interaction_simd.cc.
#include <algorithm>

#include "models/layers/interaction_impl.h"
#include "runtime/base/check.h"
#include "runtime/base/division.h"
#include "runtime/context.h"
#include "runtime/launch.cuh"
#include "runtime/ops/kernels/four.cuh"

namespace tessera::internal {
namespace {

// How a launch is cut. Of shared memory, an example has `rows`·`stride` floats for its rows and
// `extra` floats beside.
struct Plan {
  int examples, threads;  // of a block; of an example, a multiple of 32
  int64_t rows, columns;  // staged at a time; columns: a multiple of 4
  int64_t stride, extra;  // floats from row to row: an odd multiple of 4, which spreads the banks
  bool vectors;           // all rows in memory begin at multiples of 16 bytes

  int64_t example_floats() const { return rows * stride + extra; }
};

constexpr int64_t kMaxThreads = 256, kThreadsOfABlock = 128;
// Shared memory of a block when several share a multiprocessor, and of one example that needs more.
constexpr int64_t kBlockFloats = (32 << 10) / 4, kExampleFloats = (96 << 10) / 4;

constexpr int64_t StrideOf(int64_t columns) { return (columns / 4 | 1) * 4; }

// `units(columns)`: pieces of work of an example for that many staged columns.
template <typename Units>
Plan MakePlan(int64_t rows, int64_t dim, int64_t extra, bool vectors, const Units& units) {
  const auto columns_in = [&](int64_t floats) { return (floats - extra) / rows / 4 * 4 - 4; };
  const int64_t fitting =
      columns_in(kBlockFloats) >= 32 ? columns_in(kBlockFloats) : columns_in(kExampleFloats);
  TESSERA_CHECK(fitting >= 4, "interaction: {} features are too many for a GPU", rows - 1);
  Plan plan = {1, 32, rows, std::min(CeilDiv(dim, 4) * 4, fitting), 0, extra, vectors};
  plan.stride = StrideOf(plan.columns);
  const int64_t threads =
      std::clamp<int64_t>(CeilDiv(units(plan.columns), 32) * 32, 32, kMaxThreads);
  plan.threads = static_cast<int>(threads);
  plan.examples = static_cast<int>(std::clamp<int64_t>(
      std::min(kThreadsOfABlock / threads, kBlockFloats / plan.example_floats()), 1, 4));
  return plan;
}

template <typename Args>
bool ReadsVectors(const Args& a) {
  return RowsAreVectors(a.dense, a.dense_stride) && RowsAreVectors(a.sparse, a.sparse_stride) &&
         a.dim % 4 == 0;
}

template <typename Kernel, typename Args>
void LaunchPlan(Context& ctx, Kernel kernel, const Args& args, const Plan& plan) {
  Launch(ctx, kernel, dim3(static_cast<unsigned>(CeilDiv(args.rows, plan.examples))),
         dim3(static_cast<unsigned>(plan.examples * plan.threads)),
         static_cast<size_t>(plan.examples * plan.example_floats()) * sizeof(float), args, plan);
}

// The thread's place: which example, in memory and in the block, and which of its threads.
struct Place {
  int64_t example;
  int thread;
  float* shared;

  __device__ explicit Place(const Plan& plan) {
    const int slot = static_cast<int>(threadIdx.x) / plan.threads;
    example = int64_t{blockIdx.x} * plan.examples + slot;
    thread = static_cast<int>(threadIdx.x) % plan.threads;
    shared = DynamicShared<float>() + slot * (plan.rows * plan.stride + plan.extra);
  }
};

// Brings columns [begin, begin + plan.columns) of z's rows to shared memory; rows from `count` on
// and columns from dim on are 0. For this thread alone: others see it after a barrier.
template <typename Args>
__device__ void Stage(const Args& a, const Plan& plan, const Place& place, int64_t count,
                      int64_t begin) {
  const int quads = static_cast<int>(plan.columns / 4);
  const float* dense = a.dense + place.example * a.dense_stride;
  const float* sparse = a.sparse + place.example * a.sparse_stride;
  for (int i = place.thread; i < plan.rows * quads; i += plan.threads) {
    const int row = i / quads, column = i % quads * 4;
    const float* from = row == 0 ? dense : sparse + (row - 1) * a.dim;
    float* to = place.shared + row * plan.stride + column;
    if (row < count && plan.vectors && begin + column < a.dim)
      CopyAsyncIf<16>(to, from + begin + column, true);
    else
      *reinterpret_cast<float4*>(to) =
          row < count ? LoadFour(from, begin + column, a.dim, false) : float4{0, 0, 0, 0};
  }
  CommitCopies();
  WaitForCopies<0>();
}

// Where the pair (i, j), i < j, of n rows stands among the pairs.
__device__ int64_t PairIndex(int64_t i, int64_t j, int64_t n) {
  return i * (2 * n - i - 1) / 2 + j - i - 1;
}

// Work of a thread in forward: the products of rows left + r·blocks with rows right + c·blocks, r
// and c below 4. Rows that lie beside each other belong to neighbouring threads.
struct PairBlock {
  int left, right;
  float sum[4][4] = {};

  // Unit number `unit` of blocks·(blocks + 1)/2, by left and then right >= left.
  __device__ PairBlock(int unit, int blocks) : left(0) {
    while (unit >= blocks - left) unit -= blocks - left++;
    right = left + unit;
  }
  __device__ void Add(const float* z, const Plan& plan, int blocks) {
    for (int d = 0; d < plan.columns; d += 4) {
      float4 a[4], b[4];
      for (int r = 0; r < 4; ++r) {
        a[r] = *reinterpret_cast<const float4*>(z + (left + r * blocks) * plan.stride + d);
        b[r] = *reinterpret_cast<const float4*>(z + (right + r * blocks) * plan.stride + d);
      }
      for (int r = 0; r < 4; ++r)
        for (int c = 0; c < 4; ++c) {
          sum[r][c] = __fmaf_rn(a[r].x, b[c].x, sum[r][c]);
          sum[r][c] = __fmaf_rn(a[r].y, b[c].y, sum[r][c]);
          sum[r][c] = __fmaf_rn(a[r].z, b[c].z, sum[r][c]);
          sum[r][c] = __fmaf_rn(a[r].w, b[c].w, sum[r][c]);
        }
    }
  }
  __device__ void Store(float* pairs, int64_t n, int blocks) const {
    for (int r = 0; r < 4; ++r)
      for (int c = 0; c < 4; ++c) {
        const int i = left + r * blocks, j = right + c * blocks;
        if (i >= n || j >= n || i == j || (left == right && r > c)) continue;
        pairs[i < j ? PairIndex(i, j, n) : PairIndex(j, i, n)] = sum[r][c];
      }
  }
};

// plan.extra: all pairs of an example, which then leave as one row; 0 if they leave one by one.
__global__ void __launch_bounds__(kMaxThreads) ForwardKernel(InteractionArgs a, Plan plan) {
  const Place place(plan);
  const int64_t n = a.features + 1, pairs = n * (n - 1) / 2;
  const int blocks = static_cast<int>(plan.rows / 4), units = blocks * (blocks + 1) / 2;
  const bool live = place.example < a.rows;
  float* y = a.y + place.example * (a.dim + pairs);
  float* staged = place.shared + plan.rows * plan.stride;
  for (int first = 0; first < units; first += plan.threads) {
    const int unit = first + place.thread;
    PairBlock work(unit < units ? unit : 0, blocks);
    for (int64_t d = 0; d < a.dim; d += plan.columns) {
      if (first == 0 || plan.columns < a.dim) {
        __syncthreads();
        if (live) Stage(a, plan, place, n, d);
        __syncthreads();
      }
      if (live && unit < units) work.Add(place.shared, plan, blocks);
    }
    if (live && unit < units) work.Store(plan.extra > 0 ? staged : y + a.dim, n, blocks);
  }
  __syncthreads();
  if (!live) return;
  const float* dense = a.dense + place.example * a.dense_stride;
  for (int64_t d = place.thread; d < a.dim; d += plan.threads) y[d] = dense[d];
  if (plan.extra == 0) return;
  for (int64_t p = place.thread; p < pairs; p += plan.threads) y[a.dim + p] = staged[p];
}

// The symmetric matrix of the pairs' gradients, in rows of `width`; the diagonal and what is past n
// columns, are 0.
__device__ void StageGradients(const float* pairs, int64_t n, int64_t width, const Plan& plan,
                               int thread, float* g) {
  for (int64_t k = thread; k < n * width; k += plan.threads) {
    const int64_t i = k / width, j = k % width;
    g[k] = i == j || j >= n ? 0.0f : pairs[i < j ? PairIndex(i, j, n) : PairIndex(j, i, n)];
  }
}

// Work of a thread in backward: four columns of four rows of dz.
struct GradientBlock {
  float4 sum[4];

  // gradients(j): those of row j with the four rows.
  template <typename Gradients>
  __device__ void Add(const float* z, int64_t stride, int64_t n, const Gradients& gradients) {
    for (int64_t j = 0; j < n; ++j) {
      const float4 row = *reinterpret_cast<const float4*>(z + j * stride), g = gradients(j);
      const float factor[4] = {g.x, g.y, g.z, g.w};
      for (int r = 0; r < 4; ++r) {
        sum[r].x = __fmaf_rn(factor[r], row.x, sum[r].x);
        sum[r].y = __fmaf_rn(factor[r], row.y, sum[r].y);
        sum[r].z = __fmaf_rn(factor[r], row.z, sum[r].z);
        sum[r].w = __fmaf_rn(factor[r], row.w, sum[r].w);
      }
    }
  }
};

// One unit of backward: rows [first, first + 4) at `column` of the staged ones.
__device__ void BackwardUnit(const InteractionGradArgs& a, const Plan& plan, const Place& place,
                             const float* dy, int64_t first, int64_t begin, int64_t column) {
  const int64_t n = a.features + 1, width = CeilDiv(n, 4) * 4;
  const float* g = place.shared + plan.rows * plan.stride;
  const float* pairs = dy + a.dim;
  GradientBlock work = {};
  if (first == 0) work.sum[0] = LoadFour(dy, begin + column, a.dim, /*vectors=*/false);
  const auto staged = [&](int64_t j) {
    return *reinterpret_cast<const float4*>(g + j * width + first);
  };
  const auto one = [&](int64_t i, int64_t j) {
    if (i == j || i >= n) return 0.0f;
    return pairs[i < j ? PairIndex(i, j, n) : PairIndex(j, i, n)];
  };
  const auto unstaged = [&](int64_t j) {
    return float4{one(first, j), one(first + 1, j), one(first + 2, j), one(first + 3, j)};
  };
  if (plan.extra > 0)
    work.Add(place.shared + column, plan.stride, n, staged);
  else
    work.Add(place.shared + column, plan.stride, n, unstaged);
  for (int64_t i = first; i < n && i < first + 4; ++i) {
    float* row = i == 0 ? a.ddense + place.example * a.dim
                        : a.dsparse + (place.example * a.features + i - 1) * a.dim;
    StoreFour(row, begin + column, a.dim, a.dim % 4 == 0, work.sum[i - first]);
  }
}

// plan.extra: the matrix of the pairs' gradients; 0 if they are read from memory each time.
__global__ void __launch_bounds__(kMaxThreads) BackwardKernel(InteractionGradArgs a, Plan plan) {
  const Place place(plan);
  const int64_t n = a.features + 1, quads = plan.columns / 4;
  const bool live = place.example < a.rows;
  const float* dy = a.dy + place.example * (a.dim + n * (n - 1) / 2);
  if (live && plan.extra > 0)
    StageGradients(dy + a.dim, n, CeilDiv(n, 4) * 4, plan, place.thread,
                   place.shared + plan.rows * plan.stride);
  for (int64_t d = 0; d < a.dim; d += plan.columns) {
    __syncthreads();
    if (live) Stage(a, plan, place, n, d);
    __syncthreads();
    for (int64_t unit = place.thread; live && unit < CeilDiv(n, 4) * quads; unit += plan.threads)
      BackwardUnit(a, plan, place, dy, unit / quads * 4, d, unit % quads * 4);
  }
}

}  // namespace

void InteractionForward(OnCuda, Context& ctx, const InteractionArgs& args) {
  const int64_t n = args.features + 1, blocks = CeilDiv(n, 4), pairs = n * (n - 1) / 2;
  const int64_t extra = pairs <= kExampleFloats / 4 ? CeilDiv(pairs, 4) * 4 : 0;
  LaunchPlan(ctx, ForwardKernel, args,
             MakePlan(blocks * 4, args.dim, extra, ReadsVectors(args),
                      [&](int64_t) { return blocks * (blocks + 1) / 2; }));
}

void InteractionBackward(OnCuda, Context& ctx, const InteractionGradArgs& args) {
  const int64_t n = args.features + 1, blocks = CeilDiv(n, 4), matrix = n * blocks * 4;
  LaunchPlan(ctx, BackwardKernel, args,
             MakePlan(n, args.dim, matrix <= kExampleFloats / 2 ? matrix : 0, ReadsVectors(args),
                      [&](int64_t columns) { return blocks * columns / 4; }));
}

}  // namespace tessera::internal
