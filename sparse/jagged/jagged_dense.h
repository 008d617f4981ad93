#ifndef TESSERA_SPARSE_JAGGED_JAGGED_DENSE_H_
#define TESSERA_SPARSE_JAGGED_JAGGED_DENSE_H_
// Converts between jagged [N, …] and padded dense [B, L_1, …, L_k, …] tensors. All ops take every
// dtype, and are differentiable for f32. Offsets are complete, i32 or i64, one tensor a level.
// Throws Error as JaggedLayout does. Only DenseToJagged may wait.
#include <memory>
#include <optional>
#include <vector>

#include "runtime/autograd.h"
#include "sparse/jagged/jagged_layout.h"

namespace tessera {

// The first max_lengths[l] entries of each bag, then padding_value.
Variable JaggedToPaddedDense(Context& ctx, const Variable& values,
                             const std::vector<Tensor>& offsets,
                             const std::vector<int64_t>& max_lengths, double padding_value = 0);
// The rows back, of dense [B, L_1, …, L_k, …]; rows past L are 0. `rows`: how many, the last
// offset; found if not given, and then waits for a device.
Variable DenseToJagged(Context& ctx, const Variable& dense, const std::vector<Tensor>& offsets,
                       std::optional<int64_t> rows = {});

// One level: values [N] -> [B, max], values [N, D] -> [B, max, D].
Variable Jagged1dToDense(Context& ctx, const Variable& values, const Tensor& offsets,
                         int64_t max_sequence_length, double padding_value = 0);
Variable Jagged2dToDense(Context& ctx, const Variable& values, const Tensor& offsets,
                         int64_t max_sequence_length);

// Pads many keys side by side: lengths [T, B], values of key t are rows offset_per_key[t] …
// offset_per_key[t+1], padded to max_lengths_per_key[t]. -> [B, max_t] or [B, max_t, D] a key.
std::vector<Variable> StackedJagged1dToDense(Context& ctx, const Variable& values,
                                             const Tensor& lengths,
                                             const std::vector<int64_t>& offset_per_key,
                                             const std::vector<int64_t>& max_lengths_per_key,
                                             double padding_value = 0);
std::vector<Variable> StackedJagged2dToDense(Context& ctx, const Variable& values,
                                             const Tensor& lengths,
                                             const std::vector<int64_t>& offset_per_key,
                                             const std::vector<int64_t>& max_lengths_per_key,
                                             double padding_value = 0);

// [S, max_length, …]: the first max_length rows of each segment, then 0. REQUIRES: lengths sum to
// the rows of t.
Variable PackSegments(Context& ctx, const Variable& t, const Tensor& lengths, int64_t max_length);

}  // namespace tessera
#endif  // TESSERA_SPARSE_JAGGED_JAGGED_DENSE_H_
