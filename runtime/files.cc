#include "runtime/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "runtime/check.h"

namespace tessera {
namespace {

[[noreturn]] void ThrowErrno(const std::string& path, const char* what) {
  throw Error(Format("{}: {}: {}", path, what, std::strerror(errno)));
}

}  // namespace

std::string ReadTextFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) ThrowErrno(path, "cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad() || (text.fail() && file.gcount() > 0)) ThrowErrno(path, "cannot be read");
  return text.str();
}

void ReplaceTextFile(const std::string& path, const std::string& text) {
  const std::string beside = path + ".tmp";
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(beside.c_str(), "wb"),
                                                       std::fclose);
  if (file == nullptr) ThrowErrno(path, "cannot be written");
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
                       std::fflush(file.get()) == 0 && fsync(fileno(file.get())) == 0;
  const int reason = errno;
  file.reset();
  if (!written) {
    std::remove(beside.c_str());
    errno = reason;
    ThrowErrno(path, "cannot be written");
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) ThrowErrno(path, "cannot be written");
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
