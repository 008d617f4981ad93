#include "planner/step_model/feature_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "runtime/base/check.h"

namespace tessera {
namespace {

KeyedJaggedTensor Batch(Context& ctx, const std::vector<int64_t>& a, const std::vector<int64_t>& b,
                        DType type = DType::kI64) {
  std::vector<int64_t> ids = a;
  ids.insert(ids.end(), b.begin(), b.end());
  const auto n = static_cast<int64_t>(a.size()), m = static_cast<int64_t>(b.size());
  return KeyedJaggedTensor::FromLengthsSync(
      {"a", "b"}, Tensor::From(ctx, ids).To(ctx, type),
      Tensor::From(ctx, std::vector<int64_t>{n, 0, m / 2, m - m / 2}));
}

TEST(FeatureCounter, CountsBagsIdsAndDistinctOnes) {
  Context ctx({.threads = 1});
  FeatureCounter counter;
  counter.Add(ctx, Batch(ctx, {1, 1, 2}, {7}));
  counter.Add(ctx, Batch(ctx, {1, 3, 99, -1}, {7, 7}, DType::kI32));
  const FeatureStatistics a = counter.Of("a", 50);
  EXPECT_EQ(a.bags, 4);
  EXPECT_EQ(a.ids, 5);  // neither 99 nor −1 name a row
  EXPECT_EQ(a.distinct, 3);
  EXPECT_DOUBLE_EQ(a.pooling_factor(), 1.25);
  EXPECT_DOUBLE_EQ(a.distinct_share(), 0.6);
  EXPECT_DOUBLE_EQ(a.hottest_share, 0.6);
  const FeatureStatistics b = counter.Of("b", 8);
  EXPECT_EQ(b.distinct, 1);
  EXPECT_EQ(b.popularity.row_shares, (std::vector<double>{0, 0, 0, 0, 0, 0, 0, 1}));
}

TEST(FeatureCounter, SharesAddUp) {
  Context ctx({.threads = 1});
  FeatureCounter counter;
  counter.Add(ctx, Batch(ctx, {1, 1, 2, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 9}, {5}));
  for (const char* key : {"a", "b"}) {
    double share = 0, rows = 0;
    for (const RowGroup& g : counter.Of(key, 100).popularity.groups) {
      share += g.share;
      rows += g.rows;
    }
    EXPECT_NEAR(share, 1, 1e-12) << key;
    EXPECT_EQ(rows, 100) << key;
  }
}

// A sample predicts other batches of the same kind; much larger ones less well.
TEST(FeatureCounter, ForeseesDistinctRowsOfOtherBatches) {
  Context ctx({.threads = 1});
  constexpr int64_t kRows = 20'000;
  std::mt19937 random(5);
  std::vector<double> cumulative;
  double total = 0;
  for (int64_t k = 1; k <= kRows; ++k) cumulative.push_back(total += std::pow(double(k), -1.05));
  const auto draw = [&](int n) {
    std::vector<int64_t> ids;
    for (int i = 0; i < n; ++i) {
      const double u = std::uniform_real_distribution<double>(0, total)(random);
      ids.push_back(std::lower_bound(cumulative.begin(), cumulative.end(), u) - cumulative.begin());
    }
    return ids;
  };
  FeatureCounter counter;
  counter.Add(ctx, Batch(ctx, draw(20'000), {}));
  const FeatureStatistics s = counter.Of("a", kRows);
  for (const int n : {1'000, 5'000, 20'000, 60'000}) {
    const std::vector<int64_t> ids = draw(n);
    const double distinct = double(std::set<int64_t>(ids.begin(), ids.end()).size());
    EXPECT_NEAR(DistinctRows(s.popularity, n), distinct, (n > 20'000 ? 0.2 : 0.1) * distinct) << n;
  }
  EXPECT_GT(ShareOfRows(s.popularity, kRows, 0, kRows / 4), 0.8);
}

TEST(FeatureCounter, AFeatureWithoutIdsIsEven) {
  Context ctx({.threads = 1});
  FeatureCounter counter;
  counter.Add(ctx, Batch(ctx, {1}, {}));
  EXPECT_EQ(counter.Of("b", 10).popularity, UniformRows(10));
  try {
    counter.Of("c", 10);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                ::testing::HasSubstr("no feature \"c\" in the data, which have a, b"));
  }
}

}  // namespace
}  // namespace tessera
