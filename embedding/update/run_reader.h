#ifndef TESSERA_EMBEDDING_UPDATE_RUN_READER_H_
#define TESSERA_EMBEDDING_UPDATE_RUN_READER_H_
// Runs of sorted occurrences, a run a distinct row, read for the loop of update_executor.h, with
// what it asks for meanwhile: row and gradient of a run that comes some runs later.
#include "embedding/update/row_update.h"
#include "runtime/numbers/simd.h"

namespace tessera::internal::TESSERA_ISA {

// Runs ahead that are asked for: best of 4 to 24 for rows of 64 to 512 bytes.
constexpr int64_t kRunsAhead = 16;

template <typename Step>
inline __attribute__((always_inline)) void PrefetchRowStates(const ExecutorTable& table,
                                                             int64_t row) {
  for (int s = 0; s < Step::kRowStates; ++s)
    if (const StateArray& state = table.row_states[s]; state.data != nullptr)
      Prefetch<PrefetchFor::kWrite>(
          static_cast<char*>(state.data) + row * (state.type == DType::kF32 ? 4 : 2), 1);
}
template <typename Step>
inline __attribute__((always_inline)) void PrefetchRow(const ExecutorTable& table, int64_t row) {
  const auto prefetch = [&](void* data, DType type) __attribute__((always_inline)) {
    const long bytes = table.dim * (type == DType::kF32 ? 4 : 2);
    Prefetch<PrefetchFor::kWrite>(static_cast<char*>(data) + row * bytes, bytes);
  };
  prefetch(table.weights, table.row_type);
  for (int s = 0; s < Step::kElementStates; ++s)
    prefetch(table.element_states[s].data, table.element_states[s].type);
  PrefetchRowStates<Step>(table, row);
}

// A run to come.
struct AheadRun {
  int64_t row;
  const char* gradient;  // of its first occurrence
};

// The kinds of occurrences that a reader takes: the fewer, the fewer instructions a row needs.
enum class RunKind {
  kAny,
  kNarrowKeys,  // rows fit 32 bits
  kDirect,      // and a payload is its slot; slots are of f32, one every slot_stride
};
inline bool IsDirect(const RowUpdateArgs& a) {
  return !a.wide_rows && a.grad_type == DType::kF32 && a.slots == nullptr &&
         a.slot_offsets == nullptr;
}

// Gives the runs of a range one after another. Where runs begin is found a block of occurrences at
// a time, without a branch for each; rows are counted by runs, so that as many are on their way
// behind a long run as behind short ones.
template <RunKind kKind, typename Step>
class RunReader {
 public:
  explicit RunReader(const RowUpdateArgs& a)
      : a_(a),
        narrow_(static_cast<const Occurrence<uint32_t>*>(a.occurrences)),
        wide_gradients_(kIsDirect || a.grad_type == DType::kF32),
        searched_(a.begin) {
    FindStarts();
    for (int64_t r = 0; r < kRunsAhead && r < found_; ++r)
      PrefetchRow<Step>(a.table, RowAt(StartOf(r)));
  }

  bool done() const { return taken_ == found_; }
  // The next run's row, and its gradient, in `sum` if it had to be summed or widened. ahead: the
  // run to ask for, the last one at the end; what else it sums is asked for here.
  int64_t Next(float* sum, ScaledGradient& gradient, AheadRun& ahead) {
    if (found_ <= taken_ + kRunsAhead) FindStarts();
    const int64_t far = taken_ + kRunsAhead < found_ ? taken_ + kRunsAhead : found_ - 1;
    ahead = {RowAt(StartOf(far)), GradientAt(StartOf(far))};
    AskForGradients(StartOf(far) + 1);
    const int64_t begin = StartOf(taken_++), end = taken_ < found_ ? StartOf(taken_) : a_.end;
    if (a_.summed != nullptr) {
      gradient = {a_.summed, 1.0f};
    } else if (wide_gradients_ && end == begin + 1) {
      gradient = OnlyGradient(PayloadAt(begin));
    } else {
      (*a_.run_sum)(a_, begin, end, sum);
      gradient = {sum, 1.0f};
    }
    gradient.scale = a_.table.gradient_scale;
    return RowAt(begin);
  }

 private:
  static constexpr bool kNarrow = kKind != RunKind::kAny, kIsDirect = kKind == RunKind::kDirect;
  static constexpr int64_t kBlock = 32, kRing = 64;  // a power of 2 > kRunsAhead + kBlock

  int64_t RowAt(int64_t i) const {
    return kNarrow ? static_cast<int64_t>(narrow_[i].row) : a_.RowAt(i);
  }
  uint32_t PayloadAt(int64_t i) const { return kNarrow ? narrow_[i].payload : a_.PayloadAt(i); }
  int64_t StartOf(int64_t run) const { return starts_[run & (kRing - 1)]; }

  // Finds the starts of kRunsAhead runs behind the next one, or of all that are left.
  void FindStarts() {
    while (found_ <= taken_ + kRunsAhead && searched_ < a_.end) {
      const int64_t stop = a_.end - searched_ < kBlock ? a_.end : searched_ + kBlock;
      int64_t i = searched_, found = found_;
      if (i == a_.begin) starts_[found++] = i++;
      for (; i < stop; ++i) {
        starts_[found & (kRing - 1)] = i;
        found += RowAt(i) != RowAt(i - 1) ? 1 : 0;
      }
      searched_ = stop;
      found_ = found;
    }
  }
  const float* DirectGradient(uint32_t slot) const {
    return static_cast<const float*>(a_.grad) + slot * a_.slot_stride;
  }
  ScaledGradient OnlyGradient(uint32_t payload) const {
    if constexpr (kIsDirect)
      return {DirectGradient(payload), a_.slot_scales != nullptr ? a_.slot_scales[payload] : 1.0f};
    const auto only = a_.GradientOf<float>(payload);
    return {only.data, only.coefficient};
  }
  const char* GradientAt(int64_t i) const {
    if constexpr (kIsDirect) return reinterpret_cast<const char*>(DirectGradient(PayloadAt(i)));
    return a_.GradientAt(PayloadAt(i));
  }
  // Asks for the gradients of a run's occurrences but the first, as far as they are few.
  __attribute__((always_inline)) void AskForGradients(int64_t second) const {
    for (int64_t i = second, stop = second + kRunsAhead;
         i < stop && i < a_.end && RowAt(i) == RowAt(i - 1); ++i)
      Prefetch<PrefetchFor::kRead>(GradientAt(i), a_.table.dim * a_.grad_bytes());
  }

  const RowUpdateArgs& a_;
  const Occurrence<uint32_t>* narrow_;
  bool wide_gradients_;
  int64_t searched_;               // occurrences
  int64_t found_ = 0, taken_ = 0;  // runs
  int64_t starts_[kRing];
};

}  // namespace tessera::internal::TESSERA_ISA
#endif  // TESSERA_EMBEDDING_UPDATE_RUN_READER_H_
