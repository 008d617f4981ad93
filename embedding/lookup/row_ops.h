#ifndef TESSERA_EMBEDDING_LOOKUP_ROW_OPS_H_
#define TESSERA_EMBEDDING_LOOKUP_ROW_OPS_H_
// The arithmetic that every lookup and update shares, on every machine.
//
//   pooled bag      sum over its ids in order, each column alone, from 0; MEAN divides by L
//   coefficient     of an occurrence: c = p (its per-sample weight, or 1), times 1/L under MEAN
//   row's gradient  Σ c·g over its occurrences in the order of the batch, in chunks of kChunk, each
//                   summed from 0; the chunks' sums are added in order, so that several threads or
//                   blocks may share a hot row without changing bits
#include <cstdint>

#include "runtime/base/host_device.h"

namespace tessera {

inline constexpr int64_t kChunk = 64;

// 1/L of a MEAN bag with `length` ids; 1 for an empty one, which has no occurrence.
TESSERA_HD float MeanScale(int64_t length) {
  return length > 0 ? 1.0f / static_cast<float>(length) : 1.0f;
}

// i32 or i64 numbers as a KJT brings them, read one at a time; arithmetic is in int64.
struct IndexArray {
  const void* data = nullptr;
  bool wide = true;
  TESSERA_HD int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
  }
};

// Whether `id` names a row. An id that does not (−1 stands for "pruned") adds nothing to a bag,
// though it counts in L.
TESSERA_HD bool IsRow(int64_t id, int64_t rows) {
  return static_cast<uint64_t>(id) < static_cast<uint64_t>(rows);
}

// Murmur3's finalisers.
TESSERA_HD uint32_t MixBits(uint32_t h) {
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  return h ^ h >> 16;
}
TESSERA_HD uint64_t MixBits(uint64_t h) {
  h = (h ^ h >> 33) * 0xff51afd7ed558ccdull;
  h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53ull;
  return h ^ h >> 33;
}

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_LOOKUP_ROW_OPS_H_
