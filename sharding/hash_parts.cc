#include "sharding/hash_parts.h"

#include "runtime/check.h"

namespace tessera {
namespace {

bool CutsRowsOnly(ShardingType type) {
  return type == ShardingType::kRowWise || type == ShardingType::kTableRowWise ||
         type == ShardingType::kTableWise;
}

}  // namespace

HashParts MakeHashParts(const TableShape& table, const TableSharding& sharding, int64_t num_parts) {
  TESSERA_CHECK(num_parts > 0 && table.rows % num_parts == 0,
                "table {}: its {} rows in {} parts by hash; expected a number that divides them",
                table.name, table.rows, num_parts);
  TESSERA_CHECK(CutsRowsOnly(sharding.type),
                "table {} is sharded {}, but its raw ids become rows on one rank each: expected "
                "row_wise, table_row_wise or table_wise",
                table.name, sharding.type);
  const HashParts parts{num_parts, table.rows / num_parts};
  for (const Shard& s : sharding.shards)
    TESSERA_CHECK(s.row_offset % parts.rows_a_part == 0 && s.rows % parts.rows_a_part == 0,
                  "table {}, {}: expected whole parts of {} rows (RowWiseBuckets({}) has them)",
                  table.name, s, parts.rows_a_part, num_parts);
  return parts;
}

}  // namespace tessera
