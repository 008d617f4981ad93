#ifndef TESSERA_CLI_SHOW_BAD_LINES_H_
#define TESSERA_CLI_SHOW_BAD_LINES_H_
// Says how many bad lines were left out.
#include <string>

#include "data/data_source.h"

namespace tessera::cli {

// "left out 1,234 bad lines (1,000: expected a number; 234: expected 4 columns)"; without reasons
// the first part alone.
std::string LeftOut(int64_t lines, const BadLineCounts& reasons);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_BAD_LINES_H_
