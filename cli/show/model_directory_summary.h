#ifndef TESSERA_CLI_SHOW_MODEL_DIRECTORY_SUMMARY_H_
#define TESSERA_CLI_SHOW_MODEL_DIRECTORY_SUMMARY_H_
// Summary of a model directory, as tessera inspect shows it: the tables of its newest version as
// they are stored. Of a folder of versions (train/checkpoint/version_folders.h) it is a line for
// each version, and the tables of the newest. Weights and deltas are read and checked.
#include <cstdint>
#include <string>

#include "serve/model_spec.h"

namespace tessera::cli {

struct ModelDirectorySummary {
  std::string text;
  std::string failure;  // the versions of a folder that cannot be loaded, and what to do; "": none
};

// Bytes of a table's rows, and of the map of its raw ids, in the file of weights.
int64_t StoredBytes(const serve::TableSpec& table);

// Throws Error as serve::LoadServedModel does; of a folder where no version can be loaded.
ModelDirectorySummary SummarizeModelDirectory(const std::string& directory, bool as_json);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_MODEL_DIRECTORY_SUMMARY_H_
