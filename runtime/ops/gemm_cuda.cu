// Products on CUDA: by cuBLAS where there is one, else by the kernel here.
//
// A block of 256 threads computes a square tile of C, 64·q wide, q = 1 or 2, in steps of 16/q along
// the sum. The step's parts of A and B lie in shared memory, depth-major, so that a thread reads
// the rows and columns it multiplies as float4; the next step's are on their way from memory to
// registers meanwhile, four elements a thread. A thread owns (4·q)² elements: q groups of four
// rows, 16 apart, by q groups of four columns, 32 apart; a warp owns 16·q × 32·q.
//
// Where C has few tiles and the sum is long, the sum is cut into pieces, which depend on the shapes
// alone, and their results are added in order by a second kernel.
#include <algorithm>
#include <cmath>

#include "runtime/cublas.h"
#include "runtime/launch.cuh"
#include "runtime/ops/gemm_impl.h"
#include "runtime/ops/kernels/four.cuh"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

constexpr int kThreads = 256;
constexpr int TileSize(int q) { return 64 * q; }
constexpr int StepDepth(int q) { return 16 / q; }

// One operand, as rows or columns x of C against the depth of the sum. kDepthInner: neighbours in
// memory differ in depth (A of nn and nt, B of nt), else in x.
template <bool kDepthInner, int q>
struct Operand {
  const float* data;
  int64_t ld, extent, depth_end;
  bool vectors;  // rows begin at multiples of 16 bytes

  static constexpr int kDepth = StepDepth(q), kWidth = TileSize(q) + 4;
  using Tile = float[kDepth][kWidth];

  // The four elements that this thread carries: x and depth of the first.
  __device__ static int X() {
    const int index = static_cast<int>(threadIdx.x);
    return kDepthInner ? index / (kDepth / 4) : index % (TileSize(q) / 4) * 4;
  }
  __device__ static int Depth() {
    const int index = static_cast<int>(threadIdx.x);
    return kDepthInner ? index % (kDepth / 4) * 4 : index / (TileSize(q) / 4);
  }

  // Four neighbours in memory, 0 where there are none.
  __device__ float4 Fetch(int64_t x, int64_t depth) const {
    x += X();
    depth += Depth();
    const int64_t row = kDepthInner ? x : depth, rows = kDepthInner ? extent : depth_end;
    if (row >= rows) return {0, 0, 0, 0};
    return kDepthInner ? LoadFour(data + row * ld, depth, depth_end, vectors)
                       : LoadFour(data + row * ld, x, extent, vectors);
  }
  __device__ static void Store(const float4& v, Tile& tile) {
    const int x = X(), depth = Depth();
    if constexpr (kDepthInner) {
      tile[depth][x] = v.x;
      tile[depth + 1][x] = v.y;
      tile[depth + 2][x] = v.z;
      tile[depth + 3][x] = v.w;
    } else {
      *reinterpret_cast<float4*>(&tile[depth][x]) = v;
    }
  }
};

// How C is cut: blocks, and pieces of the sum.
struct Cut {
  int64_t row_tiles, column_tiles, pieces, piece_depth;
};

struct TileArgs {
  GemmProblem problem;
  Cut cut;
  bool vectors_a, vectors_b, vectors_c;
};

template <int q>
struct Accumulator {
  float sum[4 * q][4 * q] = {};

  // Where this thread's elements lie in the tile.
  __device__ static int Row(int i) {
    return static_cast<int>(threadIdx.x) / 64 * 16 * q + i / 4 * 16 +
           static_cast<int>(threadIdx.x) % 32 / 8 * 4 + i % 4;
  }
  __device__ static int Column(int i) {
    return static_cast<int>(threadIdx.x) / 32 % 2 * 32 * q + i / 4 * 32 +
           static_cast<int>(threadIdx.x) % 8 * 4 + i % 4;
  }

  template <typename TileA, typename TileB>
  __device__ void Multiply(const TileA& a, const TileB& b) {
    for (int depth = 0; depth < StepDepth(q); ++depth) {
      float left[4 * q], right[4 * q];
      for (int i = 0; i < 4 * q; i += 4) {
        *reinterpret_cast<float4*>(left + i) = *reinterpret_cast<const float4*>(&a[depth][Row(i)]);
        *reinterpret_cast<float4*>(right + i) =
            *reinterpret_cast<const float4*>(&b[depth][Column(i)]);
      }
      for (int i = 0; i < 4 * q; ++i)
        for (int j = 0; j < 4 * q; ++j) sum[i][j] = fmaf(left[i], right[j], sum[i][j]);
    }
  }

  // Four neighbours of a row of C, finished.
  __device__ static float4 Finished(const GemmProblem& p, int64_t column, const float* sums) {
    float v[4];
    for (int j = 0; j < 4; ++j) {
      const bool inside = column + j < p.first.n;
      v[j] = FinishElement(sums[j], p.bias != nullptr && inside ? p.bias + column + j : nullptr,
                           p.relu);
    }
    return {v[0], v[1], v[2], v[3]};
  }
  __device__ void Store(const GemmProblem& p, bool vectors, float* c, int64_t row,
                        int64_t column) const {
    for (int i = 0; i < 4 * q; ++i) {
      if (row + Row(i) >= p.first.m) continue;
      for (int j = 0; j < 4 * q; j += 4)
        StoreFour(c + (row + Row(i)) * p.first.ldc, column + Column(j), p.first.n, vectors,
                  Finished(p, column + Column(j), sum[i] + j));
    }
  }
};

// Block: a tile of C, of one piece of the sum, of one product of the batch; tiles of a row of tiles
// are neighbours. Without pieces C gets its finished elements, else `c` of the problem is where the
// pieces' sums go, [batch, pieces, m, n].
template <GemmForm form, int q>
__global__ void __launch_bounds__(kThreads, 2) TiledGemm(TileArgs args) {
  using A = Operand<form != GemmForm::kTN, q>;
  using B = Operand<form == GemmForm::kNT, q>;
  __shared__ __align__(16) typename A::Tile a_tiles[2];
  __shared__ __align__(16) typename B::Tile b_tiles[2];
  const GemmProblem& p = args.problem;
  const Cut& cut = args.cut;
  int64_t index = blockIdx.x;
  const int64_t column = index % cut.column_tiles * TileSize(q);
  index /= cut.column_tiles;
  const int64_t row = index % cut.row_tiles * TileSize(q);
  index /= cut.row_tiles;
  const int64_t piece = index % cut.pieces, batch = index / cut.pieces;
  const int64_t begin = piece * cut.piece_depth,
                end = p.first.k < begin + cut.piece_depth ? p.first.k : begin + cut.piece_depth;

  const A a = {p.first.a + batch * p.step_a, p.first.lda, p.first.m, end, args.vectors_a};
  const B b = {p.first.b + batch * p.step_b, p.first.ldb, p.first.n, end, args.vectors_b};
  A::Store(a.Fetch(row, begin), a_tiles[0]);
  B::Store(b.Fetch(column, begin), b_tiles[0]);
  __syncthreads();

  constexpr int kDepth = StepDepth(q);
  Accumulator<q> c;
  int now = 0;
  for (int64_t depth = begin; depth < end; depth += kDepth, now ^= 1) {
    const bool more = depth + kDepth < end;
    float4 next_a = {}, next_b = {};
    if (more) {
      next_a = a.Fetch(row, depth + kDepth);
      next_b = b.Fetch(column, depth + kDepth);
    }
    c.Multiply(a_tiles[now], b_tiles[now]);
    if (more) {
      A::Store(next_a, a_tiles[now ^ 1]);
      B::Store(next_b, b_tiles[now ^ 1]);
    }
    __syncthreads();
  }
  c.Store(p, args.vectors_c, p.first.c + (batch * cut.pieces + piece) * p.step_c, row, column);
}

// Element i of all C: the sums of its pieces in order, finished.
struct FoldPieces {
  GemmProblem problem;
  const float* sums;  // [batch, pieces, m, n]
  int64_t pieces;

  TESSERA_HD void operator()(int64_t i) const {
    const GemmArgs& g = problem.first;
    const int64_t size = g.m * g.n, batch = i / size, element = i % size;
    const float* p = sums + batch * pieces * size + element;
    float sum = 0;
    for (int64_t piece = 0; piece < pieces; ++piece) sum += p[piece * size];
    const int64_t row = element / g.n, column = element % g.n;
    const float* bias = problem.bias == nullptr ? nullptr : problem.bias + column;
    g.c[batch * problem.step_c + row * g.ldc + column] = FinishElement(sum, bias, problem.relu);
  }
};

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool AllAreVectors(const float* p, int64_t ld, int64_t step) {
  return RowsAreVectors(p, ld) && step % 4 == 0;
}

int64_t Tiles(const GemmProblem& p, int q) {
  return CeilDiv(p.first.m, TileSize(q)) * CeilDiv(p.first.n, TileSize(q)) * p.batch;
}

// Enough blocks for a large GPU (132 multiprocessors, two blocks each), and the shortest piece that
// is worth a second pass over C.
constexpr int64_t kManyBlocks = 256, kShortestPiece = 256, kLongSum = 4096;
constexpr int64_t kStepMultiple = 16;  // of both tiles' steps

bool UsesLargeTiles(const GemmProblem& p) {
  return p.first.m > 64 && p.first.n > 64 &&
         (Tiles(p, 2) >= kManyBlocks / 2 || p.first.k >= kLongSum);
}

Cut MakeCut(const GemmProblem& p, int q) {
  Cut cut = {CeilDiv(p.first.m, TileSize(q)), CeilDiv(p.first.n, TileSize(q)), 1, 0};
  const int64_t wanted = kManyBlocks / Tiles(p, q), longest = p.first.k / kShortestPiece;
  cut.pieces = std::max<int64_t>(1, std::min(wanted, longest));
  cut.piece_depth = CeilDiv(CeilDiv(p.first.k, cut.pieces), kStepMultiple) * kStepMultiple;
  cut.pieces = std::max<int64_t>(1, CeilDiv(p.first.k, std::max<int64_t>(1, cut.piece_depth)));
  return cut;
}

template <int q>
void LaunchForm(Context& ctx, const TileArgs& args) {
  const auto run = [&](auto kernel) {
    Launch(ctx, kernel, dim3(static_cast<unsigned>(Tiles(args.problem, q) * args.cut.pieces)),
           dim3(kThreads), 0, args);
  };
  switch (args.problem.form) {
    case GemmForm::kNN:
      return run(TiledGemm<GemmForm::kNN, q>);
    case GemmForm::kNT:
      return run(TiledGemm<GemmForm::kNT, q>);
    case GemmForm::kTN:
      return run(TiledGemm<GemmForm::kTN, q>);
  }
}

// One thread a column, kRowsOfABlock rows a block.
constexpr int64_t kRowsOfABlock = 64;
__global__ void FinishRowsKernel(GemmProblem p) {
  const int64_t column = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (column >= p.first.n) return;
  const float* bias = p.bias == nullptr ? nullptr : p.bias + column;
  for (int64_t begin = int64_t{blockIdx.y} * kRowsOfABlock; begin < p.first.m;
       begin += int64_t{gridDim.y} * kRowsOfABlock) {
    const int64_t end = begin + kRowsOfABlock < p.first.m ? begin + kRowsOfABlock : p.first.m;
    for (int64_t row = begin + threadIdx.y; row < end; row += blockDim.y) {
      float& element = p.first.c[row * p.first.ldc + column];
      element = FinishElement(element, bias, p.relu);
    }
  }
}

// Adds bias and clips as a problem asks, after a product that did neither.
void FinishRows(Context& ctx, const GemmProblem& p) {
  if (p.bias == nullptr && !p.relu) return;
  const int64_t rows = std::min<int64_t>(CeilDiv(p.first.m, kRowsOfABlock), 65535);
  Launch(ctx, FinishRowsKernel,
         dim3(static_cast<unsigned>(CeilDiv(p.first.n, 32)), static_cast<unsigned>(rows)),
         dim3(32, 8), 0, p);
}

void RunTiledGemm(Context& ctx, const GemmProblem& problem) {
  const GemmArgs& g = problem.first;
  if (g.m == 0 || g.n == 0 || problem.batch == 0) return;
  const int q = UsesLargeTiles(problem) ? 2 : 1;
  TileArgs args = {problem, MakeCut(problem, q), AllAreVectors(g.a, g.lda, problem.step_a),
                   AllAreVectors(g.b, g.ldb, problem.step_b), false};
  Tensor sums;
  if (args.cut.pieces > 1) {
    sums = Tensor::Empty(ctx, {problem.batch, args.cut.pieces, g.m, g.n});
    args.problem.first.c = sums.data<float>();
    args.problem.first.ldc = g.n;
    args.problem.step_c = g.m * g.n;
    args.problem.bias = nullptr;
    args.problem.relu = false;
  }
  args.vectors_c = AllAreVectors(args.problem.first.c, args.problem.first.ldc, args.problem.step_c);
  q == 2 ? LaunchForm<2>(ctx, args) : LaunchForm<1>(ctx, args);
  if (sums)
    ForEach(ctx, problem.batch * g.m * g.n,
            FoldPieces{problem, sums.data<float>(), args.cut.pieces});
}

}  // namespace

void RunGemm(OnCuda, Context& ctx, const GemmProblem& problem) {
  const GemmArgs& g = problem.first;
  const bool empty = g.m == 0 || g.n == 0 || g.k == 0 || problem.batch == 0;
  if (!empty && CublasSgemm(ctx, {problem.form == GemmForm::kTN, problem.form == GemmForm::kNT, g.m,
                                  g.n, g.k, g.a, g.lda, problem.step_a, g.b, g.ldb, problem.step_b,
                                  g.c, g.ldc, problem.step_c, problem.batch}))
    FinishRows(ctx, problem);
  else
    RunTiledGemm(ctx, problem);
}

}  // namespace tessera::internal
