#ifndef TESSERA_CLI_SHOW_COLUMN_TABLE_H_
#define TESSERA_CLI_SHOW_COLUMN_TABLE_H_
// Prints what the columns of a user's rows hold: a table with small histograms, or JSON.
#include <string>
#include <vector>

#include "data/describe/column_role.h"
#include "data/describe/profile_rows.h"

namespace tessera::cli {

// "▁▃▇▂": a character a count, as high as its share of the largest.
std::string Sparkline(const std::vector<int64_t>& counts);

std::string ColumnTable(const RowsProfile& profile, const std::vector<ProposedColumn>& columns);
// {"rows", "all", "bad_lines", "format", "columns": [{"name", "role", …}, …],
//  "not_read": keys that hold objects}
std::string ColumnsJson(const RowsProfile& profile, const std::vector<ProposedColumn>& columns);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_COLUMN_TABLE_H_
