// Products on CUDA: by cuBLAS where the context asks for it and there is one, else by the kernel
// here, which has the bits of the CPU's portable product (runtime/ops/gemm.h).
//
// A block of 256 threads computes a square tile of C, 64·q wide, q = 1 or 2, in steps of 16/q along
// the sum. The step's parts of A and B lie in shared memory, depth-major, so that a thread reads
// the rows and columns it multiplies as float4; the next step's are on their way from memory to
// registers meanwhile, four elements a thread. A thread owns (4·q)² elements: q groups of four
// rows, 16 apart, by q groups of four columns, 32 apart; a warp owns 16·q × 32·q.
//
// After each piece of the sum a block adds its tile to C. Where C has few tiles and the sum is
// long, blocks make several pieces of a tile at a time, whose results a second kernel adds in
// order.
#include <algorithm>
#include <cmath>

#include "runtime/base/division.h"
#include "runtime/launch.cuh"
#include "runtime/ops/cublas_gemm.h"
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

// How C is cut: tiles, and parts of the sum from `begin` on, each of one block.
struct Cut {
  int64_t row_tiles = 0, column_tiles = 0, parts = 1, begin = 0, depth_of_part = 0;
};

struct TileArgs {
  GemmProblem problem;
  Cut cut;
  bool vectors_a, vectors_b, vectors_c;
};

template <int q>
struct Accumulator {
  float sum[4 * q][4 * q];

  // Where this thread's elements lie in the tile.
  __device__ static int Row(int i) {
    return static_cast<int>(threadIdx.x) / 64 * 16 * q + i / 4 * 16 +
           static_cast<int>(threadIdx.x) % 32 / 8 * 4 + i % 4;
  }
  __device__ static int Column(int i) {
    return static_cast<int>(threadIdx.x) / 32 % 2 * 32 * q + i / 4 * 32 +
           static_cast<int>(threadIdx.x) % 8 * 4 + i % 4;
  }

  __device__ void Clear() {
    for (int i = 0; i < 4 * q; ++i)
      for (int j = 0; j < 4 * q; ++j) sum[i][j] = 0;
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
        for (int j = 0; j < 4 * q; ++j) sum[i][j] = __fmaf_rn(left[i], right[j], sum[i][j]);
    }
  }

  // Four neighbours of a row of C, finished.
  __device__ static float4 Finished(const GemmProblem& p, int64_t column, const float4& sums) {
    float v[4] = {sums.x, sums.y, sums.z, sums.w};
    for (int j = 0; j < 4; ++j) {
      const bool inside = column + j < p.first.n;
      v[j] =
          FinishElement(v[j], p.bias != nullptr && inside ? p.bias + column + j : nullptr, p.relu);
    }
    return {v[0], v[1], v[2], v[3]};
  }
  // Puts the sums into C, or adds them; `last`: no others are added to them.
  __device__ void Store(const GemmProblem& p, bool vectors, float* c, int64_t row, int64_t column,
                        bool add, bool last) const {
    for (int i = 0; i < 4 * q; ++i) {
      if (row + Row(i) >= p.first.m) continue;
      float* const c_row = c + (row + Row(i)) * p.first.ldc;
      for (int j = 0; j < 4 * q; j += 4) {
        const int64_t at = column + Column(j);
        float4 v = {sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]};
        if (add) {
          const float4 before = LoadFour(c_row, at, p.first.n, vectors);
          v = {before.x + v.x, before.y + v.y, before.z + v.z, before.w + v.w};
        }
        StoreFour(c_row, at, p.first.n, vectors, last ? Finished(p, at, v) : v);
      }
    }
  }
};

// Block: a tile of C, of one part of the sum, of one product of the batch; tiles of a row of tiles
// are neighbours. With one part C gets its finished elements, else `c` of the problem is where the
// parts' sums go, [batch, parts, m, n].
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
  const int64_t part = index % cut.parts, batch = index / cut.parts;
  const int64_t begin = cut.begin + part * cut.depth_of_part,
                end = p.first.k < begin + cut.depth_of_part ? p.first.k : begin + cut.depth_of_part;

  float* const to = p.first.c + (batch * cut.parts + part) * p.step_c;
  const A a = {p.first.a + batch * p.step_a, p.first.lda, p.first.m, end, args.vectors_a};
  const B b = {p.first.b + batch * p.step_b, p.first.ldb, p.first.n, end, args.vectors_b};
  A::Store(a.Fetch(row, begin), a_tiles[0]);
  B::Store(b.Fetch(column, begin), b_tiles[0]);
  __syncthreads();

  constexpr int kDepth = StepDepth(q);
  static_assert(kGemmPiece % kDepth == 0);
  Accumulator<q> c;
  int now = 0;
  bool add = p.add;
  for (int64_t piece = begin; piece < end; piece += kGemmPiece, add = true) {
    const int64_t piece_end = piece + kGemmPiece < end ? piece + kGemmPiece : end;
    c.Clear();
    for (int64_t depth = piece; depth < piece_end; depth += kDepth, now ^= 1) {
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
    c.Store(p, args.vectors_c, to, row, column, add, piece_end == end);
  }
  if (begin < end) return;
  c.Clear();  // an empty sum
  c.Store(p, args.vectors_c, to, row, column, add, true);
}

// Element i of all C: what it has, if `add`, and the sums of its parts in order; finished, if these
// are the last.
struct FoldParts {
  GemmProblem problem;
  const float* sums;  // [batch, parts, m, n]
  int64_t parts;
  bool add, last;

  TESSERA_HD void operator()(int64_t i) const {
    const GemmArgs& g = problem.first;
    const int64_t size = g.m * g.n, batch = i / size, element = i % size;
    const int64_t row = element / g.n, column = element % g.n;
    const float* p = sums + batch * parts * size + element;
    float& c = g.c[batch * problem.step_c + row * g.ldc + column];
    float sum = add ? c + p[0] : p[0];
    for (int64_t part = 1; part < parts; ++part) sum += p[part * size];
    const float* bias = problem.bias == nullptr ? nullptr : problem.bias + column;
    c = last ? FinishElement(sum, bias, problem.relu) : sum;
  }
};

bool AllAreVectors(const float* p, int64_t ld, int64_t step) {
  return RowsAreVectors(p, ld) && step % 4 == 0;
}

int64_t Tiles(const GemmProblem& p, int q) {
  return CeilDiv(p.first.m, TileSize(q)) * CeilDiv(p.first.n, TileSize(q)) * p.batch;
}

// Enough blocks for a large GPU (132 multiprocessors, two blocks each).
constexpr int64_t kManyBlocks = 256, kLongSum = 4096;
// Floats of sums of parts that are kept at a time, at most.
constexpr int64_t kMaxSums = 16 << 20;

bool UsesLargeTiles(const GemmProblem& p) {
  return p.first.m > 64 && p.first.n > 64 &&
         (Tiles(p, 2) >= kManyBlocks / 2 || p.first.k >= kLongSum);
}

// Pieces of the sum that are made at a time; 1: blocks make whole sums.
int64_t PiecesAtOnce(const GemmProblem& p, int q) {
  const int64_t wanted = kManyBlocks / Tiles(p, q), pieces = CeilDiv(p.first.k, kGemmPiece),
                room = kMaxSums / (p.batch * p.first.m * p.first.n);
  return std::max<int64_t>(1, std::min({wanted, pieces, room}));
}

template <int q>
void LaunchForm(Context& ctx, const TileArgs& args) {
  const auto run = [&](auto kernel) {
    Launch(ctx, kernel, dim3(static_cast<unsigned>(Tiles(args.problem, q) * args.cut.parts)),
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

void LaunchTiles(Context& ctx, int q, const GemmProblem& p, Cut cut) {
  const GemmArgs& g = p.first;
  cut.row_tiles = CeilDiv(g.m, TileSize(q));
  cut.column_tiles = CeilDiv(g.n, TileSize(q));
  const TileArgs args = {p, cut, AllAreVectors(g.a, g.lda, p.step_a),
                         AllAreVectors(g.b, g.ldb, p.step_b), AllAreVectors(g.c, g.ldc, p.step_c)};
  q == 2 ? LaunchForm<2>(ctx, args) : LaunchForm<1>(ctx, args);
}

// The sums of `at_once` pieces beside each other, then added to C; and so on.
void RunPieces(Context& ctx, int q, const GemmProblem& p, int64_t at_once) {
  const GemmArgs& g = p.first;
  const Tensor sums = Tensor::Empty(ctx, {p.batch, at_once, g.m, g.n});
  GemmProblem of_sums = p;
  of_sums.first.c = sums.data<float>();
  of_sums.first.ldc = g.n;
  of_sums.step_c = g.m * g.n;
  of_sums.bias = nullptr;
  of_sums.relu = of_sums.add = false;
  const int64_t pieces = CeilDiv(g.k, kGemmPiece);
  for (int64_t first = 0; first < pieces; first += at_once) {
    const int64_t parts = std::min(at_once, pieces - first);
    LaunchTiles(ctx, q, of_sums,
                {.parts = parts, .begin = first * kGemmPiece, .depth_of_part = kGemmPiece});
    ForEach(ctx, p.batch * g.m * g.n,
            FoldParts{p, sums.data<float>(), parts, p.add || first > 0, first + parts == pieces});
  }
}

void RunTiledGemm(Context& ctx, const GemmProblem& p) {
  const int q = UsesLargeTiles(p) ? 2 : 1;
  const int64_t at_once = PiecesAtOnce(p, q);
  if (at_once == 1)
    LaunchTiles(ctx, q, p, {.depth_of_part = p.first.k});
  else
    RunPieces(ctx, q, p, at_once);
}

// Whether cuBLAS made the product.
bool RunCublas(Context& ctx, const GemmProblem& p) {
  const GemmArgs& g = p.first;
  if (ctx.dense_products() == DenseProducts::kPortable || g.k == 0) return false;
  const Tensor product = p.add ? Tensor::Empty(ctx, {g.m, g.n}) : Tensor();
  float* const c = p.add ? product.data<float>() : g.c;
  const int64_t ldc = p.add ? g.n : g.ldc;
  if (!MultiplyByCublas(ctx, p, c, ldc)) return false;
  if (p.add)
    ForEach(ctx, g.m * g.n, FoldParts{p, c, 1, true, true});
  else
    FinishRows(ctx, p);
  return true;
}

}  // namespace

void RunGemm(OnCuda, Context& ctx, const GemmProblem& p) {
  if (p.first.m == 0 || p.first.n == 0 || p.batch == 0) return;
  if (!RunCublas(ctx, p)) RunTiledGemm(ctx, p);
}

}  // namespace tessera::internal
