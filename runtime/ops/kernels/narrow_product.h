#ifndef TESSERA_RUNTIME_OPS_KERNELS_NARROW_PRODUCT_H_
#define TESSERA_RUNTIME_OPS_KERNELS_NARROW_PRODUCT_H_
// Products that the tiles of product_simd.cc would keep waiting: of one row, which leaves most of
// their sums idle, and of few terms, which they write far apart. B's columns are neighbours in
// memory; it is read in place and in its order. The bits are those of product.h. For *_simd.cc
// files (tools/isa.bzl).
#include <algorithm>
#include <cstdint>

#include "runtime/numbers/simd.h"
#include "runtime/ops/kernels/product.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

constexpr int64_t kSize = Pack::kSize;

// Rows and columns of C.
struct NarrowPart {
  int64_t row, rows, column, columns;
};

// Calls fn.template operator()<n>(column, done) for packs of kSize columns, n at a time, of at
// least kSize `columns`. What is left is a pack that begins kSize columns before the end, of which
// `done` are made already.
template <typename Fn>
void ForPacks(int64_t columns, const Fn& fn) {
  int64_t column = 0;
  for (; column + 8 * kSize <= columns; column += 8 * kSize) fn.template operator()<8>(column, 0);
  if (column + 4 * kSize <= columns) {
    fn.template operator()<4>(column, 0);
    column += 4 * kSize;
  }
  if (column + 2 * kSize <= columns) {
    fn.template operator()<2>(column, 0);
    column += 2 * kSize;
  }
  if (column + kSize <= columns) {
    fn.template operator()<1>(column, 0);
    column += kSize;
  }
  if (column < columns) fn.template operator()<1>(columns - kSize, column - (columns - kSize));
}

// Puts kSize sums into C but for the first `done`, or adds them to what is there.
inline void PutSums(float* c, int64_t done, bool add, Pack sums) {
  if (done == 0) {
    (add ? Pack::Load(c) + sums : sums).Store(c);
    return;
  }
  float aside[kSize];
  sums.Store(aside);
  for (int64_t j = done; j < kSize; ++j) c[j] = add ? c[j] + aside[j] : aside[j];
}

// ---- One row.

// Terms that are taken before the sums of other columns go on.
constexpr int64_t kTermsAtOnce = 16;

// Terms [begin, end) of kPacks packs of columns; sums are kept between calls.
template <int kPacks>
void AddTerms(const ProductArgs& p, int64_t row, int64_t column, int64_t begin, int64_t end,
              bool first, float* sums) {
  Pack s[kPacks];
  TESSERA_UNROLL
  for (int j = 0; j < kPacks; ++j) s[j] = first ? Pack(0.0f) : Pack::Load(sums + j * kSize);
  for (int64_t d = begin; d < end; ++d) {
    const Pack a(*p.a.At(row, d));
    const float* b = p.b.At(column, d);
    TESSERA_UNROLL
    for (int j = 0; j < kPacks; ++j) s[j] = Fma(a, Pack::Load(b + j * kSize), s[j]);
  }
  TESSERA_UNROLL
  for (int j = 0; j < kPacks; ++j) s[j].Store(sums + j * kSize);
}

// sums: columns + kSize floats. A last pack that overlaps the one before has its sums behind all.
inline void MultiplyRow(const ProductArgs& p, const NarrowPart& part, float* sums) {
  const auto place = [&](int64_t column, int64_t done) {
    return sums + (done == 0 ? column : part.columns);
  };
  float* c = p.c + part.row * p.row_stride + part.column;
  for (int64_t begin = 0; begin < p.k; begin += kPieceOfSum) {
    const int64_t end = std::min(begin + kPieceOfSum, p.k);
    for (int64_t from = begin; from < end; from += kTermsAtOnce)
      ForPacks(part.columns, [&]<int kPacks>(int64_t column, int64_t done) {
        AddTerms<kPacks>(p, part.row, part.column + column, from,
                         std::min(from + kTermsAtOnce, end), from == begin, place(column, done));
      });
    ForPacks(part.columns, [&]<int kPacks>(int64_t column, int64_t done) {
      for (int j = 0; j < kPacks; ++j)
        PutSums(c + column + j * kSize, done, p.add || begin > 0,
                Pack::Load(place(column, done) + j * kSize));
    });
  }
}

// ---- Few terms.

template <int kTerms>
void MultiplyShallow(const ProductArgs& p, const NarrowPart& part) {
  for (int64_t row = part.row; row < part.row + part.rows; ++row) {
    Pack a[kTerms];
    TESSERA_UNROLL
    for (int d = 0; d < kTerms; ++d) a[d] = Pack(*p.a.At(row, d));
    float* c = p.c + row * p.row_stride + part.column;
    ForPacks(part.columns, [&]<int kPacks>(int64_t column, int64_t done) {
      TESSERA_UNROLL
      for (int j = 0; j < kPacks; ++j) {
        Pack sum(0.0f);
        TESSERA_UNROLL
        for (int d = 0; d < kTerms; ++d)
          sum = Fma(a[d], Pack::Load(p.b.At(part.column + column + j * kSize, d)), sum);
        PutSums(c + column + j * kSize, done, p.add, sum);
      }
    });
  }
}

// ---- The choice.

// Makes a part of C if it is one of these, or returns false. scratch: kProductScratch floats.
inline bool MultiplyNarrow(const ProductArgs& p, const NarrowPart& part, float* scratch) {
  if (p.b.depth_inner || p.column_stride != 1 || p.k == 0 || part.columns < kSize) return false;
  if (p.k <= kShallowTerms) {
    constexpr decltype(&MultiplyShallow<1>) kOfTerms[] = {MultiplyShallow<1>, MultiplyShallow<2>,
                                                          MultiplyShallow<3>, MultiplyShallow<4>};
    static_assert(std::size(kOfTerms) == kShallowTerms);
    kOfTerms[p.k - 1](p, part);
    return true;
  }
  if (part.rows != 1 || part.columns + kSize > kProductScratch) return false;
  MultiplyRow(p, part, scratch);
  return true;
}

}  // namespace
}  // namespace tessera::internal::TESSERA_ISA
#endif  // TESSERA_RUNTIME_OPS_KERNELS_NARROW_PRODUCT_H_
