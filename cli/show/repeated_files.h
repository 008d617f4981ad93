#ifndef TESSERA_CLI_SHOW_REPEATED_FILES_H_
#define TESSERA_CLI_SHOW_REPEATED_FILES_H_
// Files of rows that a command was given more than once.
#include <string>
#include <vector>

namespace tessera::cli {

// Warns of each file, by whatever name, that is there more than once, and of each that has the
// fingerprint (data/files/data_identity.h) of one before it. Paths may be patterns. `and_so` ends
// the sentences: what follows beside rows that count more than once.
void WarnOfRepeatedFiles(const std::vector<std::string>& paths, const std::string& and_so = "");

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_REPEATED_FILES_H_
