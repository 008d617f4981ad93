#ifndef TESSERA_SPARSE_IDS_DENSE_IDS_H_
#define TESSERA_SPARSE_IDS_DENSE_IDS_H_
// Distinct ids of a narrow range [low, high], as bits: id's bit is id − low, its rank the number of
// ones before it. Pointers only, as each instruction set has its copy (runtime/base/isa.h).
#include <cstdint>

#include "runtime/base/isa.h"

namespace tessera::internal {

struct DenseIds {
  const void* ids;  // [n], i32 or i64
  int64_t n;        // 1 at least
  bool wide;        // i64
  int64_t low, high;
  // The bits, 0 before, in as many words as the range needs; and the number of ones before each
  // word.
  uint64_t* words;
  uint32_t* ranks;
  int64_t distinct;
};

// Places of ids whose first distinct one has the number `first`.
struct DenseIdsOutput {
  int64_t first;
  void* values;      // [distinct], of the ids' type
  int64_t* inverse;  // [n]
  int64_t* counts;   // [distinct], 0 before; or null
};

}  // namespace tessera::internal

#define TESSERA_DECLARE_DENSE_IDS(isa)                                \
  namespace tessera::internal::isa {                                  \
  void FindRange(DenseIds& ids);    /* low and high */                \
  void MarkDenseIds(DenseIds& ids); /* words, ranks, distinct */      \
  void WriteDenseIds(const DenseIds& ids, const DenseIdsOutput& out); \
  }
TESSERA_FOR_EACH_ISA(TESSERA_DECLARE_DENSE_IDS)
#undef TESSERA_DECLARE_DENSE_IDS

#endif  // TESSERA_SPARSE_IDS_DENSE_IDS_H_
