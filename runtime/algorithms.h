#ifndef TESSERA_RUNTIME_ALGORITHMS_H_
#define TESSERA_RUNTIME_ALGORITHMS_H_
// Scans, sorts and selections of whole arrays in a GPU's memory, over CUB. In the order of ctx's
// stream; the host never waits. n is known on the host; counts that depend on data stay on the
// device. REQUIRES: ctx on a CUDA device.
#include <cstdint>

#include "runtime/context.h"

namespace tessera::internal {

// out[i] = in[0] + … + in[i]. In place is fine. Values: int32_t, int64_t.
template <typename T>
void InclusiveSum(Context& ctx, const T* in, T* out, int64_t n);
// out[i] = the largest of in[0] … in[i].
template <typename T>
void InclusiveMax(Context& ctx, const T* in, T* out, int64_t n);
// out[i] = in[0] + … + in[i − 1].
template <typename T>
void ExclusiveSum(Context& ctx, const T* in, T* out, int64_t n);

template <typename Key>
struct SortedPairs {
  Key* keys;
  uint32_t* values;
};
// Sorts by the lowest `bits` bits of the keys, stably. The result lies in one of the two buffers of
// each kind; the other holds anything. Keys: uint32_t, uint64_t.
template <typename Key>
SortedPairs<Key> SortPairs(Context& ctx, Key* keys, Key* keys_scratch, uint32_t* values,
                           uint32_t* values_scratch, int64_t n, int bits);

// The places i, rising, where keys[i] differs from keys[i − 1] (0 is one): starts[0 … *count), and
// their number.
template <typename Key>
void SelectRunStarts(Context& ctx, const Key* keys, int64_t n, uint32_t* starts, uint32_t* count);

// numbers[i] = how many places j in [0, i] begin a run of equal keys, or have flags[j] != 0.
template <typename Key>
void NumberRuns(Context& ctx, const Key* keys, int64_t n, uint32_t* numbers);
void NumberFlagged(Context& ctx, const uint8_t* flags, int64_t n, uint32_t* numbers);

// The places i with flags[i] != 0, rising, and their number. Places: int32_t, int64_t.
template <typename Place>
void SelectFlagged(Context& ctx, const uint8_t* flags, int64_t n, Place* places, Place* count);

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_ALGORITHMS_H_
