#ifndef TESSERA_EMBEDDING_POOLS_KEYED_JAGGED_TENSOR_POOL_H_
#define TESSERA_EMBEDDING_POOLS_KEYED_JAGGED_TENSOR_POOL_H_
// A pool of examples with bags of several features, read and written by example number (TorchRec's
// class of this name, torchrec/modules/keyed_jagged_tensor_pool.py). Room for the longest bags is
// kept: bag_rows.h says how an example lies in memory. An example that nobody wrote has empty bags.
// Ids are [n], i32 or i64; one that names no example is an error. Calls wait for a device.
#include <optional>
#include <string>
#include <vector>

#include "embedding/pools/bag_rows.h"
#include "embedding/pools/tensor_pool.h"
#include "runtime/tensor.h"

namespace tessera {

struct KeyedJaggedTensorPoolOptions {
  DType values_dtype = DType::kI64;
  bool is_weighted = false;  // f32 weights come along
};

class KeyedJaggedTensorPool {
 public:
  // Throws Error for no features, a feature that comes twice, or a negative size.
  KeyedJaggedTensorPool(Context& ctx, int64_t pool_size, FeatureMaxLengths feature_max_lengths,
                        KeyedJaggedTensorPoolOptions options = {});

  // Returns example ids[j] as example j; keys in the order of feature_max_lengths.
  KeyedJaggedTensor Lookup(Context& ctx, const Tensor& ids) const;
  // Example j of values becomes example ids[j]; where an id is repeated, its last example stays.
  // Keys that the pool does not have are left out. Throws Error, and changes nothing, for a missing
  // key, a bag that is too long, values of another type, missing weights, and a number of examples
  // that is not that of ids.
  void Update(Context& ctx, const Tensor& ids, const KeyedJaggedTensor& values);

  // Reads or writes rows of layout() (bag_rows.h), which are not checked.
  BagRows LookupRows(Context& ctx, const Tensor& ids) const;
  void UpdateRows(Context& ctx, const Tensor& ids, const BagRows& rows);

  const BagRowLayout& layout() const { return layout_; }
  int64_t pool_size() const { return values_.pool_size(); }
  const FeatureMaxLengths& feature_max_lengths() const { return layout_.feature_max_lengths(); }
  DType values_dtype() const { return values_.dtype(); }
  bool is_weighted() const { return layout_.is_weighted(); }

  // prefix + "values" [pool_size, L], "key_lengths" i32 [pool_size, F] and, if weighted, "weights"
  // f32 [pool_size, L]; copies.
  std::vector<NamedTensor> StateDict(Context& ctx, const std::string& prefix = "") const;
  // Throws Error, and changes nothing, for other names, shapes or types, and lengths that do not
  // fit.
  void LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors,
                     const std::string& prefix = "");

 private:
  // Views of the tensors that StateDict copies.
  std::vector<NamedTensor> Views(const std::string& prefix) const;

  BagRowLayout layout_;
  TensorPool values_, lengths_;
  std::optional<TensorPool> weights_;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_POOLS_KEYED_JAGGED_TENSOR_POOL_H_
