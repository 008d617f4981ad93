#include "runtime/files/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include "runtime/base/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/steady_read.h"

namespace tessera {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

[[noreturn]] void ThrowErrno(const std::string& path, const char* what) {
  throw Error(Format("{}: {}: {}", path, what, std::strerror(errno)));
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

std::string ReadTextFile(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) ThrowErrno(path, "cannot be read");
  std::string text;
  char piece[1 << 14];
  try {
    for (size_t count; (count = ReadSteadily(file.get(), piece, sizeof piece)) > 0;)
      text.append(piece, count);
  } catch (const Error& error) {
    throw Error(Format("{}: {}", path, error.what()));
  }
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
  const bool synced = fsync(folder) == 0;
  const int reason = errno;
  close(folder);
  errno = reason;
  if (!synced) ThrowErrno(path, "cannot be synced");
}

}  // namespace tessera
