#include "bench/embedding/bare_loops.h"

#include <cmath>

#include "runtime/numbers/simd.h"

namespace tessera::bench {
namespace {

using internal::native::Pack;

// Always inlined: GCC takes calls of a function that only prefetches for calls without effect.
template <int write, int locality>
[[gnu::always_inline]] inline void PrefetchRow(const float* row, int64_t dim) {
  for (int64_t d = 0; d < dim; d += 16) __builtin_prefetch(row + d, write, locality);
}

// Sums that stay in registers, of which AVX2 has 16: more columns are added up in several passes
// over a bag, whose rows are in the second-level cache then.
constexpr int kMaxSums = Pack::kSize >= 16 ? 16 : 8;

template <int kVectors>
void Gather(const BareGather& a, int64_t part, int64_t parts) {
  constexpr int64_t kAhead = 64;
  constexpr int kSums = kVectors < kMaxSums ? kVectors : kMaxSums;
  const int64_t items = a.num_tables * a.batch, begin = items * part / parts,
                end = items * (part + 1) / parts;
  const int64_t last = a.offsets[items] - 1, dim = kVectors * Pack::kSize;
  for (int64_t item = begin; item < end; ++item) {
    const float* table = a.tables[item / a.batch];
    float* out = a.out + (item % a.batch * a.num_tables + item / a.batch) * dim;
    for (int done = 0; done < kVectors; done += kSums) {
      Pack sum[kSums];
      for (Pack& s : sum) s = Pack(0.0f);
      for (int64_t i = a.offsets[item]; i < a.offsets[item + 1]; ++i) {
        if (done == 0)
          PrefetchRow<0, 2>(table + a.ids[i + kAhead < last ? i + kAhead : last] * dim, dim);
        const float* row = table + a.ids[i] * dim + Pack::kSize * done;
        for (int v = 0; v < kSums; ++v) sum[v] = sum[v] + Pack::Load(row + Pack::kSize * v);
      }
      for (int v = 0; v < kSums; ++v) sum[v].Stream(out + Pack::kSize * (done + v));
    }
  }
}

enum class Traffic { kNoState, kRowState, kOneElement, kTwoElements };

template <int kVectors>
void StepByRow(float* row, const Pack* g, float& state) {
  Pack squares(0.0f);
  for (int v = 0; v < kVectors; ++v) squares = squares + g[v] * g[v];
  state += squares.Fold() / (kVectors * Pack::kSize);
  const Pack step(1e-3f / (std::sqrt(state) + 1e-8f));
  for (int v = 0; v < kVectors; ++v, row += Pack::kSize) (Pack::Load(row) - step * g[v]).Store(row);
}

Pack StepByOne(Pack w, Pack g, float* state) {
  const Pack m = Pack::Load(state) + g * g;
  m.Store(state);
  return w - Pack(1e-3f) * g / (Sqrt(m) + Pack(1e-8f));
}
Pack StepByTwo(Pack w, Pack g, float* first, float* second) {
  const Pack m = Pack(0.9f) * Pack::Load(first) + Pack(0.1f) * g;
  const Pack v = Pack(0.999f) * Pack::Load(second) + Pack(0.001f) * g * g;
  m.Store(first);
  v.Store(second);
  return w - Pack(1e-3f) * m / (Sqrt(v) + Pack(1e-8f));
}

template <int kVectors, Traffic traffic>
void UpdateRowsOf(const BareUpdate& a, int64_t t, int64_t begin, int64_t end) {
  constexpr int64_t kDim = kVectors * Pack::kSize;
  constexpr int kElements = traffic == Traffic::kTwoElements  ? 2
                            : traffic == Traffic::kOneElement ? 1
                                                              : 0;
  for (int64_t u = begin; u < end; ++u) {
    const int64_t ahead = a.unique[u + a.ahead < end ? u + a.ahead : end - 1];
    PrefetchRow<1, 3>(a.tables[t] + ahead * kDim, kDim);
    for (int s = 0; s < kElements; ++s)
      PrefetchRow<1, 3>(a.element_states[s][t] + ahead * kDim, kDim);
    if (traffic == Traffic::kRowState) __builtin_prefetch(a.row_states[t] + ahead, 1, 3);
    Pack g[kVectors];
    for (Pack& sum : g) sum = Pack(0.0f);
    for (int64_t o = a.occurrence_start[u]; o < a.occurrence_start[u + 1]; ++o) {
      const float* row = a.grad + a.grad_rows[o] * kDim;
      for (int v = 0; v < kVectors; ++v) g[v] = g[v] + Pack::Load(row + Pack::kSize * v);
    }
    const int64_t at = a.unique[u] * kDim;
    float* row = a.tables[t] + at;
    float* states[2] = {};
    for (int s = 0; s < kElements; ++s) states[s] = a.element_states[s][t] + at;
    if (traffic == Traffic::kRowState) StepByRow<kVectors>(row, g, a.row_states[t][a.unique[u]]);
    for (int v = 0; v < kVectors && traffic != Traffic::kRowState; ++v) {
      const int64_t d = Pack::kSize * v;
      Pack w = Pack::Load(row + d);
      if (kElements == 0) w = w - Pack(1e-3f) * g[v];
      if (kElements == 1) w = StepByOne(w, g[v], states[0] + d);
      if (kElements == 2) w = StepByTwo(w, g[v], states[0] + d, states[1] + d);
      w.Store(row + d);
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
      return Gather<16 / Pack::kSize>(*this, part, parts);
    case 32:
      return Gather<32 / Pack::kSize>(*this, part, parts);
    case 64:
      return Gather<64 / Pack::kSize>(*this, part, parts);
    case 128:
      return Gather<128 / Pack::kSize>(*this, part, parts);
    case 256:
      return Gather<256 / Pack::kSize>(*this, part, parts);
  }
  __builtin_trap();
}

void BareUpdate::Run(int64_t part, int64_t parts) const {
  switch (dim) {
    case 16:
      return Update<16 / Pack::kSize>(*this, part, parts);
    case 32:
      return Update<32 / Pack::kSize>(*this, part, parts);
    case 64:
      return Update<64 / Pack::kSize>(*this, part, parts);
    case 128:
      return Update<128 / Pack::kSize>(*this, part, parts);
    case 256:
      return Update<256 / Pack::kSize>(*this, part, parts);
  }
  __builtin_trap();
}

}  // namespace tessera::bench
