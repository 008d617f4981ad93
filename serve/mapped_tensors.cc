#include "serve/mapped_tensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/safetensors.h"

namespace tessera::serve {
namespace {

// The whole file. The header was read by its name before: a file renamed over it in between has
// another size, or another header, and is refused by what is checked then.
std::shared_ptr<void> Map(const std::string& path, int64_t bytes) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  TESSERA_CHECK(file >= 0, "{}: cannot be read: {}", path, std::strerror(errno));
  const off_t there = lseek(file, 0, SEEK_END);
  const auto size = static_cast<size_t>(bytes);
  void* data = there == bytes ? mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
  const int reason = there == bytes ? errno : 0;
  close(file);
  TESSERA_CHECK(reason == 0 || data != MAP_FAILED, "{}: cannot be mapped: {}", path,
                std::strerror(reason));
  TESSERA_CHECK(data != MAP_FAILED, "{}: it changed while it was opened", path);
  return {data, [size](void* p) { munmap(p, size); }};
}

}  // namespace

MappedTensors::MappedTensors(const std::string& path) : path_(path) {
  const SafetensorsFile file(path);
  int64_t bytes = 0;
  for (const auto& [name, entry] : file.entries())
    bytes = std::max(bytes, entry.begin + entry.nbytes());
  if (bytes == 0) return;  // no tensors
  const std::shared_ptr<void> mapped = Map(path, bytes);
  for (const auto& [name, entry] : file.entries()) {
    TESSERA_CHECK_EQ(entry.begin % SizeOf(entry.dtype), 0, "{}: tensor '{}': where it begins", path,
                     name);
    tensors_.emplace(name, Tensor::Borrow(static_cast<char*>(mapped.get()) + entry.begin,
                                          entry.shape, entry.dtype, mapped));
  }
}

Tensor MappedTensors::At(const std::string& name, DType dtype, const Shape& shape) const {
  const auto found = tensors_.find(name);
  TESSERA_CHECK(found != tensors_.end(), "{}: tensor '{}' is missing", path_, name);
  TESSERA_CHECK_EQ(found->second.dtype(), dtype, "{}: tensor '{}'", path_, name);
  TESSERA_CHECK_EQ(found->second.shape(), shape, "{}: tensor '{}'", path_, name);
  return found->second;
}

}  // namespace tessera::serve
