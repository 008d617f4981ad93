#ifndef TESSERA_EMBEDDING_POOLS_BAG_ROWS_H_
#define TESSERA_EMBEDDING_POOLS_BAG_ROWS_H_
// Examples of a KeyedJaggedTensor as rows of one size, and back: what pools keep and ranks send.
// With keys a (at most 2 values) and b (at most 1), example i is
//
//   values    [a_0 a_1 b_0]              the bags one behind another, then 0: [n, L], L = 3
//   lengths   [|a| |b| L − |a| − |b|]    i32 [n, F + 1]; the last one says how much is padding
//   weights   as values, f32             if there are some
#include <string>
#include <utility>
#include <vector>

#include "sparse/keyed_jagged_tensor.h"

namespace tessera {

// Keys in order, and how many values a bag of each may have.
using FeatureMaxLengths = std::vector<std::pair<std::string, int64_t>>;

struct BagRows {
  Tensor values, lengths, weights;
};

class BagRowLayout {
 public:
  // Throws Error for no keys, a key that comes again, or a negative length.
  BagRowLayout(FeatureMaxLengths feature_max_lengths, DType values_dtype, bool is_weighted);

  const FeatureMaxLengths& feature_max_lengths() const { return features_; }
  const std::vector<std::string>& keys() const { return keys_; }
  DType values_dtype() const { return values_dtype_; }
  bool is_weighted() const { return is_weighted_; }
  int64_t num_keys() const { return static_cast<int64_t>(keys_.size()); }
  int64_t row_length() const { return row_length_; }

  // The kjt's examples; keys that the layout does not have are left out. Waits for a device, for
  // lengths. Throws Error for a missing key, a bag that is too long (with key and example), values
  // of another type, weights that are missing, or batches of their own.
  BagRows Pack(Context& ctx, const KeyedJaggedTensor& kjt) const;
  // The inverse. Waits for a device, for the number of values.
  KeyedJaggedTensor Unpack(Context& ctx, const BagRows& rows) const;
  // Rows of n examples without values.
  BagRows Zeros(Context& ctx, int64_t n) const;

 private:
  void CheckBatch(const KeyedJaggedTensor& kjt) const;
  // i32 [n, F + 1] on the host, example after example.
  Tensor RowLengths(Context& ctx, const KeyedJaggedTensor& kjt) const;

  FeatureMaxLengths features_;
  std::vector<std::string> keys_;
  DType values_dtype_;
  bool is_weighted_;
  int64_t row_length_ = 0;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_POOLS_BAG_ROWS_H_
