#ifndef TESSERA_CLI_SHOW_MODEL_DIRECTORY_SUMMARY_H_
#define TESSERA_CLI_SHOW_MODEL_DIRECTORY_SUMMARY_H_
// Summary of a model directory, as tessera inspect shows it: the tables of its newest version as
// they are stored. Of a folder of versions (train/checkpoint/version_folders.h) it is a line for
// each version, and the tables of the newest. Weights and deltas are read and checked.
#include <string>

namespace tessera::cli {

// Throw Error as serve::LoadServedModel does.
std::string ModelDirectoryText(const std::string& directory);
std::string ModelDirectoryJson(const std::string& directory);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_MODEL_DIRECTORY_SUMMARY_H_
