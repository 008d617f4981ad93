#include "serve/versions/files_state.h"

#include <sys/stat.h>

#include <filesystem>
#include <set>
#include <system_error>

#include "runtime/base/check.h"
#include "train/checkpoint/version_folders.h"

namespace tessera::serve {
namespace {

// Name, inode, size and time of a file; "" for one that has gone.
std::string StateOf(const std::filesystem::path& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return "";
  return Format("{} {} {} {}.{}\n", path.filename().string(), about.st_ino, about.st_size,
                about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
}

}  // namespace

std::string FilesState(const std::string& directory) {
  std::set<std::string> states;  // in one order, whatever that of the directory is
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::filesystem::path& path = entry.path();
    if (path.filename() == kModelName || path.extension() == ".safetensors")
      states.insert(StateOf(path));
  }
  std::string text;
  for (const std::string& state : states) text += state;
  return text;
}

}  // namespace tessera::serve
