#include "sharding/plan/hash_parts.h"

#include "runtime/base/check.h"

namespace tessera {
namespace {

bool CutsRowsOnly(ShardingType type) {
  return type == ShardingType::kRowWise || type == ShardingType::kTableRowWise ||
         type == ShardingType::kTableWise;
}

}  // namespace

std::string PartPrefix(int64_t part) { return Format("_parts.{}.", part); }

HashParts MakeHashParts(const std::string& table, int64_t rows, int64_t num_parts) {
  TESSERA_CHECK(num_parts > 0 && rows >= num_parts && rows % num_parts == 0,
                "table {}: its {} rows in {} parts by hash; expected a number that divides them",
                table, rows, num_parts);
  return {num_parts, rows / num_parts};
}

HashParts MakeHashParts(const TableShape& table, const TableSharding& sharding, int64_t num_parts) {
  const HashParts parts = MakeHashParts(table.name, table.rows, num_parts);
  TESSERA_CHECK(CutsRowsOnly(sharding.type),
                "table {} is sharded {}, but its raw ids become rows on one rank each: expected "
                "row_wise, table_row_wise or table_wise",
                table.name, sharding.type);
  for (const Shard& s : sharding.shards)
    TESSERA_CHECK(
        s.row_offset % parts.rows_a_part == 0 && s.rows % parts.rows_a_part == 0,
        "table {}, {}: expected whole parts of {} rows, as plans by the words row_wise and "
        "table_row_wise have them (in C++ RowWiseBuckets({}))",
        table.name, s, parts.rows_a_part, num_parts);
  return parts;
}

}  // namespace tessera
