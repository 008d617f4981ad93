#ifndef TESSERA_TESTS_DATA_TESTING_SAME_BATCH_H_
#define TESSERA_TESTS_DATA_TESTING_SAME_BATCH_H_
// Whether two batches have the same tensors, bit by bit.
#include <gtest/gtest.h>

#include "tests/data/testing/batch_tensors.h"

namespace tessera::testing {

inline void ExpectSameTensor(const Tensor& a, const Tensor& b, const char* what) {
  ASSERT_EQ(static_cast<bool>(a), static_cast<bool>(b)) << what;
  if (!a) return;
  EXPECT_EQ(a.shape(), b.shape()) << what;
  EXPECT_EQ(a.dtype(), b.dtype()) << what;
  EXPECT_TRUE(SameBits(a, b)) << what;
}

// Tensors alone, not where the rows came from.
inline void ExpectSameBatch(Context& ctx, const Batch& a, const Batch& b) {
  EXPECT_EQ(a.features.keys(), b.features.keys());
  ASSERT_EQ(a.features.is_weighted(), b.features.is_weighted());
  const auto tensors = NamedTensorsOf(ctx, a), others = NamedTensorsOf(ctx, b);
  for (size_t i = 0; i < tensors.size(); ++i)
    ExpectSameTensor(tensors[i].second, others[i].second, tensors[i].first);
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_DATA_TESTING_SAME_BATCH_H_
