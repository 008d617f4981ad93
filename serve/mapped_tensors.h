#ifndef TESSERA_SERVE_MAPPED_TENSORS_H_
#define TESSERA_SERVE_MAPPED_TENSORS_H_
// The tensors of a safetensors file, where the file is mapped into memory: nothing is read before
// it is used, what is not used costs no memory, and processes that map one file share it. The file
// may be unlinked or renamed meanwhile, not overwritten or cut. Any thread may read.
#include <map>
#include <memory>
#include <string>

#include "runtime/tensor.h"

namespace tessera::serve {

class MappedTensors {
 public:
  // Throws Error as SafetensorsFile does, and for tensors that don't begin where their dtype could
  // be read.
  explicit MappedTensors(const std::string& path);

  // A view of the mapped bytes, which must not be written; it keeps the mapping. Throws Error,
  // naming the file, for a name that is not there, or another dtype or shape.
  Tensor At(const std::string& name, DType dtype, const Shape& shape) const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_MAPPED_TENSORS_H_
