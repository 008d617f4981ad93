// Estimates of how often items come, against a plain account of every item.
#include "models/item_frequencies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;

TEST(ItemFrequencies, FollowTheFormula) {
  constexpr double kAlpha = 0.25;
  ItemFrequencies frequencies({.slots = 8, .alpha = kAlpha});
  std::vector<double> last(4, 0), gap(4, 0);
  for (int64_t step = 1; step <= 40; ++step) {
    std::vector<int64_t> items;  // item i comes every i + 1 steps, item 0 three times
    for (int64_t i = 0; i < 4; ++i)
      if (step % (i + 1) == 0) items.insert(items.end(), i == 0 ? 3 : 1, i);
    std::reverse(items.begin(), items.end());
    for (size_t i = 0; i < 4; ++i) {
      const auto times = static_cast<double>(std::ranges::count(items, static_cast<int64_t>(i)));
      if (times == 0) continue;
      const double now = (static_cast<double>(step) - last[i]) / times;
      gap[i] = last[i] == 0 ? now : (1 - kAlpha) * gap[i] + kAlpha * now;
      last[i] = static_cast<double>(step);
    }
    const std::vector<float> logs = frequencies.Observe(items, step);
    ASSERT_EQ(logs.size(), items.size());
    for (size_t row = 0; row < items.size(); ++row)
      EXPECT_NEAR(logs[row], -std::log(gap[static_cast<size_t>(items[row])]), 1e-5);
    frequencies.Commit();
  }
}

// Items by chance, with given chances: the estimates come near them.
TEST(ItemFrequencies, ComeNearTheTruth) {
  ItemFrequencies frequencies({.slots = 1 << 12, .alpha = 0.02});
  constexpr double kShares[] = {0.5, 0.25, 0.15, 0.07, 0.02, 0.01};
  constexpr int64_t kBatch = 20;
  Context ctx({.threads = 1, .seed = 3});
  const Tensor draws = Tensor::Empty(ctx, {kBatch});
  std::vector<double> logs(6, 0);
  for (int64_t step = 1; step <= 3000; ++step) {
    FillUniform(ctx, draws, 0, 1);
    std::vector<int64_t> items;
    for (double draw : draws.span<float>()) {
      int64_t item = 0;
      while (item < 5 && draw >= kShares[item]) draw -= kShares[item++];
      items.push_back(item);
    }
    const std::vector<float> seen = frequencies.Observe(items, step);
    for (size_t i = 0; i < items.size(); ++i) logs[static_cast<size_t>(items[i])] = seen[i];
    frequencies.Commit();
  }
  for (size_t item = 0; item < 6; ++item)
    EXPECT_NEAR(logs[item], std::log(kShares[item] * kBatch), 0.35) << item;
}

TEST(ItemFrequencies, LearnNothingWithoutCommit) {
  ItemFrequencies frequencies({.slots = 16, .alpha = 0.5});
  const std::vector<float> first = frequencies.Observe(std::vector<int64_t>{3, -1}, 4);
  EXPECT_EQ(frequencies.Observe(std::vector<int64_t>{3, -1}, 4), first);
  frequencies.Commit();
  EXPECT_THAT(ErrorOf([&] { frequencies.Observe(std::vector<int64_t>{3}, 4); }),
              HasSubstr("the step 4 of items that came in step 4 before"));
}

TEST(ItemFrequencies, StateGoesOn) {
  ItemFrequencies one({.slots = 16, .alpha = 0.5}), other({.slots = 16, .alpha = 0.5});
  one.Observe(std::vector<int64_t>{1, 2, 2}, 1);
  one.Commit();
  other.LoadState(one.State());
  const std::vector<int64_t> next = {2, 5};
  EXPECT_EQ(other.Observe(next, 7), one.Observe(next, 7));
  ItemFrequencies fewer({.slots = 8, .alpha = 0.5});
  EXPECT_THAT(ErrorOf([&] { fewer.LoadState(one.State()); }), HasSubstr("[16]"));
}

TEST(ItemFrequencies, ItemsAreTheIdsOfTheirFeatures) {
  Context ctx({.threads = 1});
  const auto features = KeyedJaggedTensor::FromLengthsSync(
      {"item", "user", "kind"}, Tensor::From<int64_t>(ctx, {7, 7, 7, 1, 2, 3, 4, 5, 5, 5, 6}),
      Tensor::From<int64_t>(ctx, {1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 2, 0}));
  const std::vector<int64_t> one = ItemsOf(ctx, features, {"item"});
  ASSERT_EQ(one.size(), 4u);
  EXPECT_EQ(one[0], one[1]);
  EXPECT_EQ(one[1], one[2]);
  EXPECT_NE(one[2], one[3]);
  const std::vector<int64_t> both = ItemsOf(ctx, features, {"item", "kind"});
  EXPECT_EQ(both[0], both[1]);
  EXPECT_NE(both[1], both[2]);
  EXPECT_NE(both[0], one[0]);
}

}  // namespace
}  // namespace tessera
