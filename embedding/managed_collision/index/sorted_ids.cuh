#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_SORTED_IDS_CUH_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_SORTED_IDS_CUH_
// Numbers of things in the order of their keys. For .cu files.
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
  // Sorts by the lowest `bits` of keys, ascending, stably. Pointers change.
  void Sort(Context& ctx, int bits = 64) {
    uint64_t* other_keys = FirstKey() + (now_.keys == FirstKey() ? n_ : 0);
    uint32_t* other_numbers = Numbers(numbers_) + (now_.values == Numbers(numbers_) ? n_ : 0);
    now_ = SortPairs(ctx, now_.keys, other_keys, now_.values, other_numbers, n_, bits);
  }

 private:
  uint64_t* FirstKey() const { return reinterpret_cast<uint64_t*>(keys_.data<int64_t>()); }

  Tensor keys_, numbers_;  // two of each: SortPairs needs a second buffer
  int64_t n_;
  SortedPairs<uint64_t> now_;
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

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_SORTED_IDS_CUH_
