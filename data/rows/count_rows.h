#ifndef TESSERA_DATA_ROWS_COUNT_ROWS_H_
#define TESSERA_DATA_ROWS_COUNT_ROWS_H_
// How many rows text has, without parsing it.
#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

// The lines of text files, without the first one of each where they have `headings`. Reads until
// there are `enough`, and may then have counted more of them. Throws Error as TextPieces.
int64_t CountRows(const std::vector<std::string>& paths, bool headings, int64_t enough);

}  // namespace tessera
#endif  // TESSERA_DATA_ROWS_COUNT_ROWS_H_
