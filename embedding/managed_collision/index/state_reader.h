#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_STATE_READER_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_STATE_READER_H_
// The tensors of a state dict, each asked for by its name, then none left over. Errors name the
// module and the tensor.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/named_parameter.h"
#include "runtime/tensor.h"

namespace tessera::internal {

class StateReader {
 public:
  // Throws Error for a name that comes twice.
  StateReader(Context& ctx, std::string module, const std::vector<NamedTensor>& tensors);

  // Takes a tensor, on the host, contiguous. Throws Error if it is missing, or of another type or
  // shape; an extent of −1 may be any.
  Tensor Take(const std::string& name, DType dtype, const Shape& shape);
  // Takes the tensor, or returns an undefined one if it is missing.
  Tensor TakeIfThere(const std::string& name, DType dtype, const Shape& shape);
  // The elements of an i64 tensor [n]; none if it is missing.
  std::vector<int64_t> TakeNumbers(const std::string& name);
  // Takes row numbers. Throws Error for one outside [0, rows).
  std::vector<int64_t> TakeRows(const std::string& name, int64_t rows);
  // Takes one number, i32 or i64; absent if it is missing.
  std::optional<int64_t> TakeNumber(const std::string& name);
  // Passes over a tensor that TorchRec has and that says nothing here.
  void PassOver(const std::string& name) { left_.erase(name); }
  // Throws Error for tensors that nobody took.
  void Finish() const;

 private:
  std::optional<Tensor> Remove(const std::string& name);

  Context& ctx_;
  std::string module_;
  std::map<std::string, Tensor> left_;
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_STATE_READER_H_
