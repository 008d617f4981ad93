// The products of runtime/ops/kernels/product.h: tiles of C whose sums stay in registers.
#include <algorithm>
#include <array>
#include <utility>

#include "runtime/numbers/simd.h"
#include "runtime/ops/kernels/narrow_product.h"
#include "runtime/ops/kernels/product.h"
#include "runtime/ops/kernels/product_packing.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

// A tile: rows by packs of columns. 24 of 32 registers hold sums with AVX-512, 12 of 16 else.
constexpr int kTileRows = kSize == 16 ? 8 : 4, kTilePacks = 3;
constexpr int64_t kPanelColumns = kTilePacks * kSize;
static_assert(kRowsOfPanel % kTileRows == 0 && kPanelColumns <= kMaxPanelColumns);

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

// Lines of C are asked for before a piece of so many terms: the inputs' gradients of a layer take
// 0.95 to 0.98 of the time then. Before 13 terms they would be in the way (1.4, AVX2 on a Zen 4).
constexpr int64_t kLongPiece = kPieceOfSum / 2;

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
  if (!t.add && t.depth >= kLongPiece) {  // else C is near from the piece before
    TESSERA_UNROLL
    for (int i = 0; i < kRows; ++i)
      Prefetch<PrefetchFor::kWrite>(t.c + i * t.ldc, kPacks * kSize * int64_t{sizeof(float)});
  }
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

void PackPanels(const ProductArgs& p, const ProductPanels& panels, float* packed) {
  const int64_t next_panel = kPanelColumns * p.k, begin = panels.term_begin,
                depth = panels.term_end - begin;
  int64_t panel = panels.begin;
  if (!p.b.depth_inner) {
    const int64_t whole =
        std::max<int64_t>(0, Least(panels.end, p.b.extent / kPanelColumns) - panel);
    PackPanelsStraight<kPanelColumns>(p.b, panel * kPanelColumns, whole, begin, depth, next_panel,
                                      packed + panel * next_panel + begin * kPanelColumns);
    panel += whole;
  }
  for (; panel < panels.end; ++panel) {
    const int64_t columns = ColumnsOfPanel(p, panel), width = WidthOf(columns);
    PackSide(p.b, panel * kPanelColumns, columns, begin, depth, width,
             packed + panel * next_panel + begin * width);
  }
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
  int64_t r = 0;
  if (!p.a.depth_inner) {
    const int64_t whole = rows / kRowsOfPanel;
    PackPanelsStraight<kRowsOfPanel>(p.a, row, whole, begin, depth, kRowsOfPanel * depth, scratch);
    r = whole * kRowsOfPanel;
  }
  for (; r < rows; r += kRowsOfPanel)
    PackSide(p.a, row + r, Least(kRowsOfPanel, rows - r), begin, depth, kRowsOfPanel,
             scratch + r * depth);
  return {scratch, kRowsOfPanel, 1, kRowsOfPanel * depth};
}

// Whether columns of B that are packed next are to be asked for: a layer with one output takes 0.65
// to 0.85 of the time then (256→1, 2048 rows, Zen 4). One whose weights stay in the second-level
// cache, as a served one's may, would take 3 % longer.
bool IsFar(const ProductSide& b, int64_t k) { return b.depth_inner && b.extent * k > (1 << 18); }
TESSERA_INLINE void AskForColumns(const ProductSide& b, int64_t first, int64_t begin,
                                  int64_t depth) {
  for (int64_t x = first; x < Least(first + kPanelColumns, b.extent); ++x)
    Prefetch<PrefetchFor::kToL2>(b.At(x, begin), depth * int64_t{sizeof(float)});
}

// `packed` may be null: columns are read in place then, or packed into `scratch`.
Columns ColumnsOf(const ProductArgs& p, const float* packed, int64_t panel, int64_t begin,
                  int64_t depth, float* scratch) {
  const int64_t columns = ColumnsOfPanel(p, panel), width = WidthOf(columns);
  if (packed != nullptr)
    return {packed + panel * kPanelColumns * p.k + begin * width, width, columns};
  if (!p.b.depth_inner && columns % kSize == 0)
    return {p.b.At(panel * kPanelColumns, begin), p.b.ld, columns};
  if (IsFar(p.b, p.k)) AskForColumns(p.b, (panel + 1) * kPanelColumns, begin, depth);
  PackSide(p.b, panel * kPanelColumns, columns, begin, depth, width, scratch);
  return {scratch, width, columns};
}

// Terms of rows of A that are packed or read next. They are asked for while tiles are made, some
// with each tile: neither packing nor tiles wait for memory then (a layer's forward takes 0.94 of
// the time, 256→16 on 2048 rows 0.6; Zen 4).
class NextRows {
 public:
  // Those of terms from `begin` on and of up to kRowsOfBlock rows from `row` on that exist. tiles:
  // how many are made until then, > 0.
  NextRows(const ProductArgs& p, int64_t row, int64_t begin, int64_t tiles) : step_(p.a.ld) {
    const int64_t rows = Least(kRowsOfBlock, p.a.extent - row),
                  depth = Least(kPieceOfSum, p.k - begin);
    if (rows <= 0 || depth <= 0) return;
    from_ = p.a.At(row, begin);
    left_ = p.a.depth_inner ? rows : depth;
    bytes_ = (p.a.depth_inner ? depth : rows) * int64_t{sizeof(float)};
    at_once_ = (left_ + tiles - 1) / tiles;
  }
  TESSERA_INLINE void AskForSome() {
    for (int64_t i = 0; i < at_once_ && left_ > 0; ++i, --left_, from_ += step_)
      Prefetch<PrefetchFor::kToL2>(from_, bytes_);
  }

 private:
  const float* from_ = nullptr;
  int64_t step_, left_ = 0, bytes_ = 0, at_once_ = 0;
};

// Up to kRowsOfBlock rows of C in one panel, one piece of the sum.
void MultiplyPanel(const ProductArgs& p, const Rows& a, const Columns& b, int64_t depth, float* c,
                   int64_t rows, bool add, NextRows& next) {
  const Tiles& tiles = a.next_row == 1 ? TilesFor<true>(b.count) : TilesFor<false>(b.count);
  const bool whole = b.count % kSize == 0 && p.column_stride == 1;
  for (int64_t row = 0; row < rows; row += kTileRows) {
    const int64_t count = Least(kTileRows, rows - row);
    const Tile tile = tiles[static_cast<size_t>(count - 1)];
    const TileArgs t = {
        a.At(row),    b.first, a.next_term, a.next_row, b.next_term, depth, c + row * p.row_stride,
        p.row_stride, add};
    next.AskForSome();
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
  const int64_t panels = part.panel_end - part.panel_begin;
  for (int64_t row = part.row_begin; row < part.row_end; row += kRowsOfBlock) {
    const int64_t rows = Least(kRowsOfBlock, part.row_end - row);
    const int64_t tiles = panels * ((rows + kTileRows - 1) / kTileRows);
    int64_t begin = 0;
    do {  // at least once: an empty sum is 0
      const int64_t depth = Least(kPieceOfSum, p.k - begin), end = begin + depth;
      const Rows a = RowsOf(p, in_place, row, rows, begin, depth, scratch);
      NextRows next = end < p.k ? NextRows(p, row, end, tiles) : NextRows(p, row + rows, 0, tiles);
      for (int64_t panel = part.panel_begin; panel < part.panel_end; ++panel) {
        const Columns b =
            ColumnsOf(p, packed, panel, begin, depth, scratch + kRowsOfBlock * kPieceOfSum);
        float* c = p.c + row * p.row_stride + panel * kPanelColumns * p.column_stride;
        MultiplyPanel(p, a, b, depth, c, rows, p.add || begin > 0, next);
      }
      begin = end;
    } while (begin < p.k);
  }
}

}  // namespace

const ProductKernels kProduct = {kPanelColumns, PackPanels, Multiply};

}  // namespace tessera::internal::TESSERA_ISA
