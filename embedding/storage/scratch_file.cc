#include "embedding/storage/scratch_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/base/check.h"
#include "runtime/base/report_text.h"

namespace tessera {
namespace {

std::string FolderOf(const std::string& folder) {
  if (!folder.empty()) return folder;
  const char* temporary = std::getenv("TMPDIR");
  return temporary != nullptr && *temporary != 0 ? temporary : "/tmp";
}

// Uses O_TMPFILE if the file system has it, else a file whose name is removed at once. −1 and errno
// on failure.
int OpenUnnamed(const std::string& folder, int flags) {
  const int fd = open(folder.c_str(), O_RDWR | O_CLOEXEC | O_TMPFILE | flags, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
  std::string name = folder + "/tessera-rows-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC | flags);
  const int reason = errno;
  if (named >= 0) unlink(name.c_str());
  errno = reason;
  return named;
}

}  // namespace

void FreeAligned::operator()(char* memory) const { std::free(memory); }

AlignedBytes AllocateAligned(int64_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, static_cast<size_t>(kBlockBytes), static_cast<size_t>(bytes)) != 0)
    throw std::bad_alloc();
  return AlignedBytes(static_cast<char*>(memory));
}

ScratchFile::ScratchFile(const std::string& folder, int64_t bytes)
    : folder_(FolderOf(folder)), bytes_(bytes) {
  fd_ = OpenUnnamed(folder_, O_DIRECT);
  direct_ = fd_ >= 0;
  if (fd_ < 0 && errno == EINVAL) fd_ = OpenUnnamed(folder_, 0);
  if (fd_ < 0)
    throw Error(Format("{}: no scratch file for rows can be made there: {}", folder_,
                       std::strerror(errno)));
  fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NOATIME);  // saves time a read; else all is the same
  try {
    Reserve(bytes);
  } catch (...) {
    close(fd_);
    throw;
  }
}

// The file-size limit is checked first: running into it would be a signal.
void ScratchFile::Reserve(int64_t bytes) const {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      limit.rlim_cur < static_cast<rlim_t>(bytes))
    throw Error(Format("{}: no room for {} of rows: files are limited to {} (ulimit -f)", folder_,
                       internal::Bytes(bytes),
                       internal::Bytes(static_cast<int64_t>(limit.rlim_cur))));
  const int reason = posix_fallocate(fd_, 0, bytes);
  if (reason != 0)
    throw Error(Format("{}: no room for {} of rows: {}", folder_, internal::Bytes(bytes),
                       std::strerror(reason)));
}

ScratchFile::~ScratchFile() { close(fd_); }

}  // namespace tessera
