#ifndef TESSERA_EMBEDDING_UPDATE_UPDATE_EXECUTOR_H_
#define TESSERA_EMBEDDING_UPDATE_UPDATE_EXECUTOR_H_
// The loop that applies a rule to rows, over the Pack of this file's instruction set: written once
// for all rules. For update_simd.cc (compiled once for each instruction set and rule) and
// embedding/custom_rule.h (a user's own rule).
//
// Rows of f32 are changed where they lie; rows or states of 16 bits are widened into a buffer of
// floats first, and rounded back after.
#include <memory>

#include "embedding/update/row_update.h"
#include "embedding/update/run_reader.h"
#include "runtime/numbers/lanes.h"
#include "runtime/numbers/simd.h"

namespace tessera::internal::TESSERA_ISA {

// ---- loops over a row

// Calls fn(offset, size) for each pack of a row from column d on; the last may be partial.
template <typename Fn>
inline __attribute__((always_inline)) void ForEachPackFrom(int64_t d, int64_t dim, Fn&& fn) {
  for (; d + Pack::kSize <= dim; d += Pack::kSize) fn(d, Pack::kSize);
  if (d < dim) fn(d, static_cast<int>(dim - d));
}
template <typename Fn>
inline __attribute__((always_inline)) void ForEachPack(int64_t dim, Fn&& fn) {
  ForEachPackFrom(0, dim, fn);
}
template <typename T>
inline Pack LoadPart(const T* p, int n) {
  return n == Pack::kSize ? Pack::Load(p) : Pack::LoadFirst(p, n);
}
template <typename T>
inline void StorePart(Pack v, T* p, int n) {
  n == Pack::kSize ? v.Store(p) : v.StoreFirst(p, n);
}

// sums[k] = Σ_d of terms[k] in lane order, where fn(d, n, terms) gives the terms of the n columns
// from d on.
template <int kTerms, typename Fn>
inline __attribute__((always_inline)) void SumOverRow(int64_t dim, Fn&& fn, float* sums) {
  constexpr int kPacks = kLanes / Pack::kSize;
  Pack sum[kTerms][kPacks];
  for (auto& packs : sum)
    for (Pack& s : packs) s = Pack(0.0f);
  const auto add = [&](int64_t d, int pack, int n) __attribute__((always_inline)) {
    Pack terms[kTerms];
    fn(d, n, terms);
    for (int k = 0; k < kTerms; ++k) {
      if (n < Pack::kSize) {  // what is past the row's end may be 0/0
        float all[Pack::kSize];
        terms[k].Store(all);
        terms[k] = Pack::LoadFirst(all, n);
      }
      sum[k][pack] = sum[k][pack] + terms[k];
    }
  };
  int64_t d = 0;
  for (; d + kLanes <= dim; d += kLanes)
    for (int p = 0; p < kPacks; ++p) add(d + p * Pack::kSize, p, Pack::kSize);
  for (int p = 0; p < kPacks && d < dim; ++p, d += Pack::kSize)
    add(d, p, dim - d < Pack::kSize ? static_cast<int>(dim - d) : Pack::kSize);
  for (int k = 0; k < kTerms; ++k) {
    for (int half = kPacks / 2; half > 0; half /= 2)
      for (int p = 0; p < half; ++p) sum[k][p] = sum[k][p] + sum[k][p + half];
    sums[k] = sum[k][0].Fold();
  }
}

// ---- elements of any type

// Calls fn.operator()<T>() with the C++ type of rows or states.
template <typename Fn>
inline void VisitElements(DType type, Fn&& fn) {
  if (type == DType::kF16)
    fn.template operator()<Half>();
  else if (type == DType::kBF16)
    fn.template operator()<BFloat16>();
  else
    fn.template operator()<float>();
}

inline void WidenRow(const void* data, DType type, int64_t first, int64_t dim, float* to) {
  VisitElements(type, [&]<typename T>() {
    const T* from = static_cast<const T*>(data) + first;
    ForEachPack(dim, [&](int64_t d, int n) { StorePart(LoadPart(from + d, n), to + d, n); });
  });
}
inline void NarrowRow(const float* from, int64_t dim, void* data, DType type, int64_t first) {
  VisitElements(type, [&]<typename T>() {
    T* to = static_cast<T*>(data) + first;
    ForEachPack(dim, [&](int64_t d, int n) { StorePart(LoadPart(from + d, n), to + d, n); });
  });
}

// The weights of one row, rounded by chance.
inline void RoundRowByChance(const ExecutorTable& table, int64_t row, const float* from) {
  const RowRounding& rounding = table.rounding;
  const int64_t number =
      rounding.first_row + (rounding.row_ids != nullptr ? rounding.row_ids[row] : row);
  VisitElements(table.row_type, [&]<typename T>() {
    if constexpr (sizeof(T) == 2) {
      T* to = static_cast<T*>(table.weights) + row * table.dim;
      PhiloxBits bits = {};
      for (int64_t d = 0; d < table.dim; ++d) {
        const int64_t column = rounding.first_column + d;
        if (d == 0 || column % 8 == 0)
          bits = RoundingBits(rounding.seed, table.step, number, column);
        to[d] = RoundedByChance(T{}, from[d], RoundingBitsOf(bits, column));
      }
    }
  });
}

inline void StoreWeights(const ExecutorTable& table, int64_t row, const float* from) {
  if (table.rounding.stochastic && table.row_type != DType::kF32)
    RoundRowByChance(table, row, from);
  else
    NarrowRow(from, table.dim, table.weights, table.row_type, row * table.dim);
}

inline float LoadState(const StateArray& state, int64_t i) {
  float value = 0;
  VisitElements(state.type, [&]<typename T>() {
    value = static_cast<float>(static_cast<const T*>(state.data)[i]);
  });
  return value;
}
inline void StoreState(const StateArray& state, int64_t i, float value) {
  VisitElements(state.type,
                [&]<typename T>() { static_cast<T*>(state.data)[i] = static_cast<T>(value); });
}

// ---- one row

// Columns of a cache line.
constexpr int kLine = 64 / sizeof(float);

// A row as floats: where it lies, or in a buffer.
struct FloatRow {
  float* w;
  float* states[kMaxElementStates];
};
template <typename Step>
inline __attribute__((always_inline)) FloatRow RowInPlace(const ExecutorTable& table, int64_t dim,
                                                          int64_t row) {
  FloatRow at = {static_cast<float*>(table.weights) + row * dim, {}};
  for (int s = 0; s < Step::kElementStates; ++s)
    at.states[s] = static_cast<float*>(table.element_states[s].data) + row * dim;
  return at;
}

// A row that is prefetched while another one is updated, a line for each line of that one, so that
// memory has work all the time: prefetched at once, rows of dim 128 take 4 % (SGD) to 9 % (row-wise
// Adagrad) longer.
template <typename Step>
struct AheadRow {
  FloatRow at;
  const char* gradient;
  int64_t gradient_bytes;  // of a column

  // The lines at column d.
  __attribute__((always_inline)) void Ask(int64_t d) const {
    PrefetchLine<PrefetchFor::kWrite>(reinterpret_cast<const char*>(at.w + d));
    PrefetchLine<PrefetchFor::kRead>(gradient + d * gradient_bytes);
    for (int s = 0; s < Step::kElementStates; ++s)
      PrefetchLine<PrefetchFor::kWrite>(reinterpret_cast<const char*>(at.states[s] + d));
  }
};

// Columns of a summed gradient. From +0 on, as sums are: no −0, whichever way it was summed.
inline Pack LoadGradient(const ScaledGradient& gradient, int64_t d, int n) {
  return Pack(gradient.scale) *
         (Pack(0.0f) + Pack(gradient.coefficient) * LoadPart(gradient.data + d, n));
}

template <typename Step>
inline void LoadElementStates(const FloatRow& at, int64_t d, int n, Pack* state) {
  for (int s = 0; s < Step::kElementStates; ++s) state[s] = LoadPart(at.states[s] + d, n);
}

// A row's values that a rule computes before it looks at the row's elements.
template <typename Step>
struct BegunRow {
  float sums[kMaxStatistics];
  typename Step::Row row;
};

template <typename Step>
inline __attribute__((always_inline)) void TakeStatistics(const Step& step, int64_t dim,
                                                          const float* w,
                                                          const ScaledGradient& gradient,
                                                          BegunRow<Step>& begun) {
  if constexpr (Step::kStatistics > 0)
    SumOverRow<Step::kStatistics>(
        dim,
        [&](int64_t d, int n, Pack* terms) {
          step.Statistics(RowElement<Pack>{LoadPart(w + d, n), LoadGradient(gradient, d, n)},
                          terms);
        },
        begun.sums);
}

template <typename Step>
inline __attribute__((always_inline)) void BeginRow(const Step& step, const ExecutorTable& table,
                                                    int64_t dim, int64_t row,
                                                    BegunRow<Step>& begun) {
  float state[kMaxRowStates] = {};
  for (int s = 0; s < Step::kRowStates; ++s)
    if (table.row_states[s].data) state[s] = LoadState(table.row_states[s], row);
  begun.row = step.BeginRow(begun.sums, dim, state);
  for (int s = 0; s < Step::kRowStates; ++s)
    if (table.row_states[s].data) StoreState(table.row_states[s], row, state[s]);
}

// ahead: or null.
template <typename Step>
inline __attribute__((always_inline)) void UpdateElements(const Step& step, int64_t dim,
                                                          const FloatRow& at,
                                                          const AheadRow<Step>* ahead,
                                                          const ScaledGradient& gradient,
                                                          BegunRow<Step>& begun) {
  if constexpr (requires { Step::kLateStatistics; }) {
    SumOverRow<Step::kLateStatistics>(
        dim,
        [&](int64_t d, int n, Pack* terms) {
          Pack state[kMaxElementStates];
          LoadElementStates<Step>(at, d, n, state);
          step.LateStatistics(begun.row,
                              RowElement<Pack>{LoadPart(at.w + d, n), LoadGradient(gradient, d, n)},
                              static_cast<const Pack*>(state), terms);
        },
        begun.sums);
    step.FinishRow(begun.row, begun.sums);
  }
  const auto update = [&](int64_t d, int n) __attribute__((always_inline)) {
    Pack state[kMaxElementStates];
    LoadElementStates<Step>(at, d, n, state);
    RowElement<Pack> x = {LoadPart(at.w + d, n), LoadGradient(gradient, d, n)};
    step.Update(begun.row, x, state);
    StorePart(x.w, at.w + d, n);
    for (int s = 0; s < Step::kElementStates; ++s) StorePart(state[s], at.states[s] + d, n);
  };
  int64_t d = 0;
  for (; ahead != nullptr && d + kLine <= dim; d += kLine) {
    ahead->Ask(d);
    for (int pack = 0; pack < kLine; pack += Pack::kSize) update(d + pack, Pack::kSize);
  }
  if (ahead != nullptr && d < dim) {  // rows may then begin within a line
    ahead->Ask(d);
    ahead->Ask(dim - 1);
  }
  ForEachPackFrom(d, dim, update);
}

// Scales w back to max_norm; says whether it had to.
inline bool LimitNorm(float max_norm, int64_t dim, float* w) {
  if (max_norm <= 0) return false;
  float square = 0;
  SumOverRow<1>(
      dim,
      [&](int64_t d, int n, Pack* terms) { terms[0] = LoadPart(w + d, n) * LoadPart(w + d, n); },
      &square);
  const float norm = Sqrt(square);
  if (!(norm > max_norm)) return false;
  const Pack shrink = Pack(max_norm / norm);
  ForEachPack(dim, [&](int64_t d, int n) { StorePart(LoadPart(w + d, n) * shrink, w + d, n); });
  return true;
}

// `buffer` has room for the weights and each element state.
template <typename Step>
inline void UpdateNarrowRow(const Step& step, const ExecutorTable& table, int64_t row,
                            const ScaledGradient& gradient, float* buffer) {
  const int64_t dim = table.dim;
  FloatRow at = {buffer, {}};
  WidenRow(table.weights, table.row_type, row * dim, dim, at.w);
  for (int s = 0; s < Step::kElementStates; ++s) {
    const StateArray& state = table.element_states[s];
    at.states[s] = buffer + (s + 1) * dim;
    WidenRow(state.data, state.type, row * dim, dim, at.states[s]);
  }
  BegunRow<Step> begun = {};
  TakeStatistics(step, dim, at.w, gradient, begun);
  BeginRow(step, table, dim, row, begun);
  UpdateElements<Step>(step, dim, at, /*ahead=*/nullptr, gradient, begun);
  StoreWeights(table, row, at.w);
  if constexpr (requires { step.max_norm; })
    if (step.max_norm > 0) {  // of the row as it is stored
      WidenRow(table.weights, table.row_type, row * dim, dim, at.w);
      if (LimitNorm(step.max_norm, dim, at.w)) StoreWeights(table, row, at.w);
    }
  for (int s = 0; s < Step::kElementStates; ++s)
    NarrowRow(at.states[s], dim, table.element_states[s].data, table.element_states[s].type,
              row * dim);
}

// ---- all rows of a range

template <typename Step>
inline __attribute__((always_inline)) AheadRow<Step> AheadRowOf(const RowUpdateArgs& a, int64_t dim,
                                                                const AheadRun& ahead) {
  return {RowInPlace<Step>(a.table, dim, ahead.row), ahead.gradient, a.grad_bytes()};
}

// Rows of f32. Where a rule takes statistics, some at a time: the chain from a row's sums to its
// step is then hidden behind those of other rows. kDim: the dim of short rows, which memory alone
// should bound: the compiler unrolls their loops, and their lines are asked for at once; 0 for any
// dim.
template <typename Step, RunKind kKind, int kDim>
void UpdateF32Runs(const Step& step, const RowUpdateArgs& a) {
  constexpr int64_t kMaxRows = Step::kStatistics > 0 ? 4 : 1, kOnStack = 2048;
  const ExecutorTable& table = a.table;
  const int64_t dim = kDim > 0 ? kDim : table.dim, fit = kOnStack / dim,
                at_once = fit < 1          ? 1
                          : fit < kMaxRows ? fit
                                           : kMaxRows;
  alignas(64) float on_stack[kOnStack];
  const std::unique_ptr<float[]> on_heap(dim > kOnStack ? new float[static_cast<size_t>(dim)]
                                                        : nullptr);
  float* sums = on_heap ? on_heap.get() : on_stack;
  RunReader<kKind, Step> runs(a);
  while (!runs.done()) {
    int64_t rows[kMaxRows], n = 0;
    AheadRun ahead[kMaxRows];
    ScaledGradient gradients[kMaxRows];
    BegunRow<Step> begun[kMaxRows];
    do {
      rows[n] = runs.Next(sums + n * dim, gradients[n], ahead[n]);
      PrefetchRowStates<Step>(table, ahead[n].row);
      for (int64_t d = 0; d < kDim; d += kLine) AheadRowOf<Step>(a, dim, ahead[n]).Ask(d);
      TakeStatistics(step, dim, static_cast<float*>(table.weights) + rows[n] * dim, gradients[n],
                     begun[n]);
    } while (++n < at_once && !runs.done());
    for (int64_t i = 0; i < n; ++i) BeginRow(step, table, dim, rows[i], begun[i]);
    for (int64_t i = 0; i < n; ++i) {
      const FloatRow at = RowInPlace<Step>(table, dim, rows[i]);
      const AheadRow<Step> asked = AheadRowOf<Step>(a, dim, ahead[i]);
      UpdateElements(step, dim, at, kDim > 0 ? nullptr : &asked, gradients[i], begun[i]);
      if constexpr (requires { step.max_norm; }) LimitNorm(step.max_norm, dim, at.w);
    }
  }
}

template <typename Step>
void UpdateNarrowRuns(const Step& step, const RowUpdateArgs& a) {
  const int64_t dim = a.table.dim;
  const auto buffer =
      std::make_unique<float[]>(static_cast<size_t>((2 + Step::kElementStates) * dim));
  RunReader<RunKind::kAny, Step> runs(a);
  while (!runs.done()) {
    ScaledGradient gradient;
    AheadRun ahead;
    const int64_t row = runs.Next(buffer.get(), gradient, ahead);
    PrefetchRow<Step>(a.table, ahead.row);
    Prefetch<PrefetchFor::kRead>(ahead.gradient, dim * a.grad_bytes());
    UpdateNarrowRow(step, a.table, row, gradient, buffer.get() + dim);
  }
}

// Updates every row of the range once.
template <typename Step>
void Update(const Step& step, const RowUpdateArgs& a) {
  if (a.wide_rows || !a.table.all_f32()) return UpdateNarrowRuns(step, a);
  if (IsDirect(a) && a.table.dim == 16) return UpdateF32Runs<Step, RunKind::kDirect, 16>(step, a);
  if (IsDirect(a) && a.table.dim == 32) return UpdateF32Runs<Step, RunKind::kDirect, 32>(step, a);
  UpdateF32Runs<Step, RunKind::kNarrowKeys, 0>(step, a);
}

}  // namespace tessera::internal::TESSERA_ISA
#endif  // TESSERA_EMBEDDING_UPDATE_UPDATE_EXECUTOR_H_
