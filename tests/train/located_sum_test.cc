#include "train/verify/located_sum.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace tessera {
namespace {

TEST(LocatedSumTest, NamesThePlaceOfOneDifferenceAlone) {
  std::mt19937_64 random(1);
  LocatedSum sum;
  for (int i = 0; i < 100; ++i) sum.Add(random() % 1000, random());
  for (const uint64_t place : {uint64_t{0}, uint64_t{999}, uint64_t{1} << 50}) {
    LocatedSum one = sum, other = sum;
    const uint64_t hash = random(), changed = random();
    for (int times = 0; times < 3; ++times) one.Add(place, hash);
    for (int times = 0; times < 3; ++times) other.Add(place, changed);
    EXPECT_NE(one, other);
    EXPECT_EQ(one.PlaceOfDifference(other), place);
    EXPECT_EQ(LocatedSum::From(other.sums()).PlaceOfDifference(one), place);
    one.Add(7, hash);
    EXPECT_EQ(one.PlaceOfDifference(other), std::nullopt);
  }
}

TEST(LocatedSumTest, ConsecutiveItemsAreAsOneByOne) {
  std::mt19937_64 random(2);
  std::vector<uint64_t> hashes(2500);
  for (uint64_t& hash : hashes) hash = random() | uint64_t{7} << 61;
  for (const int64_t count : {0, 1, 1024, 1025, 2500}) {
    for (const uint64_t place : {uint64_t{0}, uint64_t{3}, uint64_t{1} << 60}) {
      LocatedSum one_by_one, consecutive;
      for (int64_t i = 0; i < count; ++i)
        one_by_one.Add(place + static_cast<uint64_t>(i), hashes[static_cast<size_t>(i)]);
      consecutive.AddConsecutive(place, count,
                                 [&](int64_t i) { return hashes[static_cast<size_t>(i)]; });
      EXPECT_EQ(consecutive, one_by_one) << count << " items from place " << place;
    }
  }
}

}  // namespace
}  // namespace tessera
