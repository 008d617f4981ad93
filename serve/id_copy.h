#ifndef TESSERA_SERVE_ID_COPY_H_
#define TESSERA_SERVE_ID_COPY_H_
// The ids of requests copied as the rows of a served table that they name: as they are, by the
// remap of a pruned table, or by a map of raw ids.
#include <algorithm>
#include <array>
#include <cstdint>

#include "embedding/lookup/lookup.h"
#include "embedding/managed_collision/index/id_hash.h"
#include "serve/model_spec.h"
#include "serve/raw_id_map.h"
#include "serve/table_remap.h"

namespace tessera::serve {

inline int64_t HashedRawId(const RawIdRule& rule, int64_t raw) {
  return rule.hash_below > 0 ? tessera::internal::HashBelow(raw, rule.hash_below) : raw;
}

// Returns the key under which the map of a table knows a raw id.
inline int64_t RawIdKey(const TableSpec& table, int64_t raw) {
  const RawIdRule& rule = *table.raw_ids;
  if (rule.hash_below == 0) return raw;
  return rule.Key(rule.Parts(table.rows).PartOf(raw), HashedRawId(rule, raw));
}
// The default row, or −1.
int64_t DefaultRow(const TableSpec& table);
// The row that a raw id which the map lacks reads, or −1.
int64_t UnknownRow(const TableSpec& table, int64_t raw);

// Finds rows for the ids of one table.
struct IdRows {
  const TableSpec& table;
  const TableRemap* remap;  // null: the table is not pruned
  const RawIdMap* raw;      // null: it has no raw ids
};

// Copies ids as the rows they name, or as what unknown ones read.
template <typename Row>
class IdCopy {
 public:
  IdCopy(const IdRows& rows, Row* out)
      : rows_(rows), unknown_(static_cast<Row>(DefaultRow(rows.table))), out_(out) {}

  void Append(const IndexArray& ids, int64_t begin, int64_t end) {
    ids_ += end - begin;
    if (rows_.raw != nullptr) return AppendRaw(ids, begin, end);
    if (rows_.remap == nullptr) return AppendRows(ids, begin, end, [](int64_t id) { return id; });
    AppendRows(ids, begin, end,
               [view = rows_.remap->view()](int64_t id) { return view.RowOf(id); });
  }
  Row* end() const { return out_; }
  int64_t hits() const { return ids_ - misses_; }
  int64_t misses() const { return misses_; }

 private:
  // Slots are asked for before they are read: most are not in a cache.
  static constexpr int64_t kAhead = 16;

  template <typename Fn>
  void AppendRows(const IndexArray& ids, int64_t begin, int64_t end, const Fn& row_of) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = row_of(ids[i]);
      const bool known = IsRow(row, rows_.table.rows);
      *out_++ = known ? static_cast<Row>(row) : unknown_;
      misses_ += known ? 0 : 1;
    }
  }
  void AppendRaw(const IndexArray& ids, int64_t begin, int64_t end) {
    const RawIdView view = rows_.raw->view();
    const TableSpec& table = rows_.table;
    std::array<int64_t, static_cast<size_t>(kAhead)> keys;
    for (int64_t from = begin; from < end; from += kAhead) {
      const int64_t count = std::min(kAhead, end - from);
      for (int64_t i = 0; i < count; ++i) {
        keys[static_cast<size_t>(i)] = RawIdKey(table, ids[from + i]);
        view.Prefetch(keys[static_cast<size_t>(i)]);
      }
      for (int64_t i = 0; i < count; ++i) {
        const int64_t row = view.RowOf(keys[static_cast<size_t>(i)]);
        *out_++ = static_cast<Row>(row >= 0 ? row : UnknownRow(table, ids[from + i]));
        misses_ += row >= 0 ? 0 : 1;
      }
    }
  }

  const IdRows& rows_;
  const Row unknown_;
  Row* out_;
  int64_t ids_ = 0, misses_ = 0;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_ID_COPY_H_
