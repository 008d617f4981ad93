#include "serve/mapped_tensors.h"

#include <algorithm>

#include "runtime/mapped_file.h"
#include "runtime/safetensors.h"

namespace tessera::serve {

MappedTensors::MappedTensors(const std::string& path) : path_(path) {
  const SafetensorsFile file(path);
  int64_t bytes = 0;
  for (const auto& [name, entry] : file.entries())
    bytes = std::max(bytes, entry.begin + entry.nbytes());
  if (bytes == 0) return;  // no tensors
  // The header was read by its name before: a file renamed over it in between has another size, or
  // another header, and is refused by what is checked then.
  const MappedFile mapped(path);
  TESSERA_CHECK(mapped.bytes() == bytes, "{}: it changed while it was opened", path);
  for (const auto& [name, entry] : file.entries()) {
    TESSERA_CHECK_EQ(entry.begin % SizeOf(entry.dtype), 0, "{}: tensor '{}': where it begins", path,
                     name);
    tensors_.emplace(name, Tensor::Borrow(const_cast<char*>(mapped.data()) + entry.begin,
                                          entry.shape, entry.dtype, mapped.owner()));
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
