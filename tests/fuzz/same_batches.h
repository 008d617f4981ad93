#ifndef TESSERA_TESTS_FUZZ_SAME_BATCHES_H_
#define TESSERA_TESTS_FUZZ_SAME_BATCHES_H_
// Whether two ways to read rows give the same ones.
#include "data/data_source.h"
#include "runtime/context.h"

namespace tessera::fuzz {

inline bool SameTensors(const Tensor& a, const Tensor& b) {
  if (static_cast<bool>(a) != static_cast<bool>(b)) return false;
  return !a || SameBits(a, b);
}

// Compares tensors bit by bit, not where the rows came from.
inline bool SameBatches(Context& ctx, const Batch& a, const Batch& b) {
  const KeyedJaggedTensor &f = a.features, &g = b.features;
  return SameTensors(a.dense, b.dense) && SameTensors(a.labels, b.labels) &&
         SameTensors(a.weights, b.weights) && SameTensors(a.time, b.time) && f.keys() == g.keys() &&
         SameTensors(f.values(), g.values()) && SameTensors(f.lengths(ctx), g.lengths(ctx)) &&
         f.is_weighted() == g.is_weighted() &&
         (!f.is_weighted() || SameTensors(f.weights().value(), g.weights().value()));
}

}  // namespace tessera::fuzz
#endif  // TESSERA_TESTS_FUZZ_SAME_BATCHES_H_
