#include "bench/embedding/bare_loops.h"

#include <cmath>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace tessera::bench {
namespace {

typedef float V16 __attribute__((vector_size(64), aligned(4), may_alias));

void Put(float* p, V16 v) {
#if defined(__AVX512F__)
  _mm512_stream_ps(p, (__m512)v);
#else
  *reinterpret_cast<V16*>(p) = v;
#endif
}

template <int write, int locality>
void PrefetchRow(const float* row, int64_t dim) {
  for (int64_t d = 0; d < dim; d += 16) __builtin_prefetch(row + d, write, locality);
}

template <int kVectors>
void Gather(const BareGather& a, int64_t part, int64_t parts) {
  constexpr int64_t kAhead = 64;
  const int64_t items = a.num_tables * a.batch, begin = items * part / parts,
                end = items * (part + 1) / parts;
  const int64_t last = a.offsets[items] - 1, dim = kVectors * 16;
  for (int64_t item = begin; item < end; ++item) {
    const float* table = a.tables[item / a.batch];
    V16 sum[kVectors] = {};
    for (int64_t i = a.offsets[item]; i < a.offsets[item + 1]; ++i) {
      PrefetchRow<0, 2>(table + a.ids[i + kAhead < last ? i + kAhead : last] * dim, dim);
      const float* row = table + a.ids[i] * dim;
      for (int v = 0; v < kVectors; ++v) sum[v] += *reinterpret_cast<const V16*>(row + 16 * v);
    }
    float* out = a.out + (item % a.batch * a.num_tables + item / a.batch) * dim;
    for (int v = 0; v < kVectors; ++v) Put(out + 16 * v, sum[v]);
  }
}

V16 Root(V16 v) {
#if defined(__AVX512F__)
  return (V16)_mm512_maskz_sqrt_ps(0xffff, (__m512)v);  // GCC 12 warns of the plain one
#else
  for (int l = 0; l < 16; ++l) v[l] = std::sqrt(v[l]);
  return v;
#endif
}

enum class Traffic { kNoState, kRowState, kOneElement, kTwoElements };

template <int kVectors>
void StepByRow(V16* row, const V16* g, float& state) {
  V16 squares = {};
  for (int v = 0; v < kVectors; ++v) squares += g[v] * g[v];
  float sum = 0;
  for (int l = 0; l < 16; ++l) sum += squares[l];
  state += sum / (kVectors * 16);
  const float step = 1e-3f / (std::sqrt(state) + 1e-8f);
  for (int v = 0; v < kVectors; ++v) row[v] -= step * g[v];
}

void StepByOne(V16& w, V16 g, V16& m) {
  m += g * g;
  w -= 1e-3f * g / (Root(m) + 1e-8f);
}
void StepByTwo(V16& w, V16 g, V16& m, V16& v) {
  m = 0.9f * m + 0.1f * g;
  v = 0.999f * v + 0.001f * g * g;
  w -= 1e-3f * m / (Root(v) + 1e-8f);
}

template <int kVectors, Traffic traffic>
void UpdateRowsOf(const BareUpdate& a, int64_t t, int64_t begin, int64_t end) {
  constexpr int64_t kDim = kVectors * 16;
  constexpr int kElements = traffic == Traffic::kTwoElements  ? 2
                            : traffic == Traffic::kOneElement ? 1
                                                              : 0;
  for (int64_t u = begin; u < end; ++u) {
    const int64_t ahead = a.unique[u + a.ahead < end ? u + a.ahead : end - 1];
    PrefetchRow<1, 3>(a.tables[t] + ahead * kDim, kDim);
    for (int s = 0; s < kElements; ++s)
      PrefetchRow<1, 3>(a.element_states[s][t] + ahead * kDim, kDim);
    if (traffic == Traffic::kRowState) __builtin_prefetch(a.row_states[t] + ahead, 1, 3);
    V16 g[kVectors] = {};
    for (int64_t o = a.occurrence_start[u]; o < a.occurrence_start[u + 1]; ++o) {
      const float* row = a.grad + a.grad_rows[o] * kDim;
      for (int v = 0; v < kVectors; ++v) g[v] += *reinterpret_cast<const V16*>(row + 16 * v);
    }
    const int64_t at = a.unique[u] * kDim;
    V16* row = reinterpret_cast<V16*>(a.tables[t] + at);
    V16* states[2] = {};
    for (int s = 0; s < kElements; ++s)
      states[s] = reinterpret_cast<V16*>(a.element_states[s][t] + at);
    if (traffic == Traffic::kRowState) StepByRow<kVectors>(row, g, a.row_states[t][a.unique[u]]);
    for (int v = 0; v < kVectors && traffic != Traffic::kRowState; ++v) {
      if (kElements == 0) row[v] -= 1e-3f * g[v];
      if (kElements == 1) StepByOne(row[v], g[v], states[0][v]);
      if (kElements == 2) StepByTwo(row[v], g[v], states[0][v], states[1][v]);
    }
  }
}

template <int kVectors, Traffic traffic>
void UpdatePart(const BareUpdate& a, int64_t part, int64_t parts) {
  for (int64_t t = 0; t < a.num_tables; ++t) {
    const int64_t first = a.table_start[t], n = a.table_start[t + 1] - first;
    UpdateRowsOf<kVectors, traffic>(a, t, first + n * part / parts, first + n * (part + 1) / parts);
  }
}

template <int kVectors>
void Update(const BareUpdate& a, int64_t part, int64_t parts) {
  if (a.num_element_states == 2)
    UpdatePart<kVectors, Traffic::kTwoElements>(a, part, parts);
  else if (a.num_element_states == 1)
    UpdatePart<kVectors, Traffic::kOneElement>(a, part, parts);
  else if (a.row_states != nullptr)
    UpdatePart<kVectors, Traffic::kRowState>(a, part, parts);
  else
    UpdatePart<kVectors, Traffic::kNoState>(a, part, parts);
}

}  // namespace

void BareGather::Run(int64_t part, int64_t parts) const {
  switch (dim) {
    case 16:
      return Gather<1>(*this, part, parts);
    case 32:
      return Gather<2>(*this, part, parts);
    case 64:
      return Gather<4>(*this, part, parts);
    case 128:
      return Gather<8>(*this, part, parts);
    case 256:
      return Gather<16>(*this, part, parts);
  }
  __builtin_trap();
}

void BareUpdate::Run(int64_t part, int64_t parts) const {
  switch (dim) {
    case 16:
      return Update<1>(*this, part, parts);
    case 32:
      return Update<2>(*this, part, parts);
    case 64:
      return Update<4>(*this, part, parts);
    case 128:
      return Update<8>(*this, part, parts);
    case 256:
      return Update<16>(*this, part, parts);
  }
  __builtin_trap();
}

}  // namespace tessera::bench
