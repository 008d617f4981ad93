#include "cli/files.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "runtime/base/check.h"

namespace tessera::cli {

void CheckIsNoDirectory(const std::string& path) {
  if (std::filesystem::is_directory(path))
    throw Error(Format("{}: cannot be written: it is a directory", path));
}

void CheckWritable(const std::string& path) {
  if (path.empty()) return;
  CheckIsNoDirectory(path);
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::error_code ignored;  // a folder that cannot be made cannot be written to either
  std::filesystem::create_directories(parent, ignored);
  const std::string folder = parent.empty() ? std::string(".") : parent.string();
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    throw Error(Format("{}: cannot be written: {}: {}", path, folder, std::strerror(errno)));
}

void CheckMayBeWritten(const std::string& path) {
  namespace fs = std::filesystem;
  if (path.empty()) return;
  fs::path folder = fs::absolute(path).lexically_normal().parent_path();
  std::error_code ignored;
  while (!fs::exists(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  if (!fs::is_directory(folder, ignored) || access(folder.c_str(), W_OK | X_OK) != 0)
    throw Error(
        Format("{}: cannot be written: {}: {}", path, folder.string(),
               fs::is_directory(folder, ignored) ? std::strerror(errno) : "it is no directory"));
}

}  // namespace tessera::cli
