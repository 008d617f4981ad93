#include "runtime/files/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include "runtime/base/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/steady_read.h"

namespace tessera {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

[[noreturn]] void ThrowErrno(const std::string& path, const char* what) {
  throw Error(Format("{}: {}: {}", path, what, std::strerror(errno)));
}

// False where nothing is there.
bool StatusOf(const std::string& path, struct stat& info) {
  if (stat(path.c_str(), &info) == 0) return true;
  if (errno != ENOENT && errno != ENOTDIR) ThrowErrno(path, "cannot be read");
  return false;
}

void CheckIsNoMore(const std::string& path, int64_t bytes, int64_t most) {
  if (bytes > most)
    throw Error(Format("{}: expected a text of at most {} bytes, got more", path, most));
}

// Throws Error for a file that has no end, or one that is too far.
void CheckHasEnd(const std::string& path, std::FILE* file, int64_t most) {
  struct stat info;
  if (fstat(fileno(file), &info) != 0) ThrowErrno(path, "cannot be read");
  const bool is_null = info.st_rdev == makedev(1, 3);
  if (S_ISCHR(info.st_mode) && !is_null && isatty(fileno(file)) == 0)
    throw Error(Format("{}: expected a file or a pipe, got a device", path));
  if (S_ISREG(info.st_mode)) CheckIsNoMore(path, int64_t{info.st_size}, most);
}

}  // namespace

std::string PathIn(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

std::string PathOfNamed(const std::string& folder, const std::string& name) {
  namespace fs = std::filesystem;
  const std::string path = PathIn(folder, name);
  if (name.empty() || name == "." || name == ".." ||
      name.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
    throw Error(
        Format("{}: expected the name of a file in it, without a folder, got '{}'", folder, name));
  std::error_code error;
  if (!fs::is_symlink(path, error)) return path;
  const fs::path target = fs::canonical(path, error), here = fs::canonical(folder, error);
  if (!target.empty() && target.parent_path() != here)
    throw Error(
        Format("{}: it is a link that leads out of its folder, to {}", path, target.string()));
  return path;
}

bool IsThere(const std::string& path) {
  struct stat info;
  return StatusOf(path, info);
}

bool IsFolder(const std::string& path) {
  struct stat info;
  return StatusOf(path, info) && S_ISDIR(info.st_mode);
}

std::vector<std::string> EntriesOf(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error) throw Error(Format("{}: cannot be read: {}", folder, error.message()));
  std::sort(names.begin(), names.end());
  return names;
}

std::string ReadTextFile(const std::string& path, int64_t most) {
  const File file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) ThrowErrno(path, "cannot be read");
  CheckHasEnd(path, file.get(), most);
  std::string text;
  char piece[1 << 14];
  try {
    for (size_t count; (count = ReadSteadily(file.get(), piece, sizeof piece)) > 0;) {
      text.append(piece, count);
      if (std::ssize(text) > most) break;
    }
  } catch (const Error& error) {
    throw Error(Format("{}: {}", path, error.what()));
  }
  CheckIsNoMore(path, std::ssize(text), most);
  return text;
}

void ReplaceTextFile(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.Write(text.data(), std::ssize(text));
  file.Commit();
}

void SyncFolder(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY);
  if (folder < 0) ThrowErrno(path, "cannot be opened");
  // Some file systems, as those over a network, know no sync of folders.
  const bool synced =
      fsync(folder) == 0 || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP;
  const int reason = errno;
  close(folder);
  errno = reason;
  if (!synced) ThrowErrno(path, "cannot be synced");
}

}  // namespace tessera
