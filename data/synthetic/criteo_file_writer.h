#ifndef TESSERA_DATA_SYNTHETIC_CRITEO_FILE_WRITER_H_
#define TESSERA_DATA_SYNTHETIC_CRITEO_FILE_WRITER_H_
// Rows of a click model as a Criteo file.
#include <string>

#include "data/click_row_stream.h"
#include "data/synthetic/click_model.h"

namespace tessera {

// Gzip if `path` ends in .gz. Throws Error when it can't be written. REQUIRES: the range has an
// end.
void WriteCriteoFile(const std::string& path, const ClickModel& model, const RowRange& rows);

}  // namespace tessera
#endif  // TESSERA_DATA_SYNTHETIC_CRITEO_FILE_WRITER_H_
