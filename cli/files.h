#ifndef TESSERA_CLI_FILES_H_
#define TESSERA_CLI_FILES_H_
// Files that a command writes.
#include <string>

namespace tessera::cli {

// Makes the folders above it. Throws Error unless a file can be made there: said before the work,
// not after it. "" is fine.
void CheckWritable(const std::string& path);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_FILES_H_
