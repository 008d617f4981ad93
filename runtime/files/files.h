#ifndef TESSERA_RUNTIME_FILES_FILES_H_
#define TESSERA_RUNTIME_FILES_FILES_H_
// Small files as text. Errors name the file.
#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

// "folder/name".
std::string PathIn(const std::string& folder, const std::string& name);

// The folder that a path lies in: "." for a bare name.
std::string FolderOf(const std::string& path);

// The path of a file whose name a document in `folder` gives. Throws Error for a name that leads
// out of the folder: with a folder in it, or of a link to elsewhere.
std::string PathOfNamed(const std::string& folder, const std::string& name);

// Whether something is there, and whether it is a folder; links are followed. Throws Error, naming
// the path, where this cannot be known, as in a folder that may not be entered.
bool IsThere(const std::string& path);
bool IsFolder(const std::string& path);

// The names of what lies in a folder, sorted. Throws Error, naming it, where it cannot be read.
std::vector<std::string> EntriesOf(const std::string& folder);

// More bytes are no document, but data.
inline constexpr int64_t kMostTextBytes = int64_t{1} << 30;

// Reads a file, a pipe or a terminal to its end. Throws Error for one that cannot be read, has more
// bytes than `most`, of which no more are read, or is another device, such as /dev/zero.
std::string ReadTextFile(const std::string& path, int64_t most = kMostTextBytes);

// Replaces a file by an AtomicFile: a crash leaves the earlier text. Throws Error on failure.
void ReplaceTextFile(const std::string& path, const std::string& text);

// Makes what was renamed or made in a folder outlast a loss of power, where its file system can.
// Throws Error when that fails.
void SyncFolder(const std::string& path);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_FILES_FILES_H_
