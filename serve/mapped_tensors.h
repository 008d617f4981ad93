#ifndef TESSERA_SERVE_MAPPED_TENSORS_H_
#define TESSERA_SERVE_MAPPED_TENSORS_H_
// The tensors of a safetensors file, where the file is mapped into memory: nothing is read before
// it is used, what is not used costs no memory, and processes that map one file share it. The file
// may be unlinked or renamed meanwhile, not overwritten or cut. Any thread may read.
#include <map>
#include <memory>
#include <string>

#include "runtime/tensor.h"
#include "serve/private_file.h"

namespace tessera::serve {

class MappedTensors {
 public:
  // Throws Error as SafetensorsFile does, and for tensors that don't begin where their dtype could
  // be read. `writable`: for Writable; the file then stays open.
  explicit MappedTensors(const std::string& path, bool writable = false);

  // A view of the mapped bytes, which must not be written; it keeps the mapping. Throws Error,
  // naming the file, for a name that is not there, or another dtype or shape.
  Tensor At(const std::string& name, DType dtype, const Shape& shape) const;
  // Returns the tensor in private memory of the caller, which may be written and has room for
  // `rows` rows, the first of which are the file's (private_file.h). Throws Error as At does, and
  // where there is no address space. REQUIRES: made writable; rows ≥ shape[0].
  Tensor Writable(const std::string& name, DType dtype, const Shape& shape, int64_t rows) const;
  // Looks a tensor up by name, whatever its shape.
  bool Contains(const std::string& name) const { return tensors_.contains(name); }
  // REQUIRES: it is there.
  const Shape& ShapeOf(const std::string& name) const { return tensors_.at(name).shape(); }

  // The metadata under a key, "" where it is missing.
  std::string Metadata(const std::string& key) const;
  // Whether the bytes have the CheckpointChecksum that the metadata name. Reads all of them, by so
  // many threads; 0: all cores.
  bool IsIntact(int threads = 1) const;
  // Throws Error, naming the file, where it was cut while it is mapped: who has read calls it
  // before what was read is used.
  void CheckNotCut() const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::shared_ptr<const PrivateFile> file_;  // null unless writable
  const char* begin_ = nullptr;              // of the mapped file
  int64_t tensors_begin_ = 0, bytes_ = 0;    // of the file
  std::map<std::string, Tensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_MAPPED_TENSORS_H_
