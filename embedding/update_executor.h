#ifndef TESSERA_EMBEDDING_UPDATE_EXECUTOR_H_
#define TESSERA_EMBEDDING_UPDATE_EXECUTOR_H_
// The loop that applies a rule to rows, over the Pack of this file's instruction set: written once
// for all rules. For update_simd.cc (compiled once for each instruction set and rule) and
// embedding/custom_rule.h (a user's own rule).
#include <memory>

#include "embedding/row_update.h"
#include "runtime/lanes.h"
#include "runtime/simd.h"

namespace tessera::internal::TESSERA_ISA {

// Rows ahead whose weights and states are asked for, and occurrences ahead whose gradients are.
inline constexpr int64_t kUpdateAhead = 16;

// The gradient of one occurrence: coefficient · grad[0 … dim).
struct Contribution {
  const float* grad;
  float coefficient;
};

inline Contribution ContributionOf(const RowUpdateArgs& a, uint32_t payload) {
  const uint32_t slot = a.slots ? static_cast<uint32_t>(a.slots[payload]) : payload;
  float coefficient = a.slot_scales ? a.slot_scales[slot] : 1.0f;
  if (a.slots) coefficient = a.sample_weights[payload] * coefficient;
  return {a.grad + a.slot_offsets[slot], coefficient};
}

// Calls fn(offset, size, load, store) for each pack of a row; the last may be partial.
template <typename Fn>
inline void ForEachPack(int64_t dim, Fn&& fn) {
  int64_t d = 0;
  for (; d + Pack::kSize <= dim; d += Pack::kSize) fn(d, Pack::kSize);
  if (d < dim) fn(d, static_cast<int>(dim - d));
}
inline Pack LoadPart(const float* p, int n) {
  return n == Pack::kSize ? Pack::Load(p) : Pack::LoadFirst(p, n);
}
inline void StorePart(Pack v, float* p, int n) {
  n == Pack::kSize ? v.Store(p) : v.StoreFirst(p, n);
}

// Columns [column, column + kPacks·Pack::kSize + tail) of the summed gradient of the run [begin,
// end): row_ops.h's order.
template <bool kScaled, int kPacks, bool kTail, typename Key>
void SumRunColumns(const RowUpdateArgs& a, const Occurrence<Key>* occurrences, int64_t begin,
                   int64_t end, int64_t column, int tail, float* sum) {
  constexpr int kSums = kPacks + (kTail ? 1 : 0);
  Pack total[kSums], part[kSums];
  TESSERA_UNROLL
  for (int k = 0; k < kSums; ++k) total[k] = Pack(0.0f);
  for (int64_t chunk = begin; chunk < end; chunk += kChunk) {
    TESSERA_UNROLL
    for (int k = 0; k < kSums; ++k) part[k] = Pack(0.0f);
    const int64_t stop = chunk + kChunk < end ? chunk + kChunk : end;
    for (int64_t i = chunk; i < stop; ++i) {
      const Contribution c = ContributionOf(a, occurrences[i].payload);
      const Pack coefficient = Pack(c.coefficient);
      const float* g = Opaque(c.grad + column);
      TESSERA_UNROLL
      for (int k = 0; k < kSums; ++k) {
        const Pack value = kTail && k == kPacks ? Pack::LoadFirst(g + k * Pack::kSize, tail)
                                                : Pack::Load(g + k * Pack::kSize);
        part[k] = part[k] + (kScaled ? coefficient * value : value);
      }
    }
    TESSERA_UNROLL
    for (int k = 0; k < kSums; ++k) total[k] = chunk == begin ? part[k] : total[k] + part[k];
  }
  TESSERA_UNROLL
  for (int k = 0; k < kSums; ++k)
    StorePart(total[k], sum + column + k * Pack::kSize, kTail && k == kPacks ? tail : Pack::kSize);
}

inline constexpr int kSumPacks = 8;

template <typename Key>
using SumColumnsFn = void (*)(const RowUpdateArgs&, const Occurrence<Key>*, int64_t, int64_t,
                              int64_t, int, float*);

template <typename Key, bool kScaled, int kPacks = kSumPacks>
SumColumnsFn<Key> SumColumnsFor(int packs, bool tail) {
  if constexpr (kPacks == 0)
    return SumRunColumns<kScaled, 0, true, Key>;
  else if (packs == kPacks)
    return tail ? SumRunColumns<kScaled, kPacks, true, Key>
                : SumRunColumns<kScaled, kPacks, false, Key>;
  else
    return SumColumnsFor<Key, kScaled, kPacks - 1>(packs, tail);
}

// Sums runs of one table: the functions for its dim, chosen once.
template <typename Key>
class RunSummer {
 public:
  explicit RunSummer(const RowUpdateArgs& a)
      : a_(a), occurrences_(static_cast<const Occurrence<Key>*>(a.occurrences)) {
    const bool scaled = a.slot_scales != nullptr || a.slots != nullptr;
    block_ = int64_t{kSumPacks} * Pack::kSize;
    full_columns_ = a.dim / block_ * block_;
    const int rest = static_cast<int>(a.dim - full_columns_), packs = rest / Pack::kSize;
    tail_ = rest % Pack::kSize;
    full_ = scaled ? SumColumnsFor<Key, true>(kSumPacks, false)
                   : SumColumnsFor<Key, false>(kSumPacks, false);
    if (rest > 0)
      last_ = scaled ? SumColumnsFor<Key, true>(packs, tail_ != 0)
                     : SumColumnsFor<Key, false>(packs, tail_ != 0);
  }
  void operator()(int64_t begin, int64_t end, float* sum) const {
    for (int64_t column = 0; column < full_columns_; column += block_)
      full_(a_, occurrences_, begin, end, column, 0, sum);
    if (last_) last_(a_, occurrences_, begin, end, full_columns_, tail_, sum);
  }

 private:
  const RowUpdateArgs& a_;
  const Occurrence<Key>* occurrences_;
  int64_t block_, full_columns_;
  int tail_;
  SumColumnsFn<Key> full_, last_ = nullptr;
};

// Σ_d fn(d, n) in lane order, where fn gives the pack of n values at column d.
template <typename Fn>
inline float SumOverRow(int64_t dim, Fn&& fn) {
  constexpr int kPacks = kLanes / Pack::kSize;
  Pack sum[kPacks];
  for (Pack& s : sum) s = Pack(0.0f);
  int64_t d = 0;
  for (; d + kLanes <= dim; d += kLanes)
    for (int k = 0; k < kPacks; ++k) sum[k] = sum[k] + fn(d + k * Pack::kSize, Pack::kSize);
  for (int k = 0; k < kPacks && d < dim; ++k, d += Pack::kSize)
    sum[k] = sum[k] + fn(d, static_cast<int>(dim - d < Pack::kSize ? dim - d : Pack::kSize));
  alignas(64) float lane[kLanes];
  for (int k = 0; k < kPacks; ++k) sum[k].Store(lane + k * Pack::kSize);
  return FoldLanes(lane);
}

// One update of one row by its summed gradient.
template <typename Step>
inline void UpdateRow(const Step& step, const RowUpdateArgs& a, int64_t row, const float* sum) {
  float* w = a.weights + row * a.dim;
  float total = 0;
  if constexpr (Step::kHasStatistic)
    total = SumOverRow(a.dim, [&](int64_t d, int n) {
      return step.Statistic(LoadPart(sum + d, n), LoadPart(w + d, n));
    });

  float row_state[kMaxRowStates] = {};
  for (int s = 0; s < Step::kRowStates; ++s)
    if (a.row_states[s]) row_state[s] = a.row_states[s][row];
  const auto begun = step.BeginRow(total, a.dim, row_state);
  for (int s = 0; s < Step::kRowStates; ++s)
    if (a.row_states[s]) a.row_states[s][row] = row_state[s];

  ForEachPack(a.dim, [&](int64_t d, int n) {
    Pack state[kMaxElementStates] = {Pack(0.0f), Pack(0.0f)};
    for (int s = 0; s < Step::kElementStates; ++s)
      state[s] = LoadPart(a.element_states[s] + row * a.dim + d, n);
    Pack value = LoadPart(w + d, n);
    step.Update(begun, value, LoadPart(sum + d, n), state);
    StorePart(value, w + d, n);
    for (int s = 0; s < Step::kElementStates; ++s)
      StorePart(state[s], a.element_states[s] + row * a.dim + d, n);
  });

  if constexpr (requires { step.max_norm; }) {
    if (step.max_norm <= 0) return;
    const float norm = Sqrt(SumOverRow(
        a.dim, [&](int64_t d, int n) { return LoadPart(w + d, n) * LoadPart(w + d, n); }));
    if (!(norm > step.max_norm)) return;
    const Pack shrink = Pack(step.max_norm / norm);
    ForEachPack(a.dim, [&](int64_t d, int n) { StorePart(LoadPart(w + d, n) * shrink, w + d, n); });
  }
}

template <typename Step, typename Key>
inline __attribute__((always_inline)) void PrefetchRow(const RowUpdateArgs& a,
                                                       const Occurrence<Key>& occurrence) {
  const int64_t row = static_cast<int64_t>(occurrence.row);
  const long bytes = a.dim * static_cast<long>(sizeof(float));
  Prefetch<PrefetchFor::kWrite>(a.weights + row * a.dim, bytes);
  for (int s = 0; s < Step::kElementStates; ++s)
    Prefetch<PrefetchFor::kWrite>(a.element_states[s] + row * a.dim, bytes);
  for (int s = 0; s < Step::kRowStates; ++s)
    if (a.row_states[s]) Prefetch<PrefetchFor::kWrite>(a.row_states[s] + row, 1);
  const uint32_t slot =
      a.slots ? static_cast<uint32_t>(a.slots[occurrence.payload]) : occurrence.payload;
  Prefetch<PrefetchFor::kRead>(a.grad + a.slot_offsets[slot], bytes);
}

template <typename Step, typename Key>
void UpdateRuns(const Step& step, const RowUpdateArgs& a) {
  constexpr int64_t kOnStack = 1024;
  alignas(64) float on_stack[kOnStack];
  const std::unique_ptr<float[]> on_heap(a.dim > kOnStack ? new float[static_cast<size_t>(a.dim)]
                                                          : nullptr);
  float* sum = on_heap ? on_heap.get() : on_stack;
  const RunSummer<Key> sum_run(a);
  const auto* occurrences = static_cast<const Occurrence<Key>*>(a.occurrences);
  int64_t ahead = a.begin;
  for (int64_t begin = a.begin, end; begin < a.end; begin = end) {
    for (const int64_t until = begin + kUpdateAhead < a.end ? begin + kUpdateAhead : a.end;
         ahead < until; ++ahead)
      PrefetchRow<Step>(a, occurrences[ahead]);
    const Key row = occurrences[begin].row;
    for (end = begin + 1; end < a.end && occurrences[end].row == row;) ++end;
    sum_run(begin, end, sum);
    UpdateRow(step, a, static_cast<int64_t>(row), sum);
  }
}

// Updates every row of the range once.
template <typename Step>
void Update(const Step& step, const RowUpdateArgs& a) {
  if (a.summed != nullptr) {
    const int64_t row =
        a.wide_rows ? static_cast<int64_t>(
                          static_cast<const Occurrence<uint64_t>*>(a.occurrences)[a.begin].row)
                    : static_cast<int64_t>(
                          static_cast<const Occurrence<uint32_t>*>(a.occurrences)[a.begin].row);
    UpdateRow(step, a, row, a.summed);
  } else if (a.wide_rows) {
    UpdateRuns<Step, uint64_t>(step, a);
  } else {
    UpdateRuns<Step, uint32_t>(step, a);
  }
}

}  // namespace tessera::internal::TESSERA_ISA
#endif  // TESSERA_EMBEDDING_UPDATE_EXECUTOR_H_
