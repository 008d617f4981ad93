#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_SORTED_IDS_CUH_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_SORTED_IDS_CUH_
// Numbers of things in the order of their keys, and ids in runs of the same one. For .cu files.
#include "embedding/lookup/row_ops.h"
#include "runtime/algorithms.h"
#include "runtime/launch.cuh"
#include "runtime/tensor.h"

namespace tessera::internal {

using Count = unsigned long long;  // what CUDA's 64-bit atomics take

inline uint32_t* Numbers(const Tensor& t) { return reinterpret_cast<uint32_t*>(t.data<int32_t>()); }

// n keys, and for each the number of the thing that it belongs to.
class KeyedNumbers {
 public:
  KeyedNumbers(Context& ctx, int64_t n)
      : keys_(Tensor::Empty(ctx, {2, n}, DType::kI64)),
        numbers_(Tensor::Empty(ctx, {2, n}, DType::kI32)),
        n_(n),
        now_{FirstKey(), Numbers(numbers_)} {}
  uint64_t* keys() const { return now_.keys; }
  uint32_t* numbers() const { return now_.values; }
  int64_t size() const { return n_; }
  // Sorts by key, ascending, stably. Pointers change.
  void Sort(Context& ctx) {
    uint64_t* other_keys = FirstKey() + (now_.keys == FirstKey() ? n_ : 0);
    uint32_t* other_numbers = Numbers(numbers_) + (now_.values == Numbers(numbers_) ? n_ : 0);
    now_ = SortPairs(ctx, now_.keys, other_keys, now_.values, other_numbers, n_, /*bits=*/64);
  }

 private:
  uint64_t* FirstKey() const { return reinterpret_cast<uint64_t*>(keys_.data<int64_t>()); }

  Tensor keys_, numbers_;  // two of each: SortPairs needs a second buffer
  int64_t n_;
  SortedPairs<uint64_t> now_;
};

// taken[k]: the id at places[k].
struct TakeIds {
  IndexArray ids;
  const int32_t* places;
  int64_t* taken;
  TESSERA_HD void operator()(int64_t k) const { taken[k] = ids[places[k]]; }
};

struct IdKey {
  const int64_t* ids;
  uint64_t* keys;
  uint32_t* numbers;
  TESSERA_HD void operator()(int64_t i) const {
    keys[i] = static_cast<uint64_t>(ids[i]) ^ uint64_t { 1 } << 63;
    numbers[i] = static_cast<uint32_t>(i);
  }
};

// Sorts ids, ascending; equal ones keep their order.
inline KeyedNumbers SortIds(Context& ctx, const Tensor& ids) {
  KeyedNumbers sorted(ctx, ids.numel());
  ForEach(ctx, ids.numel(), IdKey{ids.data<int64_t>(), sorted.keys(), sorted.numbers()});
  sorted.Sort(ctx);
  return sorted;
}

// Distinct ids, as kernels see them: number u has the occurrences numbers[starts[u] … starts[u +
// 1]).
struct IdRuns {
  const uint32_t *numbers, *starts, *count;
  int64_t num_ids;
  TESSERA_HD bool Exists(int64_t u) const { return u < *count; }
  TESSERA_HD uint32_t First(int64_t u) const { return numbers[starts[u]]; }
  TESSERA_HD int64_t Length(int64_t u) const {
    return (u + 1 < *count ? starts[u + 1] : num_ids) - starts[u];
  }
};

// Holds the memory that its runs() point to.
class SortedIdRuns {
 public:
  // ids: i64 [n], below 2^31 of them.
  SortedIdRuns(Context& ctx, const Tensor& ids)
      : sorted_(SortIds(ctx, ids)),
        starts_(Tensor::Empty(ctx, {ids.numel()}, DType::kI32)),
        count_(Tensor::Zeros(ctx, {1}, DType::kI32)) {
    SelectRunStarts(ctx, sorted_.keys(), ids.numel(), Numbers(starts_), Numbers(count_));
  }
  IdRuns runs() const {
    return {sorted_.numbers(), Numbers(starts_), Numbers(count_), sorted_.size()};
  }
  int64_t CountSync(Context& ctx) const { return ReadScalarSync(ctx, count_.data<int32_t>()); }

 private:
  KeyedNumbers sorted_;
  Tensor starts_, count_;
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_SORTED_IDS_CUH_
