#ifndef TESSERA_CLI_QUANTIZE_WRITTEN_MODEL_REPORT_H_
#define TESSERA_CLI_QUANTIZE_WRITTEN_MODEL_REPORT_H_
// The words of tessera quantize about the model that it has written.
#include <string>

#include "serve/export/model_writer.h"

namespace tessera::cli {

// Prints the tables with the errors of their codecs, and what padding wastes. Warns of rows that do
// not decode as finite numbers, and of tables that pruning would have emptied. `out`: the directory
// of the model.
void ReportWrittenModel(const serve::WrittenModel& model, const std::string& out);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_QUANTIZE_WRITTEN_MODEL_REPORT_H_
