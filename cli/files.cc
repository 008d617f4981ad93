#include "cli/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "runtime/base/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/files.h"

namespace tessera::cli {
namespace {

void CheckFolder(const std::string& path, const std::string& folder) {
  const std::string why = WhyNoFileIn(folder);
  if (!why.empty()) throw Error(Format("{}: cannot be written: {}: {}", path, folder, why));
}

bool IsWritableStream(const std::string& path) {
  if (!IsStream(path)) return false;
  if (access(path.c_str(), W_OK) != 0)
    throw Error(Format("{}: cannot be written: {}", path, std::strerror(errno)));
  return true;
}

}  // namespace

// A file system may refuse what the folder's rights allow, so a file is made, which has no name, or
// loses it at once.
std::string WhyNoFileIn(const std::string& folder) {
  if (access(folder.c_str(), W_OK | X_OK) != 0) return std::strerror(errno);
  int file = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) {  // the file system may know no file without a name
    std::string path = PathIn(folder, ".tessera-XXXXXX");
    file = mkostemp(path.data(), O_CLOEXEC);
    if (file < 0)  // the folder itself is there
      return errno == ENOENT ? "its file system takes no new files" : std::strerror(errno);
    unlink(path.c_str());
  }
  close(file);
  return "";
}

void CheckIsNoDirectory(const std::string& path) {
  std::error_code error;  // of what is no directory either
  if (std::filesystem::is_directory(path, error))
    throw Error(Format("{}: cannot be written: it is a directory", path));
}

void CheckWritable(const std::string& path) {
  if (path.empty()) return;
  CheckIsNoDirectory(path);
  if (IsWritableStream(path)) return;
  const std::filesystem::path parent = std::filesystem::path(WrittenPath(path)).parent_path();
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  if (error) CheckMayBeWritten(path);  // names the folder in which none can be made
  CheckFolder(path, parent.empty() ? "." : parent.string());
}

void CheckMayBeWritten(const std::string& path) {
  namespace fs = std::filesystem;
  if (path.empty() || IsWritableStream(path)) return;
  fs::path folder = fs::absolute(WrittenPath(path)).lexically_normal().parent_path();
  std::error_code ignored;
  while (!fs::exists(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  if (!fs::is_directory(folder, ignored))
    throw Error(Format("{}: cannot be written: {}: it is no directory", path, folder.string()));
  CheckFolder(path, folder.string());
}

int64_t BytesWritten(const std::string& path) {
  std::error_code of_stream;
  const std::uintmax_t bytes = std::filesystem::file_size(path, of_stream);
  return of_stream ? 0 : static_cast<int64_t>(bytes);
}

}  // namespace tessera::cli
