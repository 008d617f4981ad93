#ifndef TESSERA_DATA_SPLIT_SPLIT_TABLE_H_
#define TESSERA_DATA_SPLIT_SPLIT_TABLE_H_
// Splits the rows of a table. A split by key or time reads ids or times of all rows for it, once.
#include <cstdint>
#include <memory>

#include "data/click_row_stream.h"
#include "data/row_table.h"
#include "data/split/last_time.h"
#include "data/split/row_split.h"
#include "data/split/split_counts.h"

namespace tessera {

struct TableToSplit {
  std::shared_ptr<const RowTable> table;
  // The table's rows, with the feature or the times that the split goes by.
  std::shared_ptr<const RowTable> keys;
  int64_t id_rows = 0;  // rows of the table of that feature; 0: its ids are not counted
  int threads = 1;
};

struct PartTables {
  std::shared_ptr<const RowTable> train, eval;
};

// The rows of each part in a range of its own. Tells `counts`. Throws Error for ranges that the
// table does not fill, and by time for rows without times. REQUIRES: a split by time has its `at`.
PartTables SplitTable(const TableToSplit& rows, const SplitOptions& split, const RowRange& train,
                      const RowRange& eval, SplitCounts& counts);

// The times of all rows, in their order. Throws Error for rows without times.
LastTime TimesOf(const RowTable& rows);

}  // namespace tessera
#endif  // TESSERA_DATA_SPLIT_SPLIT_TABLE_H_
