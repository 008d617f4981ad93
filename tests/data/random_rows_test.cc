#include "data/synthetic/random_rows.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "tests/train/testing/files.h"

namespace tessera {
namespace {

RandomRowsOptions Options() {
  return {.features = {{"a", 7}, {"b", 100}},
          .ids_per_feature = {3, 1},
          .num_dense = 4,
          .seed = 9,
          .rows = 5000};
}

std::vector<int64_t> Numbers(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(RandomRows, HaveTheShapesAskedFor) {
  Context ctx({.threads = 1});
  const Batch batch = RandomRows(Options()).Gather(ctx, Numbers(5));
  EXPECT_EQ(batch.dense.shape(), (Shape{5, 4}));
  EXPECT_EQ(batch.features.keys(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(batch.features.lengths(ctx).ToVector<int32_t>(),
            (std::vector<int32_t>{3, 3, 3, 3, 3, 1, 1, 1, 1, 1}));
  EXPECT_EQ(batch.features.values().dtype(), DType::kI64);
}

TEST(RandomRows, FollowTheirDistributions) {
  Context ctx({.threads = 1});
  const Batch batch = RandomRows(Options()).Gather(ctx, Numbers(5000));
  std::vector<int64_t> seen(7);
  const auto ids = batch.features.values().ToVector<int64_t>();
  for (size_t i = 0; i < 15000; ++i) ++seen.at(static_cast<size_t>(ids[i]));
  for (const int64_t count : seen) EXPECT_NEAR(static_cast<double>(count), 15000 / 7.0, 6 * 43);
  double sum = 0, squares = 0;
  for (const float x : batch.dense.span<float>()) {
    sum += static_cast<double>(x);
    squares += static_cast<double>(x) * static_cast<double>(x);
  }
  EXPECT_NEAR(sum / 20000, 0, 6 * 0.0071);
  EXPECT_NEAR(squares / 20000, 1, 6 * 0.01);
  const auto labels = batch.labels.span<float>();
  EXPECT_NEAR(std::accumulate(labels.begin(), labels.end(), 0.0), 2500, 6 * 36);
}

TEST(RandomRows, ARowDependsOnItsNumberAlone) {
  Context ctx({.threads = 1});
  const RandomRows rows(Options());
  const Batch all = rows.Gather(ctx, Numbers(20)), one = rows.Gather(ctx, std::vector<int64_t>{13});
  EXPECT_EQ(one.dense.ToVector<float>(), all.dense.Rows(13, 14).ToVector<float>());
  EXPECT_EQ(one.features.values().ToVector<int64_t>()[3],
            all.features.values().ToVector<int64_t>()[60 + 13]);
  RandomRowsOptions repeated = Options();
  repeated.distinct_rows = 10;
  EXPECT_EQ(RandomRows(repeated).Gather(ctx, std::vector<int64_t>{13}).dense.ToVector<float>(),
            all.dense.Rows(3, 4).ToVector<float>());
}

TEST(RandomRows, BadOptionsAreErrors) {
  for (const auto& spoil : std::vector<std::function<void(RandomRowsOptions&)>>{
           [](auto& o) {
             o.ids_per_feature = {1, 2, 3};
           },
           [](auto& o) { o.ids_per_feature = {0}; }, [](auto& o) { o.features[0].rows = 0; },
           [](auto& o) { o.rows = 0; }, [](auto& o) { o.num_dense = -1; }}) {
    RandomRowsOptions options = Options();
    spoil(options);
    EXPECT_THROW(RandomRows{options}, std::exception);
  }
}

}  // namespace
}  // namespace tessera
