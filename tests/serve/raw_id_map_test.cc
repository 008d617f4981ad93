#include "serve/raw_id_map.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>

#include "tests/testing/error_of.h"

namespace tessera::serve {
namespace {

using tessera::testing::ErrorOf;

// Ids that crowd a few places, extreme ones, and others.
int64_t IdOf(std::mt19937_64& random) {
  const uint64_t any = random();
  if (any % 4 == 0) return static_cast<int64_t>(any);
  if (any % 4 == 1) return static_cast<int64_t>(any % 512) - 256;
  constexpr int64_t kExtremes[] = {std::numeric_limits<int64_t>::min(), -1, 0,
                                   std::numeric_limits<int64_t>::max()};
  return kExtremes[any / 4 % 4];
}

TEST(RawIdMap, DoesWhatAMapDoes) {
  std::mt19937_64 random(5);
  RawIdMap ids(3);
  std::map<int64_t, int64_t> expected;
  for (int step = 0; step < 20000; ++step) {
    const int64_t id = IdOf(random);
    if (random() % 5 < (step < 10000 ? 3u : 2u)) {
      const auto row = static_cast<int64_t>(random() % 1000);
      ids.Set(id, row);
      expected[id] = row;
    } else {
      ids.Remove(id);
      expected.erase(id);
    }
    const int64_t other = IdOf(random);
    const auto found = expected.find(other);
    ASSERT_EQ(ids.view().RowOf(other), found == expected.end() ? -1 : found->second);
  }
  ASSERT_EQ(ids.size(), std::ssize(expected));
  EXPECT_GT(ids.size(), 100);
  EXPECT_LE(4 * ids.size(), 3 * ids.slots().dim(0));
  auto next = expected.begin();
  for (const RemapEntry& entry : ids.Entries()) {
    EXPECT_EQ(entry.id, next->first);
    EXPECT_EQ(entry.row, (next++)->second);
    EXPECT_EQ(ids.view().RowOf(entry.id), entry.row);
  }
}

// Slots of a mapped file become zeros where it is cut: their entries are wrong, but every call
// ends.
TEST(RawIdMap, SlotsThatBecomeZerosAreSearchedOnce) {
  RawIdMap ids(40);
  for (int64_t id = 1; id < 40; ++id) ids.Set(id, id);
  for (int64_t& slot : ids.slots().span<int64_t>()) slot = 0;
  EXPECT_EQ(ids.view().RowOf(7), -1);
  EXPECT_EQ(ids.view().RowOf(0), 0);
  ids.Remove(7);
  ids.Set(8, 8);
  for (int64_t& slot : ids.slots().span<int64_t>()) slot = 0;
  ids.Remove(0);
}

TEST(RawIdMap, SlotsThatMakeNoSenseAreRefused) {
  Context ctx({.threads = 1});
  RawIdMap ids(4);
  ids.Set(7, 3);
  EXPECT_EQ(RawIdMap(ids.slots(), 4, "x").size(), 1);
  EXPECT_EQ(ErrorOf([&] { RawIdMap(ids.slots(), 3, "x"); }).find("x: row 3 of id 7"), 0u);
  const Tensor full = Tensor::Zeros(ctx, {32, 2}, DType::kI64);
  EXPECT_EQ(ErrorOf([&] { RawIdMap(full, 4, "x"); }).find("x: no slot is free"), 0u);
}

}  // namespace
}  // namespace tessera::serve
