// B is copied row by row where it is transposed; then C is made in blocks of some rows and two
// registers of columns, whose sums stay in registers for a piece of the terms. A is read where it
// lies. Our bits, as the order of each sum is ours.
#include <algorithm>
#include <vector>

#include "bench/lab/product_kernel.h"
#include "bench/lab/variant.h"
#include "runtime/context.h"
#include "runtime/numbers/simd.h"

namespace tessera::bench {
namespace {

using internal::native::Pack;
constexpr int64_t kColumns = 2 * Pack::kSize;

// B as rows of k terms, with zeros up to a multiple of kColumns.
struct Rows {
  explicit Rows(const ProductArgs& p)
      : ld((p.n + kColumns - 1) / kColumns * kColumns), data(static_cast<size_t>(p.k * ld)) {
    for (int64_t term = 0; term < p.k; ++term)
      for (int64_t j = 0; j < p.n; ++j) data[static_cast<size_t>(term * ld + j)] = *p.B(term, j);
  }
  int64_t ld;
  std::vector<float> data;
};

// C[row …, column …] += the terms [begin, end), of kRows rows and kColumns columns, into `sums`.
template <int kRows>
void AddPiece(const ProductArgs& p, const Rows& b, int64_t row, int64_t column, int64_t begin,
              int64_t end, float* sums) {
  Pack piece[kRows][2];
  TESSERA_UNROLL
  for (int r = 0; r < kRows; ++r) piece[r][0] = piece[r][1] = Pack(0.0f);
  const float* at = b.data.data() + begin * b.ld + column;
  for (int64_t term = begin; term < end; ++term, at += b.ld) {
    const Pack left = Pack::Load(at), right = Pack::Load(at + Pack::kSize);
    TESSERA_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const Pack a(*p.A(row + r, term));
      piece[r][0] = Fma(a, left, piece[r][0]);
      piece[r][1] = Fma(a, right, piece[r][1]);
    }
  }
  for (int r = 0; r < kRows; ++r, sums += kColumns) {
    const Pack first = begin == 0 ? piece[r][0] : Pack::Load(sums) + piece[r][0];
    const Pack second = begin == 0 ? piece[r][1] : Pack::Load(sums + Pack::kSize) + piece[r][1];
    first.Store(sums);
    second.Store(sums + Pack::kSize);
  }
}

template <int kRows>
void MakeBlock(const ProductArgs& p, const Rows& b, int64_t row) {
  float sums[kRows * kColumns];
  for (int64_t column = 0; column < p.n; column += kColumns) {
    std::fill_n(sums, kRows * kColumns, 0.0f);  // of no terms
    for (int64_t begin = 0; begin < p.k; begin += kGemmPiece)
      AddPiece<kRows>(p, b, row, column, begin, std::min(begin + kGemmPiece, p.k), sums);
    for (int r = 0; r < kRows; ++r)
      std::copy_n(sums + r * kColumns, std::min(kColumns, p.n - column),
                  p.c + (row + r) * p.ldc + column);
  }
}

template <int kRows>
void MultiplyBlocks(Context& ctx, const ProductArgs& p) {
  const Rows b(p);
  ParallelFor(ctx, (p.m + kRows - 1) / kRows, 8, [&](int64_t begin, int64_t end) {
    int64_t row = begin * kRows;
    const int64_t stop = std::min(end * kRows, p.m);
    for (; row + kRows <= stop; row += kRows) MakeBlock<kRows>(p, b, row);
    for (; row < stop; ++row) MakeBlock<1>(p, b, row);
  });
}

KernelFunction<ProductArgs> Make(const Point& point) {
  const std::string& rows = point.Text("block-rows");
  if (rows == "1") return MultiplyBlocks<1>;
  if (rows == "2") return MultiplyBlocks<2>;
  if (rows == "4") return MultiplyBlocks<4>;
  return MultiplyBlocks<8>;
}

const RegisterVariant<ProductArgs> kBlocked(
    {.name = "blocked",
     .about = "blocks of some rows and two registers of columns, A read where it lies",
     .parameters = {{"block-rows",
                     {"8"},
                     "rows of C whose sums are in registers: 1, 2, 4 or 8",
                     OneOf({"1", "2", "4", "8"})}}},
    Make);

}  // namespace
}  // namespace tessera::bench
