#ifndef TESSERA_SPARSE_JAGGED_TENSOR_H_
#define TESSERA_SPARSE_JAGGED_TENSOR_H_
// One jagged feature: B bags of different lengths, joined.
//
//   bags      [5] [7 1]
//   values    5 7 1        [N] or [N, D]: ids, or rows that an EmbeddingCollection looked up
//   lengths   1 2          [B] i32 or i64
//   offsets   0 1 3        [B+1], always complete
//   weights   .5 .2 .4     [N], or none
//
// Values and weights are autograd variables.
//
// Lengths and offsets are made from each other when first asked for, and kept. Copies share all
// parts, none of which changes once made. One that was moved from may only be assigned to or
// destroyed. Two threads may use one only after lengths() and
// offsets() have both been called.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/autograd.h"

namespace tessera {

class JaggedTensor {
 public:
  // No bags, no values (f32); weights none.
  JaggedTensor();
  // REQUIRES: lengths or offsets (undefined: none), all on one device. Throws Error naming the bag
  // for negative lengths, falling offsets, a first offset other than 0, a sum that is not the
  // number of values, lengths and offsets that disagree, or weights [M], M ≠ N. On a device nobody
  // waits, and only shapes are checked.
  explicit JaggedTensor(Variable values, Tensor lengths = {}, Tensor offsets = {},
                        Variable weights = {});

  // No bags, no values, dtypes as given.
  static JaggedTensor Empty(Context& ctx, bool is_weighted = false,
                            DType values_dtype = DType::kF32, DType weights_dtype = DType::kF32,
                            DType lengths_dtype = DType::kI32);
  // values[b] (and weights[b]) is bag b; lengths are i32. REQUIRES: one tensor at least.
  static JaggedTensor FromDense(Context& ctx, const std::vector<Variable>& values,
                                const std::vector<Variable>& weights = {});
  // Bag b is the first lengths[b] entries of row b of values [B, M] or [B, M, D] (weights [B, M]).
  // Waits for a device. Throws Error for a length above M, and for weights of another shape.
  static JaggedTensor FromDenseLengths(Context& ctx, const Variable& values, const Tensor& lengths,
                                       const Variable& weights = {});

  const Variable& values() const { return state_->values; }
  // Throws Error if there are none.
  const Variable& weights() const;
  const Variable& weights_or_none() const { return state_->weights; }
  const Tensor& lengths(Context& ctx) const;
  const Tensor& offsets(Context& ctx) const;
  // Undefined if not yet known.
  const Tensor& lengths_or_none() const { return state_->lengths; }
  const Tensor& offsets_or_none() const { return state_->offsets; }
  // Bags, B.
  int64_t batch_size() const;
  bool is_weighted() const { return state_->weights.defined(); }

  // All parts on `device`, moved as one (MovedTogether): to a GPU nobody waits. Gradients don't
  // flow through it. REQUIRES: ctx is on the GPU in question.
  JaggedTensor To(Context& ctx, Device device) const;

  // One tensor a bag, empty ones too; views of values() (of weights()). Waits for a device.
  std::vector<Variable> ToDense(Context& ctx) const;
  std::vector<Variable> ToDenseWeights(Context& ctx) const;
  // Returns [B, L] or [B, L, D]: the first L = desired_length entries of each bag, then
  // padding_value, converted to the dtype. Without a desired_length L is the longest bag's, and
  // finding it waits for a device.
  Variable ToPaddedDense(Context& ctx, std::optional<int64_t> desired_length = {},
                         double padding_value = 0) const;
  Variable ToPaddedDenseWeights(Context& ctx, std::optional<int64_t> desired_length = {},
                                double padding_value = 0) const;

 private:
  friend class KeyedJaggedTensor;
  struct State {
    Variable values, weights;
    Tensor lengths, offsets;
  };
  explicit JaggedTensor(State state)
      : state_(std::make_shared<State>(std::move(state))) {}  // not checked
  std::vector<int64_t> HostLengths(Context& ctx) const;
  Variable Padded(Context& ctx, const Variable& data, std::optional<int64_t> desired_length,
                  double padding_value) const;

  std::shared_ptr<State> state_;  // lengths and offsets are caches
};

// Formats like TorchRec, with a newline at the end:
//   JaggedTensor({
//       [[5], [7, 1]]
//   })
std::string ToString(Context& ctx, const JaggedTensor& jt);

// Same shapes, dtypes and bits, weights included.
bool JtIsEqual(Context& ctx, const JaggedTensor& a, const JaggedTensor& b);

}  // namespace tessera
#endif  // TESSERA_SPARSE_JAGGED_TENSOR_H_
