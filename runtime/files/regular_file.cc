#include "runtime/files/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/check.h"

namespace tessera {

RegularFile OpenRegularFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info = {};
  if (file >= 0 && fstat(file, &info) == 0 && S_ISREG(info.st_mode))
    return {file, static_cast<int64_t>(info.st_size)};
  const std::string reason = info.st_mode == 0 ? std::strerror(errno)
                             : S_ISDIR(info.st_mode)
                                 ? std::strerror(EISDIR)
                                 : "it is a pipe, a socket or a device; expected a file";
  if (file >= 0) close(file);
  throw Error(Format("{}: cannot be read: {}", path, reason));
}

}  // namespace tessera
