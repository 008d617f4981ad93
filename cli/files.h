#ifndef TESSERA_CLI_FILES_H_
#define TESSERA_CLI_FILES_H_
// Files that a command writes.
#include <cstdint>
#include <string>

namespace tessera::cli {

// Throws Error for a path that is a directory.
void CheckIsNoDirectory(const std::string& path);

// Makes the folders above it. Throws Error unless a file can be made there, or a stream be written:
// said before the work, not after it. "" is fine.
void CheckWritable(const std::string& path);
// Checks that a file or folder can be made, and leaves nothing: it tries in the nearest folder
// above it that is there.
void CheckMayBeWritten(const std::string& path);

// Why no file can be made in a folder; "" where one can. It leaves nothing there.
std::string WhyNoFileIn(const std::string& folder);

// The bytes of a file that was written; 0 for a stream, whose reader has them.
int64_t BytesWritten(const std::string& path);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_FILES_H_
