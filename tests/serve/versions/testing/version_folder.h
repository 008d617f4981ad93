#ifndef TESSERA_TESTS_SERVE_VERSIONS_TESTING_VERSION_FOLDER_H_
#define TESSERA_TESTS_SERVE_VERSIONS_TESTING_VERSION_FOLDER_H_
// Folders of versions of small models, as tessera quantize --keep writes them.
#include <string>

#include "tests/serve/testing/small_model.h"
#include "train/checkpoint/version_folders.h"

namespace tessera::testing {

// Writes a model as the next version of a folder; the folder's path.
inline std::string AddVersion(const SmallModel& model, const std::string& name) {
  const std::string folder = TempPath(name);
  serve::WriteModelOptions options;
  options.version = HighestVersionIn(folder) + 1;
  options.follows = NewestVersionOf(folder);
  WriteSmallModel(model, name + "/" + std::to_string(options.version), options);
  return folder;
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_SERVE_VERSIONS_TESTING_VERSION_FOLDER_H_
