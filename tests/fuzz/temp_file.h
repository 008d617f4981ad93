#ifndef TESSERA_TESTS_FUZZ_TEMP_FILE_H_
#define TESSERA_TESTS_FUZZ_TEMP_FILE_H_
// Files for readers that take a path.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "runtime/base/check.h"

namespace tessera::fuzz {

// A path in the test's own folder.
inline std::string TempPath(const std::string& name) {
  const char* folder = std::getenv("TEST_TMPDIR");
  return (folder != nullptr ? std::string(folder)
                            : std::filesystem::temp_directory_path().string()) +
         "/" + name;
}

// A file whose bytes are in memory, behind a link of that name: a disk takes milliseconds for each
// of ten thousand.
inline std::string WriteTempFile(const std::string& name, std::string_view bytes) {
  static std::map<std::string, int> files;
  const std::string path = TempPath(name);
  auto found = files.find(name);
  if (found == files.end()) {
    found = files.emplace(name, memfd_create(name.c_str(), 0)).first;
    std::filesystem::remove(path);
    std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(found->second), path);
  }
  const auto count = static_cast<ssize_t>(bytes.size());
  TESSERA_CHECK(ftruncate(found->second, 0) == 0 &&
                    pwrite(found->second, bytes.data(), bytes.size(), 0) == count,
                "{}: cannot be written", path);
  return path;
}

// The index of the folder, whose shards stay as they are, becomes these bytes: a link to memory.
inline void WriteFolderIndex(const std::string& folder, std::string_view bytes) {
  const std::string index = folder + "/index.json", file = WriteTempFile("index", bytes);
  static bool linked = false;
  if (linked) return;
  std::filesystem::remove(index);
  std::filesystem::create_symlink(file, index);
  linked = true;
}

}  // namespace tessera::fuzz
#endif  // TESSERA_TESTS_FUZZ_TEMP_FILE_H_
