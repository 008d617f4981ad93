#include "serve/private_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/files/mapping_faults.h"
#include "runtime/files/regular_file.h"

namespace tessera::serve {
namespace {

constexpr int kAccess = PROT_READ | PROT_WRITE;
// Memory that is never written needs no swap, and most of the reserved memory never is.
constexpr int kFlags = MAP_PRIVATE | MAP_NORESERVE;

}  // namespace

PrivateFile::PrivateFile(const std::string& path) : path_(path) {
  const auto [file, bytes] = OpenRegularFile(path);
  file_ = std::make_shared<const OpenedFile>(file, bytes);
}

std::shared_ptr<void> PrivateFile::Map(int64_t offset, int64_t count, int64_t reserved) const {
  TESSERA_DCHECK(offset >= 0 && count >= 0 && count <= reserved && offset + count <= bytes());
  const int64_t page = sysconf(_SC_PAGESIZE), before = offset % page;
  const auto size = static_cast<size_t>(before + reserved);
  if (reserved == 0) return nullptr;
  // All addresses are mapped first, so that nobody takes one in between; then the file over their
  // beginning.
  void* const base = mmap(nullptr, size, kAccess, kFlags | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    throw Error(Format("{}: no address space for {} bytes: {}", path_, size, std::strerror(errno)));
  std::shared_ptr<char> whole(
      static_cast<char*>(base),
      [size, guard = GuardMapping(base, before + count, path_, file_)](char* p) mutable {
        guard.reset();
        munmap(p, size);
      });
  if (count > 0 && mmap(base, static_cast<size_t>(before + count), kAccess, kFlags | MAP_FIXED,
                        file_->number(), static_cast<off_t>(offset - before)) == MAP_FAILED)
    throw Error(Format("{}: cannot be mapped: {}", path_, std::strerror(errno)));
  return std::shared_ptr<void>(whole, whole.get() + before);
}

}  // namespace tessera::serve
