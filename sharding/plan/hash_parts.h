#ifndef TESSERA_SHARDING_PLAN_HASH_PARTS_H_
#define TESSERA_SHARDING_PLAN_HASH_PARTS_H_
// A table whose ids are any 64-bit numbers, cut by a hash of them into P logical parts:
//
//   part of an id   ⌊h(id) · P / 2^64⌋, h a bijection of 64-bit numbers
//   rows of part p  [p · n, (p + 1) · n), n = rows / P
//
// Ids of a part get rows of this part alone, so a part is a small table of its own. Its rank is the
// one that has its rows: P belongs to the table, not to the number of ranks, and another plan moves
// whole parts.
#include <cstdint>
#include <string>

#include "runtime/base/hash.h"
#include "runtime/base/host_device.h"
#include "sharding/plan/plan.h"
#include "sparse/ops/divider.h"

namespace tessera {

struct HashParts {
  int64_t num_parts = 0;  // 0: ids are row numbers
  int64_t rows_a_part = 0;

  // A bijection (MixedBits of a multiple of id + 1), unlike the hashes by which modules of managed
  // collision find ids: all ids of a part agree in its leading bits.
  TESSERA_HD static uint64_t Hash(int64_t id) {
    return internal::MixedBits((static_cast<uint64_t>(id) + 1) * internal::kGoldenRatio);
  }
  TESSERA_HD int64_t PartOf(int64_t id) const {
    const auto product =
        static_cast<internal::UInt128>(Hash(id)) * static_cast<uint64_t>(num_parts);
    return static_cast<int64_t>(product >> 64);
  }
  // First row of the id's part.
  TESSERA_HD int64_t FirstRowOf(int64_t id) const { return PartOf(id) * rows_a_part; }
};

// "_parts.<part>.": what names of a part's tensors begin with, behind those of the table.
std::string PartPrefix(int64_t part);

// Throws Error unless num_parts divides the table's rows.
HashParts MakeHashParts(const std::string& table, int64_t rows, int64_t num_parts);
// Makes the parts of a table; throws Error unless every shard has all columns of whole parts:
// table_wise, row_wise (RowWiseBuckets) and table_row_wise (TableRowWiseBuckets) can.
HashParts MakeHashParts(const TableShape& table, const TableSharding& sharding, int64_t num_parts);

}  // namespace tessera
#endif  // TESSERA_SHARDING_PLAN_HASH_PARTS_H_
