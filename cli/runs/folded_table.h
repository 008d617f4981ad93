#ifndef TESSERA_CLI_RUNS_FOLDED_TABLE_H_
#define TESSERA_CLI_RUNS_FOLDED_TABLE_H_
// Tables that may have more columns than a terminal.
#include <string>
#include <vector>

namespace tessera::cli {

// The table as text (runtime/base/report_text.h). One that is wider than 100 columns has its rows
// and columns exchanged; where that is too wide, too, it is folded: some of its columns at a time
// below each other, each time beside the first one, in the way that takes fewer lines.
std::string FoldedTable(const std::vector<std::vector<std::string>>& rows);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_RUNS_FOLDED_TABLE_H_
