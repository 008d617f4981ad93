#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_FIRST_OCCURRENCES_CUH_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_FIRST_OCCURRENCES_CUH_
// Distinct ids of a batch in the order in which they first occur, without a sort and without a
// number on the host: occurrences claim slots of a hash table that is made for the call.
//
//   slots    u32 [2^k], at least 2 n   the lowest occurrence of the id that has the slot
//   places   u32 [n]                   the slot of each occurrence that claims
//
// Slots keep the id that came first to them, in whatever order threads run, and the lowest number
// of its occurrences by an atomic minimum: what is listed does not depend on that order. For .cu
// files.
#include <bit>

#include "embedding/managed_collision/index/id_hash.h"
#include "embedding/managed_collision/index/sorted_ids.cuh"
#include "runtime/tensor.h"

namespace tessera::internal {

struct IdClaims {
  static constexpr uint32_t kNone = ~0u;
  IndexArray ids;
  uint32_t *slots, *places;
  uint64_t mask;

  __device__ void Claim(int64_t i) const {
    const int64_t id = ids[i];
    const auto own = static_cast<uint32_t>(i);
    uint64_t s = HashId(id) & mask;
    for (;; s = (s + 1) & mask) {
      uint32_t before = slots[s];
      if (before == kNone) before = atomicCAS(slots + s, kNone, own);
      if (before == kNone) break;
      if (ids[before] != id) continue;
      if (own < before) atomicMin(slots + s, own);
      break;
    }
    places[i] = static_cast<uint32_t>(s);
  }
  // Whether an occurrence of the id has claimed. REQUIRES: none but this thread claims for it.
  TESSERA_HD bool HasClaim(int64_t id) const {
    for (uint64_t s = HashId(id) & mask;; s = (s + 1) & mask) {
      const uint32_t first = slots[s];
      if (first == kNone) return false;
      if (ids[first] == id) return true;
    }
  }
  TESSERA_HD void Pass(int64_t i) const { places[i] = kNone; }
  TESSERA_HD bool Claims(int64_t i) const { return places[i] != kNone; }
  // REQUIRES: all have claimed or passed, and this one claims.
  TESSERA_HD int64_t First(int64_t i) const { return slots[places[i]]; }
};

struct FlagFirst {
  IdClaims claims;
  uint8_t* flags;
  TESSERA_HD void operator()(int64_t i) const {
    flags[i] = claims.Claims(i) && claims.First(i) == i;
  }
};

// Holds the memory of the claims of one batch.
class FirstOccurrences {
 public:
  // n: below 2^31. The ids outlive this.
  FirstOccurrences(Context& ctx, IndexArray ids, int64_t n)
      : ids_(ids),
        n_(n),
        slots_(Tensor::Full(ctx,
                            {static_cast<int64_t>(std::bit_ceil(2 * static_cast<uint64_t>(n)))}, -1,
                            DType::kI32)),
        places_(Tensor::Empty(ctx, {n}, DType::kI32)),
        firsts_(Tensor::Empty(ctx, {n}, DType::kI32)),
        count_(Tensor::Zeros(ctx, {1}, DType::kI32)) {}

  IdClaims claims() const {
    return {ids_, Numbers(slots_), Numbers(places_), static_cast<uint64_t>(slots_.numel()) - 1};
  }
  // Lists first occurrences, rising, once each occurrence has claimed or passed.
  void List(Context& ctx) {
    const Tensor flags = Tensor::Empty(ctx, {n_}, DType::kU8);
    ForEach(ctx, n_, FlagFirst{claims(), flags.data<uint8_t>()});
    SelectFlagged(ctx, flags.data<uint8_t>(), n_, firsts_.data<int32_t>(), count_.data<int32_t>());
  }
  const int32_t* firsts() const { return firsts_.data<int32_t>(); }  // [*count()]
  const int32_t* count() const { return count_.data<int32_t>(); }

 private:
  IndexArray ids_;
  int64_t n_;
  Tensor slots_, places_, firsts_, count_;
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_FIRST_OCCURRENCES_CUH_
