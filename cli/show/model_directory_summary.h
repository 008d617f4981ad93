#ifndef TESSERA_CLI_SHOW_MODEL_DIRECTORY_SUMMARY_H_
#define TESSERA_CLI_SHOW_MODEL_DIRECTORY_SUMMARY_H_
// Summary of a model directory, as tessera inspect shows it: the tables of its newest version as
// they are stored. Of a folder of versions (train/checkpoint/version_folders.h) it is a line for
// each version, and the tables of the newest. Weights and deltas are read and checked.
#include <string>

namespace tessera::cli {

struct ModelDirectorySummary {
  std::string text;
  std::string failure;  // the versions of a folder that cannot be loaded, and what to do; "": none
};

// Throws Error as serve::LoadServedModel does; of a folder where no version can be loaded.
ModelDirectorySummary SummarizeModelDirectory(const std::string& directory, bool as_json);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_MODEL_DIRECTORY_SUMMARY_H_
