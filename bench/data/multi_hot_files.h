#ifndef TESSERA_BENCH_DATA_MULTI_HOT_FILES_H_
#define TESSERA_BENCH_DATA_MULTI_HOT_FILES_H_
// The first two days that the peers' script multihot.py generates: MLPerf's multi-hot rows, 214 ids
// each, as npz days and as a row folder of the same rows.
#include <functional>
#include <memory>
#include <string>

#include "data/row_table.h"
#include "runtime/context.h"

namespace tessera::bench {

// The days in a folder, mapped. Throws Error, naming the file, where they are not there.
std::shared_ptr<const RowTable> MapDays(const std::string& folder);

// Writes the rows of a table as lines of JSON, parses them into the folder `to`, and maps that.
std::shared_ptr<const RowTable> FolderOf(Context& ctx, const RowTable& rows, const std::string& to);

// Throws Error unless the table has the rows of the days, element by element.
void CheckRowsOfDays(Context& ctx, const RowTable& table, const std::string& folder);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_DATA_MULTI_HOT_FILES_H_
