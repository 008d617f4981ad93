// Dot interaction, one example at a time, in tiles that stay in registers: products of four rows
// with two registers of columns. Forward transposes z first, so that no sum runs across a register.
#include "models/layers/interaction_kernels.h"
#include "runtime/numbers/simd.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

constexpr int64_t kSize = Pack::kSize;

void StoreUpTo(Pack v, float* p, int64_t count) {
  if (count >= kSize)
    v.Store(p);
  else
    v.StoreFirst(p, static_cast<int>(count));
}

constexpr int kTileRows = 4;

// The rows of one example, or those of their gradients.
template <typename T>
struct Rows {
  T *dense, *sparse;
  int64_t dim;
  T* operator[](int64_t i) const { return i == 0 ? dense : sparse + (i - 1) * dim; }
};

// zt[d, j … j + 3] for each d, from four rows.
void TransposeFourRows(const Rows<const float>& z, int64_t j, int64_t padded, float* zt) {
  using Four = float __attribute__((vector_size(16)));
  using Unaligned = float __attribute__((vector_size(16), aligned(4), may_alias));
  const auto load = [&](int64_t row, int64_t d) {
    return Four(*reinterpret_cast<const Unaligned*>(z[row] + d));
  };
  int64_t d = 0;
  for (; d + 4 <= z.dim; d += 4) {
    const Four a = load(j, d), b = load(j + 1, d), c = load(j + 2, d), e = load(j + 3, d);
    const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
               ce_low = __builtin_shufflevector(c, e, 0, 4, 1, 5),
               ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7),
               ce_high = __builtin_shufflevector(c, e, 2, 6, 3, 7);
    const Four columns[] = {__builtin_shufflevector(ab_low, ce_low, 0, 1, 4, 5),
                            __builtin_shufflevector(ab_low, ce_low, 2, 3, 6, 7),
                            __builtin_shufflevector(ab_high, ce_high, 0, 1, 4, 5),
                            __builtin_shufflevector(ab_high, ce_high, 2, 3, 6, 7)};
    for (int64_t k = 0; k < 4; ++k)
      *reinterpret_cast<Unaligned*>(zt + (d + k) * padded + j) = columns[k];
  }
  for (; d < z.dim; ++d)
    for (int64_t row = j; row < j + 4; ++row) zt[d * padded + row] = z[row][d];
}

// zt[d, j] = z_j[d], 0 for j >= n.
void Transpose(const Rows<const float>& z, int64_t n, float* zt) {
  const int64_t padded = InteractionPadding(n);
  int64_t j = 0;
  for (; j + 4 <= n; j += 4) TransposeFourRows(z, j, padded, zt);
  for (; j < n; ++j)
    for (int64_t d = 0; d < z.dim; ++d) zt[d * padded + j] = z[j][d];
  for (int64_t d = 0; d < z.dim; ++d)
    for (j = n; j < padded; ++j) zt[d * padded + j] = 0;
}

// The sparse row of the next example. It is asked for while this one's products are made: with rows
// of dim 64 and 128, which the lookup wrote long before, forward takes 0.8 of the time (Zen 4).
// (Backward, which also writes as much, takes as long.)
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

// Where row i of the pairs begins: z_i·z_j for j = i + 1 … n − 1.
int64_t FirstPair(int64_t i, int64_t n) { return i * (2 * n - i - 1) / 2; }

// Products of kRows rows from i on with kPacks registers of columns from j > i on. Those of row r
// with columns up to r itself are no pairs and land in the end of row r − 1, which is stored after
// row r.
template <int kRows, int kPacks>
void ProductsOfTile(const Rows<const float>& z, int64_t i, int64_t j, int64_t n, const float* zt,
                    float* pairs) {
  const int64_t padded = InteractionPadding(n);
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
      for (int p = 0; p < kPacks; ++p) sums[r][p] = sums[r][p] + Pack(rows[r][d]) * columns[p];
  }
  for (int r = kRows - 1; r >= 0; --r)
    for (int64_t p = 0, column = j; p < kPacks; ++p, column += kSize)
      StoreUpTo(sums[r][p], pairs + FirstPair(i + r, n) + column - (i + r) - 1, n - column);
}

template <int kRows>
void ProductsOfRows(const Rows<const float>& z, int64_t i, int64_t n, const float* zt,
                    float* pairs) {
  int64_t j = i + 1;
  for (; j + kSize < n; j += 2 * kSize) ProductsOfTile<kRows, 2>(z, i, j, n, zt, pairs);
  if (j < n) ProductsOfTile<kRows, 1>(z, i, j, n, zt, pairs);
}

void Forward(const InteractionArgs& a) {
  const int64_t n = a.features + 1, width = a.dim + n * (n - 1) / 2;
  for (int64_t b = 0; b < a.rows; ++b) {
    const Rows<const float> z{a.dense + b * a.dense_stride, a.sparse + b * a.sparse_stride, a.dim};
    float* y = a.y + b * width;
    for (int64_t d = 0; d < a.dim; ++d) y[d] = z.dense[d];
    Transpose(z, n, a.scratch);
    NextExample next(z.sparse + a.sparse_stride, b + 1 < a.rows ? a.features * a.dim : 0,
                     n / kTileRows + 1);
    int64_t i = 0;
    for (; i + kTileRows < n; i += kTileRows) {
      next.AskForSome();
      ProductsOfRows<kTileRows>(z, i, n, a.scratch, y + a.dim);
    }
    for (; i + 1 < n; ++i) ProductsOfRows<1>(z, i, n, a.scratch, y + a.dim);
  }
}

// The symmetric matrix of the pairs' gradients, with a diagonal of 0.
void Unfold(const float* pairs, int64_t n, float* g) {
  for (int64_t i = 0; i < n; ++i) {
    g[i * n + i] = 0;
    for (int64_t j = i + 1; j < n; ++j, ++pairs) g[i * n + j] = g[j * n + i] = *pairs;
  }
}

// Columns from d on, kPacks registers of them, or the `part` < kSize columns that are left, of dz_i
// for kRows rows from i on: Σ_j g_ij·z_j. dz_0 begins with `add`.
template <int kRows, int kPacks, bool kPart = false>
void GradientsOfTile(const Rows<const float>& z, int64_t i, int64_t d, int64_t n, const float* g,
                     const float* add, const Rows<float>& dz, int part = 0) {
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
      for (int p = 0; p < kPacks; ++p) sums[r][p] = sums[r][p] + Pack(g[r * n + j]) * columns[p];
  };
  add_row(0, z.dense + d);
  for (int64_t j = 1; j < n; ++j) add_row(j, z.sparse + (j - 1) * z.dim + d);
  for (int r = 0; r < kRows; ++r)
    for (int p = 0; p < kPacks; ++p) {
      float* out = dz[i + r] + d + p * kSize;
      kPart ? sums[r][p].StoreFirst(out, part) : sums[r][p].Store(out);
    }
}

template <int kRows>
void GradientsOfRows(const Rows<const float>& z, int64_t i, int64_t n, const float* g,
                     const float* add, const Rows<float>& dz) {
  int64_t d = 0;
  for (; d + 2 * kSize <= z.dim; d += 2 * kSize) GradientsOfTile<kRows, 2>(z, i, d, n, g, add, dz);
  for (; d + kSize <= z.dim; d += kSize) GradientsOfTile<kRows, 1>(z, i, d, n, g, add, dz);
  if (d < z.dim)
    GradientsOfTile<kRows, 1, true>(z, i, d, n, g, add, dz, static_cast<int>(z.dim - d));
}

void Backward(const InteractionGradArgs& a) {
  const int64_t n = a.features + 1, width = a.dim + n * (n - 1) / 2;
  for (int64_t b = 0; b < a.rows; ++b) {
    const Rows<const float> z{a.dense + b * a.dense_stride, a.sparse + b * a.sparse_stride, a.dim};
    const Rows<float> dz{a.ddense + b * a.dim, a.dsparse + b * a.features * a.dim, a.dim};
    const float* dy = a.dy + b * width;
    Unfold(dy + a.dim, n, a.scratch);
    int64_t i = 0;
    for (; i + kTileRows <= n; i += kTileRows)
      GradientsOfRows<kTileRows>(z, i, n, a.scratch, dy, dz);
    for (; i < n; ++i) GradientsOfRows<1>(z, i, n, a.scratch, dy, dz);
  }
}

}  // namespace

const InteractionKernels kInteraction = {Forward, Backward};

}  // namespace tessera::internal::TESSERA_ISA
