#ifndef TESSERA_EMBEDDING_RUN_READER_H_
#define TESSERA_EMBEDDING_RUN_READER_H_
// Runs of sorted occurrences, a run a distinct row, read for the loop of update_executor.h: rows and
// gradients are asked for before they are needed.
#include "embedding/row_update.h"
#include "runtime/simd.h"

namespace tessera::internal::TESSERA_ISA {

// Runs ahead whose rows are asked for, and occurrences ahead whose gradients are: best of 4 to 64
// for rows of 64 and of 512 bytes.
template <typename Step>
inline int64_t UpdateAhead(int64_t dim) {
  return dim <= 32 ? 32 : Step::kElementStates > 0 ? 6 : 16;
}
// Whether gradients are asked for, too. Beside wide rows and states they take the misses that those
// need: Adagrad at dim 128 gains 3 to 5 % without, Adam 1 %; SGD and LAMB lose 3 %.
template <typename Step>
inline bool AsksForGradients(int64_t dim) {
  return dim <= 32 || Step::kElementStates == 0 || Step::kStatistics > 0;
}

template <typename Step>
inline __attribute__((always_inline)) void PrefetchRow(const RowTable& table, int64_t row) {
  const auto prefetch = [&](void* data, DType type, int64_t first, int64_t count)
      __attribute__((always_inline)) {
    const long size = type == DType::kF32 ? 4 : 2;
    Prefetch<PrefetchFor::kWrite>(static_cast<char*>(data) + first * size, count * size);
  };
  prefetch(table.weights, table.row_type, row * table.dim, table.dim);
  for (int s = 0; s < Step::kElementStates; ++s)
    prefetch(table.element_states[s].data, table.element_states[s].type, row * table.dim,
             table.dim);
  for (int s = 0; s < Step::kRowStates; ++s)
    if (table.row_states[s].data)
      prefetch(table.row_states[s].data, table.row_states[s].type, row, 1);
}

// Gives the runs of a range one after another, asking for rows and gradients ahead of time. Where
// runs begin is found a block of occurrences at a time, without a branch for each; rows are counted
// by runs, so that as many are on their way behind a long run as behind short ones. kPlain: rows
// fit 32 bits.
template <bool kPlain, typename Step>
class RunReader {
 public:
  explicit RunReader(const RowUpdateArgs& a)
      : a_(a),
        plain_(static_cast<const Occurrence<uint32_t>*>(a.occurrences)),
        distance_(UpdateAhead<Step>(a.table.dim)),
        gradients_(AsksForGradients<Step>(a.table.dim)),
        searched_(a.begin),
        asked_(a.begin) {
    FindStarts();
    for (int64_t r = 0; r < distance_ && r < found_; ++r) AskForRow(r);
  }

  bool done() const { return taken_ == found_; }
  // The next run's row, and its gradient, in `sum` if it had to be summed.
  int64_t Next(float* sum, ScaledGradient& gradient) {
    if (found_ <= taken_ + distance_) FindStarts();
    if (taken_ + distance_ < found_) AskForRow(taken_ + distance_);
    const int64_t begin = StartOf(taken_++), end = taken_ < found_ ? StartOf(taken_) : a_.end;
    if (gradients_) AskForGradients(begin);
    if (a_.summed != nullptr) {
      gradient = {a_.summed, 1.0f};
    } else if (end == begin + 1) {
      gradient = a_.GradientOf(PayloadAt(begin));
    } else {
      (*a_.run_sum)(a_, begin, end, sum);
      gradient = {sum, 1.0f};
    }
    gradient.scale = a_.table.gradient_scale;
    return RowAt(begin);
  }

 private:
  static constexpr int64_t kBlock = 32, kRing = 128;  // a power of 2 > distance + kBlock

  int64_t RowAt(int64_t i) const {
    return kPlain ? static_cast<int64_t>(plain_[i].row) : a_.RowAt(i);
  }
  uint32_t PayloadAt(int64_t i) const { return kPlain ? plain_[i].payload : a_.PayloadAt(i); }
  int64_t StartOf(int64_t run) const { return starts_[run & (kRing - 1)]; }

  // Until the starts of `distance_` runs behind the next one are known, or all.
  void FindStarts() {
    while (found_ <= taken_ + distance_ && searched_ < a_.end) {
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
  __attribute__((always_inline)) void AskForRow(int64_t run) const {
    PrefetchRow<Step>(a_.table, RowAt(StartOf(run)));
  }
  __attribute__((always_inline)) void AskForGradients(int64_t begin) {
    if (asked_ < begin) asked_ = begin;
    for (const int64_t until = begin + distance_ < a_.end ? begin + distance_ : a_.end;
         asked_ < until; ++asked_)
      Prefetch<PrefetchFor::kRead>(a_.GradientOf(PayloadAt(asked_)).data,
                                   a_.table.dim * static_cast<long>(sizeof(float)));
  }

  const RowUpdateArgs& a_;
  const Occurrence<uint32_t>* plain_;
  int64_t distance_;
  bool gradients_;
  int64_t searched_, asked_;       // occurrences
  int64_t found_ = 0, taken_ = 0;  // runs
  int64_t starts_[kRing];
};

}  // namespace tessera::internal::TESSERA_ISA
#endif  // TESSERA_EMBEDDING_RUN_READER_H_
