#ifndef TESSERA_RUNTIME_FILES_FILES_H_
#define TESSERA_RUNTIME_FILES_FILES_H_
// Small files as text. Errors name the file.
#include <string>

namespace tessera {

// "folder/name".
std::string PathIn(const std::string& folder, const std::string& name);

// The folder that a path lies in: "." for a bare name.
std::string FolderOf(const std::string& path);

// The path of a file whose name a document in `folder` gives. Throws Error for a name that leads
// out of the folder: with a folder in it, or of a link to elsewhere.
std::string PathOfNamed(const std::string& folder, const std::string& name);

// Throws Error for one that cannot be read.
std::string ReadTextFile(const std::string& path);

// Replaces a file by an AtomicFile: a crash leaves the earlier text. Throws Error on failure.
void ReplaceTextFile(const std::string& path, const std::string& text);

// Makes what was renamed or made in a folder outlast a loss of power. Throws Error when it can't.
void SyncFolder(const std::string& path);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_FILES_FILES_H_
