#ifndef TESSERA_CLI_SHOW_REPEATED_FILES_H_
#define TESSERA_CLI_SHOW_REPEATED_FILES_H_
// Files of rows that a command was given more than once.
#include <string>
#include <vector>

namespace tessera::cli {

// Warns of each file, by whatever name, that is there more than once. Paths may be patterns.
void WarnOfRepeatedFiles(const std::vector<std::string>& paths);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_REPEATED_FILES_H_
