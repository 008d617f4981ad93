#ifndef TESSERA_DATA_PREPROCESS_CONTIGUOUS_IDS_H_
#define TESSERA_DATA_PREPROCESS_CONTIGUOUS_IDS_H_
// Ids of one feature, numbered as TorchRec's BinaryCriteoUtils.sparse_to_contiguous does: an id
// that comes less than frequency_threshold times becomes 1; the others become 2, 3, … in the order
// in which they come first. 0 is never used.
//
// Memory is bounded: where the distinct ids are too many for it, they are counted in several rounds
// over the rows, each for the ids of one part of their hashes.
#include <cstdint>
#include <span>

namespace tessera {

struct ContiguousIdsOptions {
  int64_t frequency_threshold = 3;          // 1 and below: every id is kept
  int64_t memory_bytes = int64_t{1} << 30;  // of the table that counts
};

struct ContiguousIdsReport {
  int64_t distinct = 0;  // ids
  int64_t kept = 0;      // of them
  int64_t rounds = 1;
  uint64_t hash = 0;  // of the ids that are kept, in the order of their numbers

  // Rows of the smallest table that all numbers fit in.
  int64_t table_rows() const { return kept + 2; }
};

// Writes the number of each id to `out`, which must not overlap. REQUIRES: as many as ids.
ContiguousIdsReport MakeContiguous(std::span<const int64_t> ids, std::span<int64_t> out,
                                   const ContiguousIdsOptions& options);

}  // namespace tessera
#endif  // TESSERA_DATA_PREPROCESS_CONTIGUOUS_IDS_H_
