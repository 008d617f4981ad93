#include "embedding/managed_collision/growing_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/testing/error_of.h"
#include "tests/testing/isa_levels.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

int64_t Spread(int64_t i) {
  return static_cast<int64_t>(static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15ull);
}

TEST(GrowingIndexTest, GrowsWithoutLosingAnIdOnAnyInstructionSet) {
  Context ctx({.threads = 2});
  GrowingIndex index({.max_rows = 1 << 20});
  constexpr int64_t kCall = 5000, kIds = 300000;
  for (int64_t first = 0; first < kIds; first += kCall) {
    std::vector<int64_t> ids;
    for (int64_t i = first; i < first + kCall; ++i) ids.push_back(Spread(i));
    const auto inserted = index.Insert(ctx, Tensor::From(ctx, ids));
    ASSERT_EQ(inserted.added.size(), static_cast<size_t>(kCall));
    ASSERT_THAT(inserted.reused, IsEmpty());
  }
  std::vector<int64_t> all;
  for (int64_t i = 0; i < 2 * kIds; ++i) all.push_back(Spread(i));
  for (const IsaLevel level : testing::IsaLevels()) {
    const testing::ScopedIsa isa(level);
    const auto rows = index.Find(ctx, Tensor::From(ctx, all)).ToVector<int64_t>();
    for (int64_t i = 0; i < 2 * kIds; ++i)
      ASSERT_EQ(rows[static_cast<size_t>(i)], i < kIds ? i : -1) << ToString(level) << " " << i;
  }
}

// Rows of 64 floats with a row-wise state, and a cap in bytes.
TEST(GrowingIndexTest, TakesAThirdOfItsRowsAtMost) {
  Context ctx;
  constexpr int64_t kRowBytes = 65 * 4, kCap = 120'000'000;
  GrowingIndex index({.max_bytes = kCap, .row_bytes = kRowBytes});
  const int64_t cap = index.max_rows();
  for (int64_t first = 0; first < cap; first += 10000) {
    std::vector<int64_t> ids;
    for (int64_t i = first; i < first + 10000; ++i) ids.push_back(Spread(i));
    index.Insert(ctx, Tensor::From(ctx, ids));
    const int64_t rows = index.num_rows() * kRowBytes;
    if (first >= 50000) {
      ASSERT_LE(index.bytes() + rows, rows * 135 / 100) << first;
    }
    ASSERT_LE(index.bytes() + rows, kCap);
  }
  EXPECT_EQ(index.num_rows(), cap);
  EXPECT_GT(cap * (kRowBytes + 62), kCap * 94 / 100);  // and uses what it may
}

TEST(GrowingIndexTest, OneWithACapInBytesIsResumed) {
  Context ctx;
  const GrowingIndexOptions options = {.max_bytes = 10'000'000, .row_bytes = 260};
  GrowingIndex index(options), resumed(options);
  index.Insert(ctx, Tensor::From<int64_t>(ctx, {5, -1}));
  resumed.LoadStateDict(ctx, index.StateDict(ctx));
  EXPECT_EQ(resumed.max_rows(), index.max_rows());
  EXPECT_THAT(resumed.Find(ctx, Tensor::From<int64_t>(ctx, {-1, 5, 6})).ToVector<int64_t>(),
              ElementsAre(1, 0, -1));
}

// A call looks at sixteen rows for each row that is given away; if it has named all rows, at each
// once.
TEST(GrowingIndexTest, ACallLooksAtFewRowsForWhatItEvicts) {
  Context ctx;
  constexpr int64_t kRows = 20000, kNew = 1000;
  GrowingIndex index({.max_rows = kRows});
  const auto insert = [&](int64_t first, int64_t n) {
    std::vector<int64_t> ids;
    for (int64_t i = first; i < first + n; ++i) ids.push_back(Spread(i));
    const int64_t before = index.rows_looked_at();
    const auto rows = index.Insert(ctx, Tensor::From(ctx, ids)).rows.ToVector<int64_t>();
    return std::pair(index.rows_looked_at() - before, std::count(rows.begin(), rows.end(), -1));
  };
  EXPECT_EQ(insert(0, kRows), std::pair(int64_t{0}, int64_t{0}));
  const auto [looked, without] = insert(kRows, kNew);
  EXPECT_LE(looked, 16 * kNew + 256);
  EXPECT_EQ(without, 0);
  std::vector<int64_t> owners;
  for (const NamedTensor& t : index.StateDict(ctx))
    if (t.name == "_growing_ids") owners = t.tensor.ToVector<int64_t>();
  for (int64_t i = 0; i < kNew; ++i) owners.push_back(Spread(100 * kRows + i));
  const int64_t before = index.rows_looked_at();
  index.Insert(ctx, Tensor::From(ctx, owners));
  EXPECT_LE(index.rows_looked_at() - before, 2 * kRows);
}

TEST(GrowingIndexTest, ARowThatChangesHandsIsSaidToHave) {
  Context ctx;
  GrowingIndex index({.max_rows = 2});
  const auto insert = [&](std::vector<int64_t> ids) {
    return index.Insert(ctx, Tensor::From(ctx, ids));
  };
  EXPECT_THAT(insert({5, -1, 5}).added, ElementsAre(0, 1));
  const auto refused = insert({5, -1, 7});  // both rows are named by this call
  EXPECT_THAT(refused.rows.ToVector<int64_t>(), ElementsAre(0, 1, -1));
  const auto third = insert({-1, 7});
  EXPECT_THAT(third.rows.ToVector<int64_t>(), ElementsAre(1, 0));
  EXPECT_THAT(third.reused, ElementsAre(0));
  EXPECT_THAT(third.added, IsEmpty());
  EXPECT_THAT(index.Find(ctx, Tensor::From<int64_t>(ctx, {5, 7})).ToVector<int64_t>(),
              ElementsAre(-1, 0));
}

TEST(GrowingIndexTest, AnIdIsAdmittedWhenItCameOftenEnough) {
  Context ctx;
  GrowingIndex index({.max_rows = 1000, .admit_after = 3});
  const auto insert = [&](std::vector<int64_t> ids) {
    return index.Insert(ctx, Tensor::From(ctx, ids)).rows.ToVector<int64_t>();
  };
  EXPECT_THAT(insert({7, 8, 7}), ElementsAre(-1, -1, -1));
  EXPECT_THAT(insert({8, 7, 7}), ElementsAre(-1, 0, 0));
  EXPECT_THAT(insert({8, 9}), ElementsAre(1, -1));
  EXPECT_EQ(index.size(), 2);
}

// Erasing and entering again and again leaves nothing behind in the groups.
TEST(GrowingIndexTest, AFullIndexStaysAsLargeAsItIs) {
  Context ctx;
  GrowingIndex index({.max_rows = 20000});
  int64_t bytes = 0;
  for (int64_t call = 0; call < 200; ++call) {
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < 1000; ++i) ids.push_back(Spread(call * 1000 + i));
    const auto inserted = index.Insert(ctx, Tensor::From(ctx, ids));
    ASSERT_EQ(inserted.added.size() + inserted.reused.size(), 1000u);
    const auto found = index.Find(ctx, Tensor::From(ctx, ids)).ToVector<int64_t>();
    ASSERT_EQ(found, inserted.rows.ToVector<int64_t>());
    if (call == 30) bytes = index.bytes();
  }
  EXPECT_EQ(index.num_rows(), 20000);
  EXPECT_LE(index.bytes(), bytes * 2);
}

// The id that has this hash; so ids with equal hashes can be made.
int64_t IdOfHash(uint64_t hash) {
  const auto inverse = [](uint64_t odd) {
    uint64_t x = odd;
    for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
    return x;
  };
  uint64_t h = (hash ^ hash >> 33) * inverse(0xc4ceb9fe1a85ec53ull);
  h = (h ^ h >> 33) * inverse(0xff51afd7ed558ccdull);
  return static_cast<int64_t>(h ^ h >> 33);
}

TEST(GrowingIndexTest, IdsWhoseHashesWereMadeToAgreeAreRefused) {
  Context ctx;
  GrowingIndex index({.max_rows = 10000, .name = "t"});
  std::vector<int64_t> alike;
  for (uint64_t hash = 0; hash < 4000; ++hash) alike.push_back(IdOfHash(hash));
  ASSERT_EQ(MixBits(static_cast<uint64_t>(alike[77])), 77u);
  const int64_t bytes = index.bytes();
  EXPECT_THAT(ErrorOf([&] { index.Insert(ctx, Tensor::From(ctx, alike)); }),
              HasSubstr("growing index t: a segment is full of ids whose hashes have the same "
                        "first 8 bits"));
  EXPECT_LT(index.bytes(), bytes + (8 << 20));
  // Ids from before keep their rows, and ids of other segments get theirs.
  const int64_t rows = index.num_rows();
  alike.resize(static_cast<size_t>(rows));
  const auto found = index.Find(ctx, Tensor::From(ctx, alike)).ToVector<int64_t>();
  for (int64_t r = 0; r < rows; ++r) ASSERT_EQ(found[static_cast<size_t>(r)], r);
  std::vector<int64_t> others;
  for (uint64_t i = 1; i <= 1000; ++i) others.push_back(IdOfHash((1ull << 63) + i));
  EXPECT_EQ(index.Insert(ctx, Tensor::From(ctx, others)).added.size(), 1000u);
}

TEST(GrowingIndexTest, WhatMakesNoSenseIsRefused) {
  Context ctx;
  EXPECT_THAT(ErrorOf([] { GrowingIndex({.max_rows = int64_t{1} << 32}); }),
              HasSubstr("growing index without a name: max_rows 4294967296; expected"));
  EXPECT_THAT(ErrorOf([] { GrowingIndex({.max_bytes = 1000, .row_bytes = 260, .name = "t"}); }),
              HasSubstr("1000 bytes have no room for one row of 260 bytes"));
  EXPECT_THAT(ErrorOf([] { GrowingIndex({.max_rows = 3, .max_bytes = 1000}); }),
              HasSubstr("expected one"));
  EXPECT_THAT(ErrorOf([] { GrowingIndex({.max_rows = 3, .sketch_bytes = INT64_MAX}); }),
              HasSubstr("expected 0 to 2^40"));
  GrowingIndex index({.max_rows = 3, .name = "t"});
  EXPECT_THAT(ErrorOf([&] { index.Insert(ctx, Tensor::Full(ctx, {2}, 1)); }),
              HasSubstr("i32 or i64"));
  index.Insert(ctx, Tensor::From<int64_t>(ctx, {7, 8}));
  const auto with = [&](const std::string& name, const std::vector<int64_t>& values) {
    std::vector<NamedTensor> state = index.StateDict(ctx);
    for (NamedTensor& t : state)
      if (t.name == name) t.tensor = Tensor::From(ctx, values);
    return ErrorOf([&] { index.LoadStateDict(ctx, state); });
  };
  EXPECT_EQ(with("", {}), "");
  EXPECT_THAT(with("_growing_ids", {7, 7}), HasSubstr("id 7, given twice"));
  EXPECT_THAT(with("_growing_ids", {7, 7, 8, 9}), HasSubstr("_growing_last_access_iter"));
  EXPECT_THAT(with("_growing_counts", {0, 1}), HasSubstr("free rows"));
  EXPECT_THAT(with("_growing_counts", {-1, 1}), HasSubstr("named -1 times"));
  EXPECT_THAT(with("_growing_hand", {5}), HasSubstr("hand 5"));
  EXPECT_THAT(with("_current_iter_tensor", {int64_t{1} << 32}), HasSubstr("4294967296 calls"));
  EXPECT_EQ(index.size(), 2);
}

TEST(GrowingIndexTest, SketchesThatCountedTooOftenAreRefused) {
  Context ctx;
  GrowingIndex index({.max_rows = 3, .admit_after = 2, .name = "t"});
  index.Insert(ctx, Tensor::From<int64_t>(ctx, {7, 7, 8}));
  const std::vector<NamedTensor> before = index.StateDict(ctx);
  for (const int64_t adds : {int64_t{-2}, INT64_MIN, INT64_MAX}) {
    std::vector<NamedTensor> state = before;
    for (NamedTensor& t : state)
      if (t.name == "_growing_sketch_adds") t.tensor = Tensor::From<int64_t>(ctx, {adds});
    EXPECT_EQ(
        ErrorOf([&] { index.LoadStateDict(ctx, state); }),
        Format("state of growing index t: _growing_sketch_adds {}; expected 0 to 2^62", adds));
  }
  const std::vector<NamedTensor> after = index.StateDict(ctx);
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_TRUE(SameBits(before[i].tensor, after[i].tensor)) << before[i].name;
}

}  // namespace
}  // namespace tessera
