#include "runtime/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/files/mapping_faults.h"
#include "runtime/files/regular_file.h"

namespace tessera {
namespace {

[[noreturn]] void ThrowErrno(const std::string& path, const char* what, int reason) {
  throw Error(Format("{}: {}: {}", path, what, std::strerror(reason)));
}

}  // namespace

MappedFile::MappedFile(const std::string& path, bool watched) : MappedFile("", -1, 0, Use::kRead) {
  const auto [file, bytes] = OpenRegularFile(path);
  *this = MappedFile(path, file, bytes, watched ? Use::kWatched : Use::kRead);
}

MappedFile::MappedFile(const std::string& path, int file, int64_t bytes, Use use)
    : path_(path), bytes_(bytes) {
  if (file < 0) return;
  const int access = use == Use::kWritten ? PROT_READ | PROT_WRITE : PROT_READ;
  auto opened = std::make_shared<const OpenedFile>(file, bytes);
  const auto size = static_cast<size_t>(bytes);
  void* const data = bytes == 0 ? nullptr : mmap(nullptr, size, access, MAP_SHARED, file, 0);
  if (data == MAP_FAILED) ThrowErrno(path, "cannot be mapped", errno);
  if (use != Use::kWatched) opened.reset();
  if (data != nullptr)
    data_ = {data,
             [size, guard = GuardMapping(data, bytes, path, std::move(opened))](void* p) mutable {
               guard.reset();
               munmap(p, size);
             }};
}

MappedFile MappedFile::Create(const std::string& path, int64_t bytes) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) ThrowErrno(path, "cannot be written", errno);
  // Space is taken now, so that a full disk is an error here, and not a fault at some write.
  const int reason = bytes == 0 ? 0 : posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (reason != 0) {
    close(file);
    ThrowErrno(path, "cannot be written", reason);
  }
  return MappedFile(path, file, bytes, Use::kWritten);
}

}  // namespace tessera
