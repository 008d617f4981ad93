// Dot interaction, one example at a time, in tiles that stay in registers: products of six rows
// with two registers of columns. Forward transposes z first, so that no sum runs across a register.
#include <algorithm>

#include "models/layers/interaction_kernels.h"
#include "runtime/numbers/simd.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

constexpr int64_t kSize = Pack::kSize;

constexpr int kTileRows = 6;

// Calls fn<rows>(), 1 <= rows <= kMax.
template <int kMax = kTileRows, typename Fn>
void WithRows(int64_t rows, const Fn& fn) {
  if (rows == kMax) return fn.template operator()<kMax>();
  if constexpr (kMax > 1) WithRows<kMax - 1>(rows, fn);
}

// The rows of one example, or those of their gradients.
template <typename T>
struct Rows {
  T *dense, *sparse;
  int64_t dim;
  T* operator[](int64_t i) const { return i == 0 ? dense : sparse + (i - 1) * dim; }
};

// The rows of example b.
template <typename Args>
Rows<const float> RowsOf(const Args& a, int64_t b) {
  return {a.dense + b * a.dense_stride, a.sparse + b * a.sparse_stride, a.dim};
}

// zt[d, 0 … 3] for each d, from four rows.
void TransposeFourRows(const float* z0, const float* z1, const float* z2, const float* z3,
                       int64_t dim, int64_t padded, float* zt) {
  using Four = float __attribute__((vector_size(16)));
  using Unaligned = float __attribute__((vector_size(16), aligned(4), may_alias));
  const auto load = [](const float* p) { return Four(*reinterpret_cast<const Unaligned*>(p)); };
  int64_t d = 0;
  for (; d + 4 <= dim; d += 4) {
    const Four a = load(z0 + d), b = load(z1 + d), c = load(z2 + d), e = load(z3 + d);
    const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
               ce_low = __builtin_shufflevector(c, e, 0, 4, 1, 5),
               ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7),
               ce_high = __builtin_shufflevector(c, e, 2, 6, 3, 7);
    const Four columns[] = {__builtin_shufflevector(ab_low, ce_low, 0, 1, 4, 5),
                            __builtin_shufflevector(ab_low, ce_low, 2, 3, 6, 7),
                            __builtin_shufflevector(ab_high, ce_high, 0, 1, 4, 5),
                            __builtin_shufflevector(ab_high, ce_high, 2, 3, 6, 7)};
    for (int64_t k = 0; k < 4; ++k)
      *reinterpret_cast<Unaligned*>(zt + (d + k) * padded) = columns[k];
  }
  for (; d < dim; ++d) {
    float* column = zt + d * padded;
    column[0] = z0[d], column[1] = z1[d], column[2] = z2[d], column[3] = z3[d];
  }
}

// zt[d, j] = z_j[d]; where n is no multiple of 4, the last row comes again.
void Transpose(const Rows<const float>& z, int64_t n, float* zt) {
  const auto row = [&](int64_t j) { return z[std::min(j, n - 1)]; };
  for (int64_t j = 0; j < n; j += 4)
    TransposeFourRows(row(j), row(j + 1), row(j + 2), row(j + 3), z.dim, InteractionPadding(n),
                      zt + j);
}

// The sparse row of the next example. It is asked for while this one's products are made: with rows
// of dim 64 and 128, which the lookup wrote long before, forward takes 0.8 of the time (Zen 4).
class NextExample {
 public:
  // parts: how often some of it is asked for.
  NextExample(const float* from, int64_t floats, int64_t parts)
      : from_(from), left_(floats), at_once_((floats / parts / kLine + 1) * kLine) {}
  __attribute__((always_inline)) void AskForSome() {
    const int64_t floats = left_ < at_once_ ? left_ : at_once_;
    Prefetch<PrefetchFor::kRead>(from_, floats * int64_t{sizeof(float)});
    from_ += floats;
    left_ -= floats;
  }

 private:
  static constexpr int64_t kLine = 64 / sizeof(float);
  const float* from_;
  int64_t left_, at_once_;
};

// Some of the example after b is asked for once a tile of rows.
template <typename Args>
NextExample AfterExample(const Args& a, int64_t b) {
  const bool is_there = b + 1 < a.rows;
  return {RowsOf(a, b).sparse + a.sparse_stride, is_there ? a.features * a.dim : 0,
          (a.features + 1) / kTileRows + 1};
}

// products[i + r, j …] of kRows rows from i on with kPacks registers of columns from j on.
template <int kRows, int kPacks>
void ProductsOfTile(const Rows<const float>& z, int64_t i, int64_t j, int64_t padded,
                    const float* zt, float* products) {
  const float* rows[kRows];
  Pack sums[kRows][kPacks];
  for (int r = 0; r < kRows; ++r) {
    rows[r] = z[i + r];
    for (Pack& sum : sums[r]) sum = Pack(0.0f);
  }
  for (int64_t d = 0; d < z.dim; ++d) {
    Pack columns[kPacks];
    for (int p = 0; p < kPacks; ++p) columns[p] = Pack::Load(zt + d * padded + j + p * kSize);
    for (int r = 0; r < kRows; ++r)
      for (int p = 0; p < kPacks; ++p) sums[r][p] = Fma(Pack(rows[r][d]), columns[p], sums[r][p]);
  }
  for (int r = 0; r < kRows; ++r)
    for (int p = 0; p < kPacks; ++p) sums[r][p].Store(products + (i + r) * padded + j + p * kSize);
}

template <int kRows>
void ProductsOfRows(const Rows<const float>& z, int64_t i, int64_t n, const float* zt,
                    float* products) {
  const int64_t padded = InteractionPadding(n);
  int64_t j = i + 1;
  for (; j + kSize < n; j += 2 * kSize) ProductsOfTile<kRows, 2>(z, i, j, padded, zt, products);
  if (j < n) ProductsOfTile<kRows, 1>(z, i, j, padded, zt, products);
}

void Forward(const InteractionArgs& a) {
  const int64_t n = a.features + 1, width = a.dim + n * (n - 1) / 2, padded = InteractionPadding(n);
  float *zt = a.scratch, *products = zt + padded * a.dim;
  std::fill_n(zt, padded * a.dim, 0.0f);  // columns from n on
  for (int64_t b = 0; b < a.rows; ++b) {
    const Rows<const float> z = RowsOf(a, b);
    float* y = std::copy_n(z.dense, a.dim, a.y + b * width);
    Transpose(z, n, zt);
    NextExample next = AfterExample(a, b);
    for (int64_t i = 0; i + 1 < n; i += kTileRows) {
      next.AskForSome();
      WithRows(std::min<int64_t>(n - 1 - i, kTileRows),
               [&]<int kRows>() { ProductsOfRows<kRows>(z, i, n, zt, products); });
    }
    for (int64_t i = 0; i + 1 < n; ++i)
      y = std::copy_n(products + i * padded + i + 1, n - 1 - i, y);
  }
}

// The symmetric matrix of the pairs' gradients, with a diagonal of 0.
void Unfold(const float* pairs, int64_t n, float* g) {
  for (int64_t i = 0; i < n; ++i) {
    g[i * n + i] = 0;
    for (int64_t j = i + 1; j < n; ++j, ++pairs) g[i * n + j] = g[j * n + i] = *pairs;
  }
}

// How a tile of backward is stored: `part` < kSize columns of it, or whole registers, past the
// caches where rows are streamed.
enum class Storing { kPart, kWhole, kStreamed };

// Columns from d on, kPacks registers of them or a part of one, of dz_i for kRows rows from i on:
// Σ_j g_ij·z_j. dz_0 begins with `add`.
template <int kRows, int kPacks, Storing kStoring>
void GradientsOfTile(const Rows<const float>& z, int64_t i, int64_t d, int64_t n, const float* g,
                     const float* add, const Rows<float>& dz, int part = 0) {
  constexpr bool kPart = kStoring == Storing::kPart;
  const auto load = [&](const float* p) {
    return kPart ? Pack::LoadFirst(p, part) : Pack::Load(p);
  };
  g += i * n;
  Pack sums[kRows][kPacks];
  for (int r = 0; r < kRows; ++r)
    for (int p = 0; p < kPacks; ++p)
      sums[r][p] = i + r == 0 ? load(add + d + p * kSize) : Pack(0.0f);
  const auto add_row = [&](int64_t j, const float* row) {
    Pack columns[kPacks];
    for (int p = 0; p < kPacks; ++p) columns[p] = load(row + p * kSize);
    for (int r = 0; r < kRows; ++r)
      for (int p = 0; p < kPacks; ++p) sums[r][p] = Fma(Pack(g[r * n + j]), columns[p], sums[r][p]);
  };
  add_row(0, z.dense + d);
  for (int64_t j = 1; j < n; ++j) add_row(j, z.sparse + (j - 1) * z.dim + d);
  for (int r = 0; r < kRows; ++r)
    for (int p = 0; p < kPacks; ++p) {
      float* out = dz[i + r] + d + p * kSize;
      if (kPart)
        sums[r][p].StoreFirst(out, part);
      else if (kStoring == Storing::kStreamed)
        sums[r][p].Stream(out);
      else
        sums[r][p].Store(out);
    }
}

template <int kRows, Storing kStoring>
void GradientsOfRows(const Rows<const float>& z, int64_t i, int64_t n, const float* g,
                     const float* add, const Rows<float>& dz) {
  int64_t d = 0;
  for (; d + 2 * kSize <= z.dim; d += 2 * kSize)
    GradientsOfTile<kRows, 2, kStoring>(z, i, d, n, g, add, dz);
  for (; d + kSize <= z.dim; d += kSize)
    GradientsOfTile<kRows, 1, kStoring>(z, i, d, n, g, add, dz);
  if (d < z.dim)
    GradientsOfTile<kRows, 1, Storing::kPart>(z, i, d, n, g, add, dz, static_cast<int>(z.dim - d));
}

template <Storing kStoring>
void BackwardStoring(const InteractionGradArgs& a) {
  const int64_t n = a.features + 1, width = a.dim + n * (n - 1) / 2;
  for (int64_t b = 0; b < a.rows; ++b) {
    const Rows<const float> z = RowsOf(a, b);
    const Rows<float> dz{a.ddense + b * a.dim, a.dsparse + b * a.features * a.dim, a.dim};
    const float* dy = a.dy + b * width;
    Unfold(dy + a.dim, n, a.scratch);
    NextExample next = AfterExample(a, b);
    for (int64_t i = 0; i < n; i += kTileRows) {
      next.AskForSome();
      WithRows(std::min<int64_t>(n - i, kTileRows),
               [&]<int kRows>() { GradientsOfRows<kRows, kStoring>(z, i, n, a.scratch, dy, dz); });
    }
  }
}

void Backward(const InteractionGradArgs& a) {
  if (!a.stream) return BackwardStoring<Storing::kWhole>(a);
  BackwardStoring<Storing::kStreamed>(a);
  StoreFence();
}

}  // namespace

const InteractionKernels kInteraction = {Forward, Backward};

}  // namespace tessera::internal::TESSERA_ISA
