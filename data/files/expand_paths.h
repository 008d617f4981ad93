#ifndef TESSERA_DATA_FILES_EXPAND_PATHS_H_
#define TESSERA_DATA_FILES_EXPAND_PATHS_H_
// The paths of data that a user gives.
#include <string>
#include <vector>

namespace tessera {

// "-" is standard input; a pattern with *, ? or [ that is no file itself stands for the files that
// match it, in the order of their names. Throws Error for a pattern that no file matches, and for a
// pipe that is given twice.
std::vector<std::string> ExpandPaths(const std::vector<std::string>& paths);

// Whether a path can be read from its beginning again: a pipe, and so standard input, cannot.
bool CanReadAgain(const std::string& path);

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_EXPAND_PATHS_H_
