#ifndef TESSERA_CLI_SHOW_MODEL_DIRECTORY_SUMMARY_H_
#define TESSERA_CLI_SHOW_MODEL_DIRECTORY_SUMMARY_H_
// What tessera inspect says of a model directory: the tables of its newest version as they are
// stored, and what a request has to bring. Weights and deltas are read and checked.
#include <string>

namespace tessera::cli {

// Throw Error as serve::LoadServedModel does.
std::string ModelDirectoryText(const std::string& directory);
std::string ModelDirectoryJson(const std::string& directory);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_MODEL_DIRECTORY_SUMMARY_H_
