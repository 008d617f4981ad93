#ifndef TESSERA_TESTS_FUZZ_SAME_BATCHES_H_
#define TESSERA_TESTS_FUZZ_SAME_BATCHES_H_
// Whether two ways to read rows give the same ones.
#include <algorithm>

#include "tests/data/testing/batch_tensors.h"

namespace tessera::fuzz {

inline bool SameTensors(const Tensor& a, const Tensor& b) {
  if (static_cast<bool>(a) != static_cast<bool>(b)) return false;
  return !a || SameBits(a, b);
}

// Compares tensors bit by bit, not where the rows came from.
inline bool SameBatches(Context& ctx, const Batch& a, const Batch& b) {
  return a.features.keys() == b.features.keys() &&
         std::ranges::equal(testing::NamedTensorsOf(ctx, a), testing::NamedTensorsOf(ctx, b),
                            [](const auto& one, const auto& other) {
                              return SameTensors(one.second, other.second);
                            });
}

}  // namespace tessera::fuzz
#endif  // TESSERA_TESTS_FUZZ_SAME_BATCHES_H_
