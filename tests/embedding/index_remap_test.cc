#include "embedding/lookup/index_remap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "embedding/lookup/prune_rows.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr RemapKind kKinds[] = {RemapKind::kArray, RemapKind::kHash};

class IndexRemapTest : public testing::DeviceTest {
 protected:
  template <typename Id>
  std::vector<Id> Remapped(const IndexRemap& remap, const std::vector<Id>& ids) {
    const RemappedIds feature = {Tensor::From(ctx(), ids), 0, static_cast<int64_t>(ids.size()),
                                 &remap};
    return RemapIds(ctx(), {&feature, 1})[0].ToVector<Id>();
  }
};

TEST_P(IndexRemapTest, GivesRowsAndMinusOneForAllElse) {
  const std::vector<RemapEntry> entries = {{7, 0}, {2, 2}, {9, 1}, {0, 2}};
  for (const RemapKind kind : kKinds) {
    const IndexRemap remap(ctx(), kind, entries, 10, 3);
    EXPECT_THAT(Remapped<int64_t>(remap, {0, 1, 2, 9, 7, -1, 10, -5, int64_t{1} << 40}),
                ElementsAre(2, -1, 2, 1, 0, -1, -1, -1, -1));
    EXPECT_THAT(Remapped<int32_t>(remap, {9, 9, -1, 2147483647, 3}), ElementsAre(1, 1, -1, -1, -1));
    const IndexRemap empty(ctx(), kind, {}, 10, 0);
    EXPECT_THAT(Remapped<int64_t>(empty, {0, 9, -1}), ElementsAre(-1, -1, -1));
  }
}

TEST_P(IndexRemapTest, AHashHoldsWhatAMapHolds) {
  std::map<int64_t, int64_t> expected;
  std::vector<RemapEntry> entries;
  for (const int64_t range : {int64_t{1} << 20, int64_t{1} << 45}) {  // slots of i32, of i64
    expected.clear();
    entries.clear();
    uint64_t word = 1;
    while (entries.size() < 1000) {
      word = MixBits(word + 1);
      const auto id = static_cast<int64_t>(word % static_cast<uint64_t>(range));
      if (!expected.emplace(id, entries.size()).second) continue;
      entries.push_back({id, static_cast<int64_t>(entries.size())});
    }
    const IndexRemap remap(ctx(), RemapKind::kHash, entries, range, 1000);
    EXPECT_EQ(remap.data().dim(0), 2016);
    std::vector<int64_t> ids, rows;
    for (const RemapEntry& e : entries)
      for (int64_t id = e.id; id < e.id + 3; ++id) {
        ids.push_back(id);
        rows.push_back(expected.contains(id) ? expected[id] : -1);
      }
    EXPECT_EQ(Remapped(remap, ids), rows);
    const IndexRemap again(ctx(), RemapKind::kHash, entries, range, 1000);
    EXPECT_TRUE(SameBits(again.data(), remap.data()));
  }
}

TEST_P(IndexRemapTest, ReadsADenseMap) {
  for (const RemapKind kind : kKinds) {
    const IndexRemap narrow =
        IndexRemap::FromMap(ctx(), kind, Tensor::From<int32_t>(ctx(), {1, -1, 0}), 2);
    const IndexRemap wide =
        IndexRemap::FromMap(ctx(), kind, Tensor::From<int64_t>(ctx(), {1, -1, 0}), 2);
    EXPECT_EQ(narrow.original_rows(), 3);
    EXPECT_TRUE(SameBits(narrow.data(), wide.data()));
    EXPECT_THAT(Remapped<int32_t>(narrow, {2, 1, 0}), ElementsAre(0, -1, 1));
  }
  EXPECT_THAT(
      [&] {
        IndexRemap::FromMap(ctx(), RemapKind::kArray, Tensor::From<int32_t>(ctx(), {0, 2}), 2);
      },
      ThrowsMessage<Error>(HasSubstr("id 1 is to be row 2, but the table has 2 rows")));
}

TEST_P(IndexRemapTest, RefusesRepeatedIdsAndBadNumbers) {
  const auto make = [&](RemapKind kind, const std::vector<RemapEntry>& entries) {
    return IndexRemap(ctx(), kind, entries, 10, 3);
  };
  for (const RemapKind kind : kKinds) {
    EXPECT_THAT(
        [&] {
          make(kind, {{4, 1}, {4, 1}});
        },
        ThrowsMessage<Error>(HasSubstr("id 4 is listed twice")));
    EXPECT_THAT(
        [&] {
          make(kind, {{4, 3}});
        },
        ThrowsMessage<Error>(HasSubstr("id 4 is to be row 3, but the table has 3 rows")));
    EXPECT_THAT([&] { make(kind, {{4, -1}}); }, ThrowsMessage<Error>(HasSubstr("row -1")));
    EXPECT_THAT(
        [&] {
          make(kind, {{10, 0}});
        },
        ThrowsMessage<Error>(HasSubstr("id 10, but there are 10 ids")));
  }
}

TEST_P(IndexRemapTest, FeaturesShareATensorUnlessTheyOverlap) {
  const IndexRemap a(ctx(), RemapKind::kArray, std::vector<RemapEntry>{{0, 1}, {1, 0}}, 2, 2);
  const IndexRemap b(ctx(), RemapKind::kHash, std::vector<RemapEntry>{{1, 5}}, 2, 6);
  const Tensor ids = Tensor::From<int32_t>(ctx(), {0, 1, 1, 0, 1, 0});
  const std::vector<RemappedIds> features = {
      {ids, 2, 6, &b}, {ids, 0, 2, &a}, {ids, 0, 6, nullptr}, {ids, 0, 4, &a}, {ids, 3, 3, &a}};
  const std::vector<Tensor> r = RemapIds(ctx(), features);
  const auto range = [&](size_t f) {
    return r[f].Rows(features[f].begin, features[f].end).Clone(ctx()).ToVector<int32_t>();
  };
  EXPECT_THAT(range(0), ElementsAre(5, -1, 5, -1));
  EXPECT_THAT(range(1), ElementsAre(1, 0));
  EXPECT_EQ(r[0].raw_data(), r[1].raw_data());
  EXPECT_EQ(r[2].raw_data(), ids.raw_data());
  EXPECT_THAT(range(3), ElementsAre(1, 0, 0, 1));
  EXPECT_NE(r[3].raw_data(), r[1].raw_data());
  EXPECT_THAT(ids.ToVector<int32_t>(), ElementsAre(0, 1, 1, 0, 1, 0));
}

TEST_P(IndexRemapTest, ManyFeaturesInOneCall) {
  const IndexRemap remap(ctx(), RemapKind::kArray, std::vector<RemapEntry>{{1, 0}}, 2, 1);
  const Tensor ids = Tensor::Full(ctx(), {500}, 1, DType::kI64);
  std::vector<RemappedIds> features;
  for (int64_t f = 0; f < 500; ++f) features.push_back({ids, f, f + 1, &remap});
  const std::vector<Tensor> r = RemapIds(ctx(), features);
  EXPECT_EQ(r[0].raw_data(), r[499].raw_data());
  EXPECT_EQ(r[0].ToVector<int64_t>(), std::vector<int64_t>(500, 0));
}

TEST_P(IndexRemapTest, PrunesByMask) {
  const Tensor table = Tensor::From<float>(ctx(), {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  for (const RemapKind kind : kKinds) {
    const PrunedTable p = PruneRowsByMaskSync(
        ctx(), table, Tensor::From<bool>(ctx(), {4}, {false, true, false, true}), kind);
    EXPECT_THAT(p.rows.ToVector<float>(), ElementsAre(3, 4, 7, 8));
    EXPECT_THAT(p.kept_ids.ToVector<int64_t>(), ElementsAre(1, 3));
    EXPECT_EQ(p.remap->kind(), kind);
    EXPECT_THAT(Remapped<int64_t>(*p.remap, {0, 1, 2, 3}), ElementsAre(-1, 0, -1, 1));
  }
  EXPECT_THROW(PruneRowsByMaskSync(ctx(), table, Tensor::Zeros(ctx(), {3}, DType::kBool)), Error);
}

TEST_P(IndexRemapTest, PrunesByNormTiesToLowerIds) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor table = Tensor::From<float>(ctx(), {5, 2}, {0, 5, 3, 4, 1, 1, nan, 0, -5, 0});
  const auto kept = [&](DType dtype, int64_t rows) {
    return PruneRowsByNormSync(ctx(), table.To(ctx(), dtype), rows).kept_ids.ToVector<int64_t>();
  };
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    EXPECT_THAT(kept(dtype, 3), ElementsAre(0, 1, 3));
    EXPECT_THAT(kept(dtype, 4), ElementsAre(0, 1, 3, 4));
    EXPECT_THAT(kept(dtype, 0), ElementsAre());
    EXPECT_EQ(kept(dtype, 5).size(), 5u);
  }
  EXPECT_THROW(PruneRowsByNormSync(ctx(), table, 6), Error);
}

TESSERA_INSTANTIATE_DEVICES(IndexRemapTest);

}  // namespace
}  // namespace tessera
