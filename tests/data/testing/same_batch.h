#ifndef TESSERA_TESTS_DATA_TESTING_SAME_BATCH_H_
#define TESSERA_TESTS_DATA_TESTING_SAME_BATCH_H_
// Whether two batches have the same tensors, bit by bit.
#include <gtest/gtest.h>

#include "data/data_source.h"
#include "runtime/context.h"

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
  ExpectSameTensor(a.dense, b.dense, "dense");
  ExpectSameTensor(a.labels, b.labels, "labels");
  ExpectSameTensor(a.weights, b.weights, "weights of rows");
  ExpectSameTensor(a.time, b.time, "time");
  EXPECT_EQ(a.features.keys(), b.features.keys());
  ExpectSameTensor(a.features.values(), b.features.values(), "ids");
  ExpectSameTensor(a.features.lengths(ctx), b.features.lengths(ctx), "lengths");
  ASSERT_EQ(a.features.is_weighted(), b.features.is_weighted());
  if (a.features.is_weighted())
    ExpectSameTensor(a.features.weights().value(), b.features.weights().value(), "weights of ids");
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_DATA_TESTING_SAME_BATCH_H_
