#ifndef TESSERA_SPARSE_KEYED_TENSOR_H_
#define TESSERA_SPARSE_KEYED_TENSOR_H_
// Dense blocks with names, joined along one dimension: what an EmbeddingBagCollection returns.
//
//   values   [B, Σ_k length_per_key[k]]   (key_dim = 1), an autograd variable
//
// A handle: copies share the values.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/autograd.h"

namespace tessera {

class KeyedTensor {
 public:
  // No keys, no values.
  KeyedTensor() = default;
  // Throws Error if lengths don't sum to dimension key_dim of values, are negative, or are not as
  // many as keys. A key that comes again is found at its last place.
  KeyedTensor(std::vector<std::string> keys, std::vector<int64_t> length_per_key, Variable values,
              int key_dim = 1);
  // The tensors joined along key_dim.
  static KeyedTensor FromTensorList(Context& ctx, std::vector<std::string> keys,
                                    const std::vector<Variable>& tensors, int key_dim = 1);

  const std::vector<std::string>& keys() const { return keys_; }
  const Variable& values() const { return values_; }
  int key_dim() const { return key_dim_; }
  const std::vector<int64_t>& length_per_key() const { return length_per_key_; }
  // [F+1].
  const std::vector<int64_t>& offset_per_key() const { return offset_per_key_; }
  std::map<std::string, int64_t> index_per_key() const;
  // Throws Error, listing the keys, if there is no such key.
  int64_t IndexOf(const std::string& key) const;

  // The block of a key, a view. For many keys, ToDict or Regroup is cheaper in backward.
  Variable At(Context& ctx, const std::string& key) const;
  // All blocks, views, in order.
  std::vector<std::pair<std::string, Variable>> ToDict(Context& ctx) const;
  // values converted.
  KeyedTensor To(Context& ctx, DType dtype) const;
  // values on `device`, as Tensor::To. Gradients don't flow through it.
  KeyedTensor To(Context& ctx, Device device) const;

  // For each group, the blocks of its keys joined: [B, Σ]. A key may be in several groups, or twice
  // in one: its gradient is the sum of all. A key of several KeyedTensors is taken from the last.
  // REQUIRES: key_dim 1, the same B and dtype; to train f32, f16 or bf16 (sparse/regroup.h).
  static std::vector<Variable> Regroup(Context& ctx, const std::vector<KeyedTensor>& kts,
                                       const std::vector<std::vector<std::string>>& groups);
  // Regroups, with a name for each group.
  static std::vector<std::pair<std::string, Variable>> RegroupAsDict(
      Context& ctx, const std::vector<KeyedTensor>& kts,
      const std::vector<std::vector<std::string>>& groups, const std::vector<std::string>& names);

 private:
  std::vector<std::string> keys_;
  std::vector<int64_t> length_per_key_, offset_per_key_ = {0};
  Variable values_;
  int key_dim_ = 1;
};

// Formats like TorchRec, with a newline at the end:
//   KeyedTensor({
//       "p": [[1.0], [4.5]]
//   })
std::string ToString(const KeyedTensor& kt);

}  // namespace tessera
#endif  // TESSERA_SPARSE_KEYED_TENSOR_H_
