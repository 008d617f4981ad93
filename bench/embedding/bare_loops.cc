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

template <int kVectors>
void Adagrad(const BareRowwiseAdagrad& a, int64_t part, int64_t parts) {
  const int64_t dim = kVectors * 16;
  for (int64_t t = 0; t < a.num_tables; ++t) {
    float *weights = a.tables[t], *states = a.states[t];
    const int64_t n = a.table_start[t + 1] - a.table_start[t];
    const int64_t begin = a.table_start[t] + n * part / parts,
                  end = a.table_start[t] + n * (part + 1) / parts;
    for (int64_t u = begin; u < end; ++u) {
      const int64_t ahead = a.unique[u + a.ahead < end ? u + a.ahead : end - 1];
      PrefetchRow<1, 3>(weights + ahead * dim, dim);
      __builtin_prefetch(states + ahead, 1, 3);
      V16 g[kVectors] = {};
      for (int64_t o = a.occurrence_start[u]; o < a.occurrence_start[u + 1]; ++o) {
        const float* row = a.grad + a.grad_rows[o] * dim;
        for (int v = 0; v < kVectors; ++v) g[v] += *reinterpret_cast<const V16*>(row + 16 * v);
      }
      V16 squares = {};
      for (int v = 0; v < kVectors; ++v) squares += g[v] * g[v];
      float sum = 0;
      for (int l = 0; l < 16; ++l) sum += squares[l];
      const float state = states[a.unique[u]] += sum / static_cast<float>(dim);
      const float step = 1e-3f / (std::sqrt(state) + 1e-8f);
      float* row = weights + a.unique[u] * dim;
      for (int v = 0; v < kVectors; ++v) *reinterpret_cast<V16*>(row + 16 * v) -= step * g[v];
    }
  }
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

void BareRowwiseAdagrad::Run(int64_t part, int64_t parts) const {
  switch (dim) {
    case 16:
      return Adagrad<1>(*this, part, parts);
    case 32:
      return Adagrad<2>(*this, part, parts);
    case 64:
      return Adagrad<4>(*this, part, parts);
    case 128:
      return Adagrad<8>(*this, part, parts);
    case 256:
      return Adagrad<16>(*this, part, parts);
  }
  __builtin_trap();
}

}  // namespace tessera::bench
