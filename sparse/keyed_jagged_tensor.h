#ifndef TESSERA_SPARSE_KEYED_JAGGED_TENSOR_H_
#define TESSERA_SPARSE_KEYED_JAGGED_TENSOR_H_
// Many jagged features of one batch: what flows into every embedding module. Feature-major:
//
//               key "a"          key "b"
//   bags        [1 2] []         [3] [4 5]       B = 2 bags a key ("stride")
//   values      1 2              3 4 5           [N], any dtype
//   lengths     2 0              1 2             [F·B] i32 or i64
//   offsets     0 2 2 3 5                        [F·B+1], complete
//   weights     aligned with values, or none; an autograd variable
//
// Variable batch: keys may have batches of their own, split over ranks: stride_per_key_per_rank
// [F][ranks], bags of key f = sum of its row; then lengths has Σ_f of them, key after key. Inverse
// indices [F, B_full] say which bag of a key's (smaller) batch each full example reads.
//
// Copies share all parts, none of which changes once made. Lengths and offsets are made from each
// other when first asked for, and kept. The constructor refuses what is malformed. A KJT that was
// moved from may only be assigned to or destroyed.
//
// Threads: what is made when first asked for (lengths, offsets, totals and the index of keys) is
// made without a lock. After Sync all of it is there, and several threads, each with a context of
// its own, may make every call but Unsync on one KJT and its copies. A KJT that a call returns
// (Split, Permute, Concat, To, WithWeights, …) needs a Sync of its own for that.
//
// On a GPU the tensors lie there; keys, strides and the totals of keys (length_per_key) are on the
// host. Known totals stay known through To, Split, Permute, Concat, FromJtDict and ToDict, which
// then do not wait. A KJT made from device tensors does not know them: the first call that needs
// them (one of these, length_per_key, offset_per_key, Sync or Validate) waits once, and throws
// Error for malformed lengths, which the constructor could not see.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/autograd.h"
#include "sparse/jagged_tensor.h"

namespace tessera {

// Row i of `indices` [F, B_full] (i32 or i64) belongs to keys[i].
struct InverseIndices {
  std::vector<std::string> keys;
  Tensor indices;
};

// Bags of each key from each rank, [F][ranks].
using StridePerKeyPerRank = std::vector<std::vector<int64_t>>;

struct KeyedJaggedTensorArgs {
  std::vector<std::string> keys;
  Tensor values;
  Variable weights = {};
  Tensor lengths = {};  // lengths, or offsets, or both; [F, B] lengths are flattened
  Tensor offsets = {};
  std::optional<int64_t> stride = {};                // checked if given; without keys, kept
  StridePerKeyPerRank stride_per_key_per_rank = {};  // empty: every key has the same batch
  InverseIndices inverse_indices = {};
  // Sums of the keys' lengths, where they are known: lengths on a device are then not read back to
  // find them. Checked against the lengths on a CPU, against the number of values on a device.
  std::vector<int64_t> length_per_key = {};
  bool unique_keys = true;  // false: a key may come again, as in bucketized input
};

namespace internal {
struct KjtState {
  std::vector<std::string> keys;
  Tensor values;
  Variable weights;
  Tensor lengths, offsets;  // caches of each other
  int64_t stride = 0;
  bool variable_stride = false;
  StridePerKeyPerRank stride_per_key_per_rank;  // empty unless variable
  InverseIndices inverse_indices;
  std::vector<int64_t> stride_per_key, lengths_offset_per_key;
  bool totals_known = false;  // the next two, a cache on a device
  std::vector<int64_t> length_per_key, offset_per_key;
  std::unordered_map<std::string_view, int64_t> index;  // of keys, made by Sync or a look-up
};
}  // namespace internal

class KeyedJaggedTensor {
 public:
  // No keys, no values (f32).
  KeyedJaggedTensor();
  // Throws Error that names the key and the bag: neither lengths nor offsets, a negative length,
  // falling offsets, a first offset other than 0, totals that are not the number of values, lengths
  // and offsets that disagree, repeated keys, lengths that don't divide by the keys or fit the
  // strides, lengths without keys, weights not as many as values, inverse indices outside their
  // key's batch. Costs O(F·B); ids are not looked at (Validate does). On a device, for shapes
  // alone.
  explicit KeyedJaggedTensor(KeyedJaggedTensorArgs args);
  static KeyedJaggedTensor FromLengthsSync(std::vector<std::string> keys, Tensor values,
                                           Tensor lengths, Variable weights = {});
  static KeyedJaggedTensor FromOffsetsSync(std::vector<std::string> keys, Tensor values,
                                           Tensor offsets, Variable weights = {});
  // Keys in the order given; unequal batches make a variable stride. REQUIRES: all weighted or
  // none, same dtypes.
  static KeyedJaggedTensor FromJtDict(
      Context& ctx, const std::vector<std::pair<std::string, JaggedTensor>>& dict);
  // Joined along keys. REQUIRES: all weighted or none, all with one stride, the same, or all with
  // variable strides, all or none with inverse indices, same dtypes, no key twice.
  static KeyedJaggedTensor Concat(Context& ctx, const std::vector<KeyedJaggedTensor>& parts);
  static KeyedJaggedTensor Empty(Context& ctx, bool is_weighted = false,
                                 DType values_dtype = DType::kF32,
                                 DType weights_dtype = DType::kF32,
                                 DType lengths_dtype = DType::kI32);
  // No keys; dtypes and stride (0 if variable) of `like`.
  static KeyedJaggedTensor EmptyLike(Context& ctx, const KeyedJaggedTensor& like);

  const std::vector<std::string>& keys() const { return state_->keys; }
  int64_t num_keys() const { return static_cast<int64_t>(state_->keys.size()); }
  const Tensor& values() const { return state_->values; }
  bool is_weighted() const { return state_->weights.defined(); }
  // Throws Error if there are none.
  const Variable& weights() const;
  const Variable& weights_or_none() const { return state_->weights; }
  const Tensor& lengths(Context& ctx) const;
  const Tensor& offsets(Context& ctx) const;
  // Undefined if not yet known.
  const Tensor& lengths_or_none() const { return state_->lengths; }
  const Tensor& offsets_or_none() const { return state_->offsets; }

  // B. With variable strides: columns of the inverse indices if there are some, else the largest
  // batch of a key.
  int64_t stride() const { return state_->stride; }
  bool variable_stride_per_key() const { return state_->variable_stride; }
  const std::vector<int64_t>& stride_per_key() const { return state_->stride_per_key; }
  // One column, the stride, where it is not variable.
  StridePerKeyPerRank stride_per_key_per_rank() const;
  // Throws Error if there are none.
  const InverseIndices& inverse_indices() const;
  // Returns nullptr if there are none.
  const InverseIndices* inverse_indices_or_none() const;

  // Number of values of each key, [F]; where each key's values begin, [F+1], and where its bags
  // begin, [F+1]. The first two wait for a device if they are unknown; FindTotals finds them
  // faster.
  const std::vector<int64_t>& length_per_key() const;
  const std::vector<int64_t>& offset_per_key() const;
  const std::vector<int64_t>& lengths_offset_per_key() const {
    return state_->lengths_offset_per_key;
  }
  // Position of each key; of a repeated key, the last one.
  std::map<std::string, int64_t> index_per_key() const;
  // Throws Error, listing the keys, if there is no such key. `likely`: where it probably is, which
  // may save a search.
  int64_t IndexOf(const std::string& key, int64_t likely = 0) const;
  bool Contains(const std::string& key) const { return Find(key) >= 0; }

  // The bags of one key: values and weights are views, offsets start at 0. Throws Error if there is
  // no such key.
  JaggedTensor At(Context& ctx, const std::string& key) const;
  JaggedTensor AtIndex(Context& ctx, int64_t key_index) const;
  // All keys, in order.
  std::vector<std::pair<std::string, JaggedTensor>> ToDict(Context& ctx) const;

  // Consecutive runs of keys, as views; segments are numbers of keys, may be 0, and sum to F. Keeps
  // the stride, drops inverse indices.
  std::vector<KeyedJaggedTensor> Split(Context& ctx, const std::vector<int64_t>& segments) const;
  // Key i of the result is key indices[i]: keys may come again or be left out. Keeps the stride,
  // drops inverse indices.
  KeyedJaggedTensor Permute(Context& ctx, const std::vector<int64_t>& indices) const;
  // Returns this KJT, whose lengths are 1-D already, without inverse indices.
  KeyedJaggedTensor FlattenLengths() const;
  // Weights converted; everything else stays.
  KeyedJaggedTensor To(Context& ctx, DType weights_dtype) const;
  // These weights instead; everything else stays. REQUIRES: one a value, where the values are.
  KeyedJaggedTensor WithWeights(Variable weights) const;
  // These values instead, of any type; everything else stays. REQUIRES: as many, where the others
  // are.
  KeyedJaggedTensor WithValues(Tensor values) const;
  // All parts on `device`, moved as one (MovedTogether): to a GPU nobody waits, and what the host
  // knows stays known. Gradients don't flow through it. REQUIRES: ctx is on the GPU in question.
  KeyedJaggedTensor To(Context& ctx, Device device) const;
  // Finds length_per_key and offset_per_key on ctx's device, and waits for it unless they are
  // known.
  void FindTotals(Context& ctx) const;
  // Sync makes lengths, offsets, totals and the index of keys, so that threads may share the KJT;
  // it waits for a device if the totals are unknown. Unsync makes lengths and drops offsets.
  const KeyedJaggedTensor& Sync(Context& ctx) const;
  const KeyedJaggedTensor& Unsync(Context& ctx) const;

  // Whether all ids of the keys named in `rows` are in [0, rows of the key). On false, `problem`
  // (if not null) says which key, bag and id. Waits for a device. REQUIRES: integer values.
  bool Validate(Context& ctx, const std::map<std::string, int64_t>& rows,
                std::string* problem = nullptr) const;

  // The all-to-all of a KJT moves one tensor per label, in this order: lengths, values, strides (if
  // variable; one int64 a key), weights (if any). Keys must already be ordered by destination rank.
  std::vector<std::string> DistLabels() const;
  // Elements of each tensor for each rank, [labels][ranks]. key_splits: keys for each rank, summing
  // to F.
  std::vector<std::vector<int64_t>> DistSplits(const std::vector<int64_t>& key_splits) const;
  std::vector<Variable> DistTensors(Context& ctx) const;

 private:
  // Not checked.
  explicit KeyedJaggedTensor(std::shared_ptr<internal::KjtState> state)
      : state_(std::move(state)) {}
  int64_t Find(const std::string& key, int64_t likely = 0) const;

  std::shared_ptr<internal::KjtState> state_;
};

// Puts together what one rank received of DistTensors. The tensors come rank after rank: [source
// rank][local key][bag]. On a device waits for the strides, where variable, and for nothing else;
// totals of keys are not known then.
struct KeyedJaggedTensorDistArgs {
  std::vector<std::string> keys;  // local keys
  std::vector<Variable> tensors =
      {};  // in the order of DistLabels; strides [ranks·F] where variable
  bool variable_stride_per_key = false;
  std::vector<int64_t> stride_per_rank = {};  // B of each source rank; not read where variable
  int64_t ranks = 1;
  int64_t stagger = 1;  // source ranks in the order x + (ranks / stagger)·y, x outer: local rank
                        // major for stagger = hosts
};
KeyedJaggedTensor KeyedJaggedTensorFromDist(Context& ctx, const KeyedJaggedTensorDistArgs& args);

// Order in which [rank][key] blocks are taken to become [key][rank]: i + j·keys for each key i, for
// j in the staggered order.
std::vector<int64_t> RecatIndices(int64_t keys, int64_t ranks, int64_t stagger = 1);

// Formats like TorchRec, with a newline at the end:
//   KeyedJaggedTensor({
//       "a": [[1], []],
//       "b": [[2, 3], [4]]
//   })
std::string ToString(Context& ctx, const KeyedJaggedTensor& kjt);

// Same keys, strides, lengths, values and weights, bit for bit.
bool KjtIsEqual(Context& ctx, const KeyedJaggedTensor& a, const KeyedJaggedTensor& b);

}  // namespace tessera
#endif  // TESSERA_SPARSE_KEYED_JAGGED_TENSOR_H_
