#ifndef TESSERA_SERVE_VERSIONS_FILES_STATE_H_
#define TESSERA_SERVE_VERSIONS_FILES_STATE_H_
// Tells whether the files of a model directory have changed.
#include <string>

namespace tessera::serve {

// A text that differs once a model.json, weights or a delta comes into the directory, goes, or is
// written anew; files that are still being written under another name are left out. "" where the
// directory cannot be read.
std::string FilesState(const std::string& directory);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_VERSIONS_FILES_STATE_H_
