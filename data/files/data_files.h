#ifndef TESSERA_DATA_FILES_DATA_FILES_H_
#define TESSERA_DATA_FILES_DATA_FILES_H_
// Kinds of data that may lie at a path that a user gives.
#include <string>
#include <vector>

#include "data/files/stored_rows.h"

namespace tessera {

enum class FileLayout {
  kText,  // Criteo rows, plain or .gz (criteo_stream.h)
  kNpy,   // a day of three npy files, named by any of them or by what they begin with (npy_rows.h)
  kFolder,  // a row folder (row_folder.h)
};
std::string ToString(FileLayout layout);  // "text", "npy", "folder"

// Anything that is not one of the others is text. Throws Error for Parquet, of which there is no
// reader here.
FileLayout LayoutOfFile(const std::string& path);
// The one layout that all paths have. Throws Error for different ones. REQUIRES: some path.
FileLayout LayoutOfFiles(const std::vector<std::string>& paths);

// Whether the paths are row folders; false where none is. Throws Error where some are, others not.
bool AreRowFolders(const std::vector<std::string>& paths);

// The rows of npy days or of row folders, in the order given. Throws Error for files that do not
// fit together. REQUIRES: one layout, other than text.
StoredParts MapStoredFiles(const std::vector<std::string>& paths);

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_DATA_FILES_H_
