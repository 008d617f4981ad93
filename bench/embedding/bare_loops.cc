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

// Calls fn.operator()<packs of a row>().
template <typename Fn>
void VisitDim(int64_t dim, const Fn& fn) {
  switch (dim) {
    case 16:
      return fn.template operator()<16 / Pack::kSize>();
    case 32:
      return fn.template operator()<32 / Pack::kSize>();
    case 64:
      return fn.template operator()<64 / Pack::kSize>();
    case 128:
      return fn.template operator()<128 / Pack::kSize>();
    case 256:
      return fn.template operator()<256 / Pack::kSize>();
  }
  __builtin_trap();
}

// Bags [begin, end) of table t.
template <int kVectors>
void Gather(const BareGather& a, int64_t t, int64_t begin, int64_t end) {
  constexpr int64_t kAhead = 64;
  constexpr int kSums = kVectors < kMaxSums ? kVectors : kMaxSums;
  const int64_t first = t * a.batch, last = a.offsets[first + a.batch] - 1;
  const int64_t dim = kVectors * Pack::kSize;
  const float* table = static_cast<const float*>(a.tables[t].rows);
  for (int64_t item = first + begin; item < first + end; ++item) {
    float* out = static_cast<float*>(a.tables[t].pooled) + (item - first) * a.tables[t].stride;
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
  float* const table = static_cast<float*>(a.tables[t].rows);
  const float* const grad = static_cast<const float*>(a.tables[t].pooled);
  for (int64_t u = begin; u < end; ++u) {
    const int64_t ahead = a.unique[u + a.ahead < end ? u + a.ahead : end - 1];
    PrefetchRow<1, 3>(table + ahead * kDim, kDim);
    for (int s = 0; s < kElements; ++s)
      PrefetchRow<1, 3>(a.element_states[s][t] + ahead * kDim, kDim);
    if (traffic == Traffic::kRowState) __builtin_prefetch(a.row_states[t] + ahead, 1, 3);
    Pack g[kVectors];
    for (Pack& sum : g) sum = Pack(0.0f);
    for (int64_t o = a.occurrence_start[u]; o < a.occurrence_start[u + 1]; ++o) {
      const float* row = grad + a.grad_rows[o] * a.tables[t].stride;
      for (int v = 0; v < kVectors; ++v) g[v] = g[v] + Pack::Load(row + Pack::kSize * v);
    }
    const int64_t at = a.unique[u] * kDim;
    float* row = table + at;
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

template <int kVectors>
void UpdateTablePart(const BareUpdate& a, int64_t t, int64_t begin, int64_t end) {
  if (a.num_element_states == 2)
    UpdateRowsOf<kVectors, Traffic::kTwoElements>(a, t, begin, end);
  else if (a.num_element_states == 1)
    UpdateRowsOf<kVectors, Traffic::kOneElement>(a, t, begin, end);
  else if (a.row_states != nullptr)
    UpdateRowsOf<kVectors, Traffic::kRowState>(a, t, begin, end);
  else
    UpdateRowsOf<kVectors, Traffic::kNoState>(a, t, begin, end);
}

}  // namespace

void BareGather::Run(int64_t part, int64_t parts) const {
  ForEachTablePart(
      tables, num_tables, batch, offsets, part, parts, [&](int64_t t, int64_t begin, int64_t end) {
        VisitDim(tables[t].dim, [&]<int kVectors>() { Gather<kVectors>(*this, t, begin, end); });
      });
}

void BareUpdate::Run(int64_t part, int64_t parts) const {
  for (int64_t t = 0; t < num_tables; ++t) {
    const int64_t first = table_start[t], n = table_start[t + 1] - first;
    VisitDim(tables[t].dim, [&]<int kVectors>() {
      UpdateTablePart<kVectors>(*this, t, first + n * part / parts, first + n * (part + 1) / parts);
    });
  }
}

}  // namespace tessera::bench
