#include "sparse/same_features.h"

#include "runtime/tensor.h"

namespace tessera {
namespace {

bool SameTensor(const Tensor& a, const Tensor& b) {
  return a.defined() == b.defined() && a.raw_data() == b.raw_data() && a.dtype() == b.dtype() &&
         a.shape() == b.shape() && a.strides() == b.strides();
}

bool SameWeights(const Variable& a, const Variable& b) {
  if (a.is(b)) return true;
  if (!a.defined() || !b.defined() || a.requires_grad() || b.requires_grad()) return false;
  return SameTensor(a.value(), b.value());
}

// Lengths and offsets are made from each other when they are asked for: one of them tells.
bool SameBags(const KeyedJaggedTensor& a, const KeyedJaggedTensor& b) {
  if (a.stride() != b.stride() || a.variable_stride_per_key() != b.variable_stride_per_key())
    return false;
  if (a.variable_stride_per_key() && a.stride_per_key_per_rank() != b.stride_per_key_per_rank())
    return false;
  const auto shared = [](const Tensor& x, const Tensor& y) { return x && SameTensor(x, y); };
  return shared(a.lengths_or_none(), b.lengths_or_none()) ||
         shared(a.offsets_or_none(), b.offsets_or_none());
}

bool SameInverse(const InverseIndices* a, const InverseIndices* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->keys == b->keys && SameTensor(a->indices, b->indices);
}

}  // namespace

bool SameFeatures(const KeyedJaggedTensor& a, const KeyedJaggedTensor& b, bool weighted) {
  return SameTensor(a.values(), b.values()) && a.keys() == b.keys() && SameBags(a, b) &&
         SameInverse(a.inverse_indices_or_none(), b.inverse_indices_or_none()) &&
         (!weighted || SameWeights(a.weights_or_none(), b.weights_or_none()));
}

}  // namespace tessera
