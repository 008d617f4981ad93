#ifndef TESSERA_TRAIN_DATA_CRITEO_FILE_WRITER_H_
#define TESSERA_TRAIN_DATA_CRITEO_FILE_WRITER_H_
// Rows of a click model as a Criteo file.
#include <string>

#include "train/data/click_model.h"
#include "train/data/click_row_stream.h"

namespace tessera {

// Gzip if `path` ends in .gz. Throws Error when it can't be written. REQUIRES: the range has an
// end.
void WriteCriteoFile(const std::string& path, const ClickModel& model, const RowRange& rows);

}  // namespace tessera
#endif  // TESSERA_TRAIN_DATA_CRITEO_FILE_WRITER_H_
