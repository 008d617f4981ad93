#include "serve/id_copy.h"

#include "embedding/managed_collision/index/zch_probe.h"

namespace tessera::serve {

int64_t DefaultRow(const TableSpec& table) { return table.default_row ? table.rows : -1; }

int64_t UnknownRow(const TableSpec& table, int64_t raw) {
  const RawIdRule& rule = *table.raw_ids;
  if (rule.unknown == UnknownIds::kDefault) return DefaultRow(table);
  const HashParts parts = rule.Parts(table.rows);
  const int64_t part = parts.PartOf(raw), id = HashedRawId(rule, raw);
  if (rule.unknown == UnknownIds::kRows)
    return rule.RowOfPart(table.rows, part,
                          rule.first_row + tessera::internal::ResidualHashBelow(id, rule.num_rows));
  const tessera::internal::ZchSlots slots{.identities = nullptr,
                                          .buckets = rule.buckets,
                                          .bucket_size = parts.rows_a_part / rule.buckets,
                                          .reserved = rule.reserved,
                                          .input_hash_size = rule.input_hash_size,
                                          .max_probe = 0};
  return rule.RowOfPart(table.rows, part, slots.Fallback(slots.PlaceOf(id), true));
}

}  // namespace tessera::serve
