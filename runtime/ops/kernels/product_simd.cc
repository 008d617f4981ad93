// The products of runtime/ops/kernels/product.h: tiles of C whose sums stay in registers.
#include <array>
#include <utility>

#include "runtime/numbers/simd.h"
#include "runtime/ops/kernels/narrow_product.h"
#include "runtime/ops/kernels/product.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

// A tile: rows by packs of columns. 24 of 32 registers hold sums with AVX-512, 12 of 16 else.
constexpr int kTileRows = kSize == 16 ? 8 : 4, kTilePacks = 3;
constexpr int64_t kPanelColumns = kTilePacks * kSize;
static_assert(kRowsOfPanel % kTileRows == 0 && kPanelColumns <= kMostPanelColumns);

constexpr int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }

// ---- Packing: to[depth * width + x] of some rows or columns x.

// Rows are transposed kWide at a time; fours are what instructions shuffle within. (With AVX-512
// shuffles of 32 bytes have two ports of an Intel core, those of 64 bytes one.)
constexpr int64_t kWide = kSize < 8 ? kSize : 8;
using Four = float __attribute__((vector_size(16)));
using UnalignedFour = float __attribute__((vector_size(16), aligned(4), may_alias));
using Wide = float __attribute__((vector_size(4 * kWide)));
using UnalignedWide = float __attribute__((vector_size(4 * kWide), aligned(4), may_alias));

#define TESSERA_INLINE inline __attribute__((always_inline))

TESSERA_INLINE Four LoadFour(const float* p) {
  return Four(*reinterpret_cast<const UnalignedFour*>(p));
}

// Within each four: a0 b0 a1 b1, a2 b2 a3 b3, a0 a1 b0 b1, a2 a3 b2 b3.
constexpr auto kElements = std::make_integer_sequence<int, int{kWide}>();
template <int... i>
TESSERA_INLINE Wide ZipLow(Wide a, Wide b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, (i / 4 * 4 + i % 4 / 2 + i % 2 * int{kWide})...);
}
template <int... i>
TESSERA_INLINE Wide ZipHigh(Wide a, Wide b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, (i / 4 * 4 + 2 + i % 4 / 2 + i % 2 * int{kWide})...);
}
template <int... i>
TESSERA_INLINE Wide JoinLow(Wide a, Wide b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, (i / 4 * 4 + i % 2 + i % 4 / 2 * int{kWide})...);
}
template <int... i>
TESSERA_INLINE Wide JoinHigh(Wide a, Wide b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, (i / 4 * 4 + 2 + i % 2 + i % 4 / 2 * int{kWide})...);
}

// The four at `from`, and where there is room that at from + step.
template <int64_t kFours = kWide / 4>
TESSERA_INLINE auto LoadFours(const float* from, int64_t step) {
  if constexpr (kFours == 1)
    return LoadFour(from);
  else
    return __builtin_shufflevector(LoadFour(from), LoadFour(from + step), 0, 1, 2, 3, 4, 5, 6, 7);
}

// Four terms of kWide sums, transposed.
TESSERA_INLINE void TransposeFourTerms(const float* from, int64_t ld, int64_t width, float* to) {
  const Wide a = LoadFours(from, 4 * ld), b = LoadFours(from + ld, 4 * ld),
             c = LoadFours(from + 2 * ld, 4 * ld), d = LoadFours(from + 3 * ld, 4 * ld);
  const Wide ab_low = ZipLow(a, b, kElements), ab_high = ZipHigh(a, b, kElements),
             cd_low = ZipLow(c, d, kElements), cd_high = ZipHigh(c, d, kElements);
  const Wide terms[] = {JoinLow(ab_low, cd_low, kElements), JoinHigh(ab_low, cd_low, kElements),
                        JoinLow(ab_high, cd_high, kElements),
                        JoinHigh(ab_high, cd_high, kElements)};
  TESSERA_UNROLL
  for (int i = 0; i < 4; ++i) *reinterpret_cast<UnalignedWide*>(to + i * width) = terms[i];
}

void PackTransposed(const ProductSide& side, int64_t first, int64_t count, int64_t depth_begin,
                    int64_t depth, int64_t width, float* to) {
  int64_t x = 0;
  for (; x + kWide <= count; x += kWide) {
    const float* from = side.At(first + x, depth_begin);
    int64_t d = 0;
    for (; d + 4 <= depth; d += 4) TransposeFourTerms(from + d, side.ld, width, to + d * width + x);
    for (; d < depth; ++d)
      for (int64_t i = 0; i < kWide; ++i) to[d * width + x + i] = from[i * side.ld + d];
  }
  for (; x < count; ++x) {
    const float* from = side.At(first + x, depth_begin);
    for (int64_t d = 0; d < depth; ++d) to[d * width + x] = from[d];
  }
}

void PackStraight(const ProductSide& side, int64_t first, int64_t count, int64_t depth_begin,
                  int64_t depth, int64_t width, float* to) {
  for (int64_t d = 0; d < depth; ++d, to += width) {
    const float* from = side.At(first, depth_begin + d);
    int64_t x = 0;
    for (; x + kSize <= count; x += kSize) Pack::Load(from + x).Store(to + x);
    for (; x < count; ++x) to[x] = from[x];
  }
}

// Elements of `to` from `count` to `width` become 0.
void PackSide(const ProductSide& side, int64_t first, int64_t count, int64_t depth_begin,
              int64_t depth, int64_t width, float* to) {
  (side.depth_inner ? PackTransposed : PackStraight)(side, first, count, depth_begin, depth, width,
                                                     to);
  if (count == width) return;
  for (int64_t d = 0; d < depth; ++d)
    for (int64_t x = count; x < width; ++x) to[d * width + x] = 0;
}

// ---- Tiles.

// Rows of A for one piece of the sum, packed or in place; panels of kRowsOfPanel rows.
struct Rows {
  const float* first;
  int64_t next_term, next_row, next_panel;
  const float* At(int64_t row) const {
    return first + row / kRowsOfPanel * next_panel + row % kRowsOfPanel * next_row;
  }
};
// The columns of B in a panel.
struct Columns {
  const float* first;
  int64_t next_term, count;
};

struct TileArgs {
  const float *a, *b;
  int64_t a_next_term, a_next_row, b_next_term, depth;
  float* c;
  int64_t ldc;
  bool add;
};

// kRowsAreNeighbours: a_next_row is 1.
template <int kRows, int kPacks, bool kRowsAreNeighbours>
void MultiplyTile(const TileArgs& t) {
  Pack sums[kRows][kPacks];
  TESSERA_UNROLL
  for (int i = 0; i < kRows; ++i) {
    TESSERA_UNROLL
    for (int j = 0; j < kPacks; ++j) sums[i][j] = Pack(0.0f);
  }
  // Three rows share a base, so that addresses need few registers.
  constexpr int kBases = (kRows + 2) / 3;
  const int64_t next_row = kRowsAreNeighbours ? 1 : t.a_next_row;
  const float *a[kBases], *b = t.b;
  TESSERA_UNROLL
  for (int i = 0; i < kBases; ++i) a[i] = t.a + 3 * i * next_row;
  for (int64_t d = 0; d < t.depth; ++d, b += t.b_next_term) {
    Pack columns[kPacks];
    TESSERA_UNROLL
    for (int j = 0; j < kPacks; ++j) columns[j] = Pack::Load(b + j * kSize);
    TESSERA_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const Pack row(a[i / 3][i % 3 * next_row]);
      TESSERA_UNROLL
      for (int j = 0; j < kPacks; ++j) sums[i][j] = Fma(row, columns[j], sums[i][j]);
    }
    TESSERA_UNROLL
    for (int i = 0; i < kBases; ++i) a[i] += t.a_next_term;
  }
  TESSERA_UNROLL
  for (int i = 0; i < kRows; ++i) {
    TESSERA_UNROLL
    for (int j = 0; j < kPacks; ++j) {
      float* c = t.c + i * t.ldc + j * kSize;
      (t.add ? Pack::Load(c) + sums[i][j] : sums[i][j]).Store(c);
    }
  }
}

using Tile = void (*)(const TileArgs&);
using Tiles = std::array<Tile, kTileRows>;  // for 1, 2, … rows

template <int kPacks, bool kRowsAreNeighbours, int... kRowsLessOne>
constexpr Tiles MakeTiles(std::integer_sequence<int, kRowsLessOne...>) {
  return {MultiplyTile<kRowsLessOne + 1, kPacks, kRowsAreNeighbours>...};
}
template <int kPacks, bool kRowsAreNeighbours>
constexpr Tiles kTiles =
    MakeTiles<kPacks, kRowsAreNeighbours>(std::make_integer_sequence<int, kTileRows>());

template <bool kRowsAreNeighbours>
const Tiles& TilesFor(int64_t columns) {
  return columns > 2 * kSize ? kTiles<3, kRowsAreNeighbours>
         : columns > kSize   ? kTiles<2, kRowsAreNeighbours>
                             : kTiles<1, kRowsAreNeighbours>;
}

// A tile of fewer columns than its packs have, or whose columns are no neighbours in C: made beside
// and copied.
void MultiplyAside(Tile tile, const TileArgs& t, int64_t rows, int64_t columns,
                   int64_t column_stride) {
  float aside[kTileRows * kPanelColumns];
  TileArgs inner = t;
  inner.c = aside;
  inner.ldc = kPanelColumns;
  inner.add = false;
  tile(inner);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      float& c = t.c[i * t.ldc + j * column_stride];
      const float sum = aside[i * kPanelColumns + j];
      c = t.add ? c + sum : sum;
    }
}

// ---- Parts of C.

int64_t ColumnsOfPanel(const ProductArgs& p, int64_t panel) {
  return Least(kPanelColumns, p.b.extent - panel * kPanelColumns);
}
// Columns that a panel has room for: whole packs.
int64_t WidthOf(int64_t columns) { return (columns + kSize - 1) / kSize * kSize; }

void PackPanel(const ProductArgs& p, int64_t panel, float* to) {
  const int64_t columns = ColumnsOfPanel(p, panel);
  PackSide(p.b, panel * kPanelColumns, columns, 0, p.k, WidthOf(columns), to);
}

// Packed rows are read as often as there are panels. For few panels packing does not pay, unless
// rows lie a multiple of 4 KiB apart: they would push each other out of the first-level cache.
bool ReadsRowsInPlace(const ProductArgs& p, const ProductPart& part) {
  return part.panel_end - part.panel_begin <= 2 && (!p.a.depth_inner || p.a.ld % 1024 != 0);
}

Rows RowsOf(const ProductArgs& p, bool in_place, int64_t row, int64_t rows, int64_t begin,
            int64_t depth, float* scratch) {
  const float* first = p.a.At(row, begin);
  if (in_place && p.a.depth_inner) return {first, 1, p.a.ld, kRowsOfPanel * p.a.ld};
  if (in_place) return {first, p.a.ld, 1, kRowsOfPanel};
  for (int64_t r = 0; r < rows; r += kRowsOfPanel)
    PackSide(p.a, row + r, Least(kRowsOfPanel, rows - r), begin, depth, kRowsOfPanel,
             scratch + r * depth);
  return {scratch, kRowsOfPanel, 1, kRowsOfPanel * depth};
}

// `packed` may be null: columns are read in place then, or packed into `scratch`.
Columns ColumnsOf(const ProductArgs& p, const float* packed, int64_t panel, int64_t begin,
                  int64_t depth, float* scratch) {
  const int64_t columns = ColumnsOfPanel(p, panel), width = WidthOf(columns);
  if (packed != nullptr)
    return {packed + panel * kPanelColumns * p.k + begin * width, width, columns};
  if (!p.b.depth_inner && columns % kSize == 0)
    return {p.b.At(panel * kPanelColumns, begin), p.b.ld, columns};
  PackSide(p.b, panel * kPanelColumns, columns, begin, depth, width, scratch);
  return {scratch, width, columns};
}

// Up to kRowsOfBlock rows of C in one panel, one piece of the sum.
void MultiplyPanel(const ProductArgs& p, const Rows& a, const Columns& b, int64_t depth, float* c,
                   int64_t rows, bool add) {
  const Tiles& tiles = a.next_row == 1 ? TilesFor<true>(b.count) : TilesFor<false>(b.count);
  const bool whole = b.count % kSize == 0 && p.column_stride == 1;
  for (int64_t row = 0; row < rows; row += kTileRows) {
    const int64_t count = Least(kTileRows, rows - row);
    const Tile tile = tiles[static_cast<size_t>(count - 1)];
    const TileArgs t = {
        a.At(row),    b.first, a.next_term, a.next_row, b.next_term, depth, c + row * p.row_stride,
        p.row_stride, add};
    if (whole)
      tile(t);
    else
      MultiplyAside(tile, t, count, b.count, p.column_stride);
  }
}

void Multiply(const ProductArgs& p, const ProductPart& part, const float* packed, float* scratch) {
  const int64_t column = part.panel_begin * kPanelColumns;
  const int64_t columns = Least(part.panel_end * kPanelColumns, p.b.extent) - column;
  if (MultiplyNarrow(p, {part.row_begin, part.row_end - part.row_begin, column, columns}, scratch))
    return;
  const bool in_place = ReadsRowsInPlace(p, part);
  for (int64_t row = part.row_begin; row < part.row_end; row += kRowsOfBlock) {
    const int64_t rows = Least(kRowsOfBlock, part.row_end - row);
    int64_t begin = 0;
    do {  // at least once: an empty sum is 0
      const int64_t depth = Least(kPieceOfSum, p.k - begin);
      const Rows a = RowsOf(p, in_place, row, rows, begin, depth, scratch);
      for (int64_t panel = part.panel_begin; panel < part.panel_end; ++panel) {
        const Columns b =
            ColumnsOf(p, packed, panel, begin, depth, scratch + kRowsOfBlock * kPieceOfSum);
        float* c = p.c + row * p.row_stride + panel * kPanelColumns * p.column_stride;
        MultiplyPanel(p, a, b, depth, c, rows, p.add || begin > 0);
      }
      begin += kPieceOfSum;
    } while (begin < p.k);
  }
}

}  // namespace

const ProductKernels kProduct = {kPanelColumns, PackPanel, Multiply};

}  // namespace tessera::internal::TESSERA_ISA
