// Dot interaction, one example at a time. Forward transposes z once, so that a register holds the
// products of one row with many others and no sum runs across a register: 27 rows of 16 take 0.4 us
// with AVX-512 (Zen 5).
#include "runtime/simd.h"
#include "train/nn/interaction_kernels.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

constexpr int64_t kSize = Pack::kSize;

Pack LoadUpTo(const float* p, int64_t count) {
  return count >= kSize ? Pack::Load(p) : Pack::LoadFirst(p, static_cast<int>(count));
}
void StoreUpTo(Pack v, float* p, int64_t count) {
  if (count >= kSize)
    v.Store(p);
  else
    v.StoreFirst(p, static_cast<int>(count));
}

// The rows of one example.
struct Rows {
  const float *dense, *sparse;
  int64_t dim;
  const float* operator[](int64_t i) const { return i == 0 ? dense : sparse + (i - 1) * dim; }
};

// zt[d, j] = z_j[d], 0 for j >= n.
void Transpose(const Rows& z, int64_t n, float* zt) {
  const int64_t padded = InteractionPadding(n);
  for (int64_t j = 0; j < n; ++j) {
    const float* row = z[j];
    for (int64_t d = 0; d < z.dim; ++d) zt[d * padded + j] = row[d];
  }
  for (int64_t d = 0; d < z.dim; ++d)
    for (int64_t j = n; j < padded; ++j) zt[d * padded + j] = 0;
}

// y[j − i − 1] = z_i·z_j for j > i.
void ProductsOfRow(const Rows& z, int64_t i, int64_t n, const float* zt, float* y) {
  const int64_t padded = InteractionPadding(n);
  const float* row = z[i];
  for (int64_t j = i + 1; j < n; j += kSize) {
    Pack sum(0.0f);
    for (int64_t d = 0; d < z.dim; ++d) sum = sum + Pack(row[d]) * Pack::Load(zt + d * padded + j);
    StoreUpTo(sum, y + (j - i - 1), n - j);
  }
}

void Forward(const InteractionArgs& a) {
  const int64_t n = a.features + 1, width = a.dim + n * (n - 1) / 2;
  for (int64_t b = 0; b < a.rows; ++b) {
    const Rows z{a.dense + b * a.dense_stride, a.sparse + b * a.sparse_stride, a.dim};
    float* y = a.y + b * width;
    for (int64_t d = 0; d < a.dim; ++d) y[d] = z.dense[d];
    Transpose(z, n, a.scratch);
    y += a.dim;
    for (int64_t i = 0; i + 1 < n; y += n - 1 - i, ++i) ProductsOfRow(z, i, n, a.scratch, y);
  }
}

// The symmetric matrix of the pairs' gradients; its diagonal is not set.
void Unfold(const float* pairs, int64_t n, float* g) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j, ++pairs) g[i * n + j] = g[j * n + i] = *pairs;
}

// out = Σ_{j≠i} g[j]·z_j, plus `add` where it isn't null.
void GradientOfRow(const Rows& z, int64_t i, int64_t n, const float* g, const float* add,
                   float* out) {
  for (int64_t d = 0; d < z.dim; d += kSize) {
    const int64_t count = z.dim - d;
    Pack sum = add == nullptr ? Pack(0.0f) : LoadUpTo(add + d, count);
    for (int64_t j = 0; j < i; ++j) sum = sum + Pack(g[j]) * LoadUpTo(z[j] + d, count);
    for (int64_t j = i + 1; j < n; ++j) sum = sum + Pack(g[j]) * LoadUpTo(z[j] + d, count);
    StoreUpTo(sum, out + d, count);
  }
}

void Backward(const InteractionGradArgs& a) {
  const int64_t n = a.features + 1, width = a.dim + n * (n - 1) / 2;
  for (int64_t b = 0; b < a.rows; ++b) {
    const Rows z{a.dense + b * a.dense_stride, a.sparse + b * a.sparse_stride, a.dim};
    const float* dy = a.dy + b * width;
    Unfold(dy + a.dim, n, a.scratch);
    GradientOfRow(z, 0, n, a.scratch, dy, a.ddense + b * a.dim);
    for (int64_t i = 1; i < n; ++i)
      GradientOfRow(z, i, n, a.scratch + i * n, nullptr,
                    a.dsparse + (b * a.features + i - 1) * a.dim);
  }
}

}  // namespace

const InteractionKernels kInteraction = {Forward, Backward};

}  // namespace tessera::internal::TESSERA_ISA
