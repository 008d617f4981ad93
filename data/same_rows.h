#ifndef TESSERA_DATA_SAME_ROWS_H_
#define TESSERA_DATA_SAME_ROWS_H_
// Whether two names of data files (data_files.h) stand for the same rows: one file, or two with the
// same bytes. Files of different lengths are not read; a folder of rows is told by its index, which
// has the checksums of all rows.
#include <string>

namespace tessera {

// Throws Error for files that cannot be read.
bool AreSameRows(const std::string& a, const std::string& b);

}  // namespace tessera
#endif  // TESSERA_DATA_SAME_ROWS_H_
