#include "embedding/managed_collision/hash_zch_managed_collision_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/embedding/managed_collision/raw_ids.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"
#include "tests/testing/isa_levels.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::RawIds;

// Expected values are MurmurHash3_x64_128 of the package mmh3, its halves xor-ed.
TEST(HashZchTest, TheHashIsMurmur3) {
  EXPECT_EQ(internal::MurmurHash3(0, 0, 0), 0xffd8b21eb0d00460u);
  EXPECT_EQ(internal::MurmurHash3(1, 0, 0), 0xd6290c3e64a73f15u);
  EXPECT_EQ(internal::MurmurHash3(static_cast<uint64_t>(int64_t{-5}), 0, 0), 0x5a4bd265e8eb2649u);
  EXPECT_EQ(internal::MurmurHash3(1234567890123456789, 0, 0), 0xf07f7a52157655e1u);
}

// Multi-probe hashing written down from its rules, a slot and an id at a time.
struct Reference {
  HashZchOptions options;
  uint64_t seed;
  std::vector<int64_t> owners, times;
  int64_t now = 0;
  uint64_t sequence = 0;
  std::set<int64_t> evicted{};

  int64_t bucket_size() const { return options.zch_size / options.total_num_buckets; }
  int64_t reserved() const {
    if (options.opt_in_prob == -1) return 0;
    return static_cast<int64_t>(static_cast<double>(bucket_size()) *
                                options.percent_reserved_slots / 100);
  }
  uint64_t HashOf(int64_t id) const {
    return internal::MurmurHash3(static_cast<uint64_t>(id), 0, 0);
  }
  int64_t BucketOf(int64_t id) const {
    const int64_t n = options.total_num_buckets;
    return ((id % n) + n) % n;
  }
  // The slots that are probed, in order.
  std::vector<int64_t> Slots(int64_t id) const {
    const int64_t open = bucket_size() - reserved();
    std::vector<int64_t> slots;
    for (int64_t j = 0; j < std::min(open, options.max_probe); ++j)
      slots.push_back(BucketOf(id) * bucket_size() +
                      static_cast<int64_t>(
                          (HashOf(id) % static_cast<uint64_t>(open) + static_cast<uint64_t>(j)) %
                          static_cast<uint64_t>(open)));
    return slots;
  }
  int64_t& OwnerOf(int64_t slot) { return owners[static_cast<size_t>(slot)]; }
  int64_t& TimeOf(int64_t slot) { return times[static_cast<size_t>(slot)]; }

  int64_t Find(int64_t id) {
    for (const int64_t slot : Slots(id)) {
      if (OwnerOf(slot) == -1) return -1;
      if (OwnerOf(slot) == id) return slot;
    }
    return -1;
  }
  int64_t Fallback(int64_t id) {
    if (reserved() > 0)
      return (BucketOf(id) + 1) * bucket_size() - reserved() +
             static_cast<int64_t>(HashOf(id) % static_cast<uint64_t>(reserved()));
    return options.disable_fallback ? -1 : Slots(id)[0];
  }
  int64_t Take(int64_t id) {
    std::vector<int64_t> expired;
    for (const int64_t slot : Slots(id)) {
      const bool empty = OwnerOf(slot) == -1;
      if (empty)
        return expired.empty() || options.eviction == HashZchEviction::kLru ? slot : expired[0];
      if (options.eviction != HashZchEviction::kNone && TimeOf(slot) < now) expired.push_back(slot);
    }
    if (expired.empty()) return -1;
    if (options.eviction != HashZchEviction::kLru) return expired[0];
    return *std::min_element(expired.begin(), expired.end(),
                             [&](int64_t a, int64_t b) { return TimeOf(a) < TimeOf(b); });
  }
  bool OptsIn(uint64_t number) const {
    if (options.opt_in_prob == -1 || options.opt_in_prob == 100) return true;
    const PhiloxBits bits = Philox(seed, sequence, number);
    return UniformBelow(100, bits.v[0], bits.v[1]) < options.opt_in_prob;
  }
  int64_t Until(size_t f) const {
    return now +
           (options.per_feature_ttl.empty() ? options.single_ttl : options.per_feature_ttl[f]);
  }

  std::vector<std::vector<int64_t>> Look(const std::vector<std::vector<int64_t>>& ids) {
    std::vector<std::vector<int64_t>> rows(ids.size());
    for (size_t f = 0; f < ids.size(); ++f)
      for (const int64_t id : ids[f]) {
        const int64_t slot = id == -1 ? -1 : Find(id);
        rows[f].push_back(slot >= 0 ? slot : Fallback(id));
      }
    return rows;
  }

  std::vector<std::vector<int64_t>> Train(const std::vector<std::vector<int64_t>>& ids) {
    ++now;
    std::vector<std::vector<int64_t>> rows(ids.size());
    for (size_t f = 0; f < ids.size(); ++f)
      for (const int64_t id : ids[f]) {
        rows[f].push_back(id == -1 ? -1 : Find(id));
        if (rows[f].back() >= 0)
          TimeOf(rows[f].back()) = std::max(TimeOf(rows[f].back()), Until(f));
      }
    uint64_t number = 0;
    for (size_t f = 0; f < ids.size(); ++f)
      for (size_t i = 0; i < ids[f].size(); ++i, ++number)
        if (rows[f][i] < 0) rows[f][i] = Place(ids[f][i], f, OptsIn(number));
    if (options.opt_in_prob >= 1 && options.opt_in_prob < 100) ++sequence;
    return rows;
  }

  int64_t Place(int64_t id, size_t f, bool opts_in) {
    if (id == -1) return Fallback(id);
    int64_t slot = Find(id);  // an earlier occurrence's
    if (slot < 0 && opts_in) slot = Take(id);
    if (slot < 0) return Fallback(id);
    if (OwnerOf(slot) != -1 && OwnerOf(slot) != id) evicted.insert(slot);
    if (OwnerOf(slot) != id) TimeOf(slot) = -1;
    OwnerOf(slot) = id;
    TimeOf(slot) = std::max(TimeOf(slot), Until(f));
    return slot;
  }
};

std::vector<HashZchOptions> Cases() {
  const HashZchOptions base = {.zch_size = 24, .max_probe = 7, .clock = HashZchClock::kForwards};
  std::vector<HashZchOptions> cases(9, base);
  cases[1].eviction = HashZchEviction::kSingleTtl;
  cases[1].single_ttl = 3;
  cases[2].eviction = HashZchEviction::kPerFeatureTtl;
  cases[2].per_feature_ttl = {2, 9};
  cases[3].eviction = HashZchEviction::kLru;
  cases[4] = cases[3];
  cases[4].single_ttl = 4;
  cases[4].total_num_buckets = 3;
  cases[4].disable_fallback = true;
  cases[5] = cases[1];
  cases[5].opt_in_prob = 30;
  cases[5].percent_reserved_slots = 20;
  cases[6] = cases[2];
  cases[6].opt_in_prob = 100;
  cases[6].percent_reserved_slots = 50;
  cases[6].total_num_buckets = 4;
  cases[7] = cases[3];
  cases[7].max_probe = 128;
  cases[7].zch_size = 40;
  cases[8].disable_fallback = true;
  return cases;
}

class HashZchSweep : public testing::DeviceTest {
 protected:
  // Half way, the module is replaced by one that was made from its state.
  void ExpectTheReferencesRows(const HashZchOptions& options, int steps) {
    auto zch = std::make_unique<HashZchManagedCollisionModule>(ctx(), options);
    const auto slots = static_cast<size_t>(options.zch_size);
    Reference reference{options, ctx().random().seed(), std::vector<int64_t>(slots, -1),
                        std::vector<int64_t>(slots, -1)};
    reference.sequence = ctx().random().next_sequence();
    EXPECT_EQ(zch->reserved_slots_per_bucket(), reference.reserved());
    RawIds random(8);
    for (int step = 0; step < steps; ++step) {
      const auto batch = random.Batch(2, 10, step / 30);
      const std::vector<Tensor> ids = {Tensor::From(ctx(), batch[0]),
                                       Tensor::From(ctx(), batch[1])};
      const bool training = step % 5 != 4;
      if (step == steps / 2) {
        auto resumed = std::make_unique<HashZchManagedCollisionModule>(ctx(), options);
        resumed->LoadStateDict(ctx(), zch->StateDict(ctx()));
        zch = std::move(resumed);
      }
      const auto expected = training ? reference.Train(batch) : reference.Look(batch);
      const std::vector<Tensor> rows = zch->Forward(ctx(), ids, training);
      for (size_t f = 0; f < 2; ++f)
        ASSERT_EQ(rows[f].ToVector<int64_t>(), expected[f]) << step << " " << f;
      ASSERT_EQ(zch->identities().ToVector<int64_t>(), reference.owners) << step;
      if (zch->metadata().defined()) {
        const auto times = zch->metadata().ToVector<int32_t>();
        ASSERT_TRUE(std::ranges::equal(times, reference.times)) << step;
      }
      if (step % 4 != 0) continue;
      const std::vector<int64_t> evicted(reference.evicted.begin(), reference.evicted.end());
      ASSERT_EQ(zch->Evict(ctx()).ToVector<int64_t>(), evicted) << step;
      reference.evicted.clear();
    }
  }
};

TEST_P(HashZchSweep, TenThousandRandomStepsEqualTheReference) {
  const bool all = on_cpu() || std::getenv("TESSERA_TEST_ALL") != nullptr;
  const std::vector<HashZchOptions> cases = Cases();
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    ExpectTheReferencesRows(cases[i], all ? 10000 : 200);
  }
}

TESSERA_INSTANTIATE_DEVICES(HashZchSweep);

TEST(HashZchTest, EveryInstructionSetFindsTheSameSlots) {
  Context ctx({.threads = 2});
  HashZchManagedCollisionModule zch(ctx, {.zch_size = 1000, .max_probe = 37});
  RawIds random(1);
  std::vector<int64_t> ids;
  for (int i = 0; i < 3000; ++i) ids.push_back(random.Below(1500) - 100);
  const std::vector<Tensor> features = {Tensor::From(ctx, ids)};
  zch.Forward(ctx, features, true);
  std::vector<std::vector<int64_t>> found;
  for (const IsaLevel level : testing::IsaLevels()) {
    const testing::ScopedIsa scoped(level);
    found.push_back(zch.Forward(ctx, features, false)[0].ToVector<int64_t>());
    EXPECT_EQ(found.back(), found.front());
  }
}

TEST(HashZchTest, NarrowIdsAreTheSameIds) {
  Context ctx;
  HashZchManagedCollisionModule zch(ctx, {.zch_size = 50});
  const std::vector<Tensor> wide = {Tensor::From<int64_t>(ctx, {4, -7, 4, 90})},
                            narrow = {Tensor::From<int32_t>(ctx, {4, -7, 4, 90})};
  const std::vector<int64_t> rows = zch.Forward(ctx, wide, true)[0].ToVector<int64_t>();
  EXPECT_EQ(rows[0], rows[2]);
  EXPECT_EQ(zch.Forward(ctx, narrow, false)[0].ToVector<int64_t>(), rows);
}

TEST(HashZchTest, IdsBelowASizeGoToBucketsInRanges) {
  Context ctx;
  HashZchManagedCollisionModule zch(
      ctx, {.zch_size = 12, .total_num_buckets = 3, .input_hash_size = 10});
  const std::vector<Tensor> ids = {Tensor::From<int64_t>(ctx, {0, 3, 4, 7, 8, 9})};
  std::vector<int64_t> buckets = zch.Forward(ctx, ids, true)[0].ToVector<int64_t>();
  for (int64_t& row : buckets) row /= 4;
  EXPECT_THAT(buckets, ElementsAre(0, 0, 1, 1, 2, 2));
}

TEST(HashZchTest, WithoutFallbackNobodyReadsAnothersRow) {
  Context ctx;
  HashZchManagedCollisionModule zch(ctx, {.zch_size = 8, .max_probe = 3, .disable_fallback = true});
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < 100; ++i) ids.push_back(i);
  const std::vector<Tensor> features = {Tensor::From(ctx, ids)};
  const auto rows = zch.Forward(ctx, features, true)[0].ToVector<int64_t>();
  const auto owners = zch.identities().ToVector<int64_t>();
  int64_t owned = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (rows[i] < 0) continue;
    EXPECT_EQ(owners[static_cast<size_t>(rows[i])], ids[i]);
    ++owned;
  }
  EXPECT_EQ(owned, 8);
}

TEST(HashZchTest, TimesAreHoursUnlessAskedOtherwise) {
  Context ctx;
  HashZchManagedCollisionModule zch(
      ctx, {.zch_size = 1, .eviction = HashZchEviction::kSingleTtl, .single_ttl = 5});
  const std::vector<Tensor> ids = {Tensor::From<int64_t>(ctx, {7})};
  zch.Forward(ctx, ids, true);
  EXPECT_GT(zch.metadata().ToVector<int32_t>()[0], 490000);  // after 2025
}

TEST(HashZchTest, OptionsAndStateThatMakeNoSenseAreRefused) {
  Context ctx;
  const auto refusal = [&](HashZchOptions options) {
    return ErrorOf([&] { HashZchManagedCollisionModule(ctx, options); });
  };
  EXPECT_THAT(refusal({.zch_size = 10, .total_num_buckets = 3}),
              HasSubstr("10 rows (zch_size) are not a multiple of total_num_buckets 3"));
  EXPECT_THAT(refusal({.zch_size = 10, .eviction = HashZchEviction::kSingleTtl}),
              HasSubstr("single_ttl"));
  EXPECT_THAT(refusal({.zch_size = 10, .eviction = HashZchEviction::kPerFeatureTtl}),
              HasSubstr("PER_FEATURE_TTL_EVICTION"));
  EXPECT_THAT(refusal({.zch_size = 10, .single_ttl = 3}),
              HasSubstr("single_ttl 3 beside the eviction NONE"));
  EXPECT_THAT(refusal({.zch_size = 10, .opt_in_prob = 5}), HasSubstr("opt-in needs one"));
  EXPECT_THAT(refusal({.zch_size = 10,
                       .eviction = HashZchEviction::kLru,
                       .opt_in_prob = 5,
                       .percent_reserved_slots = 20}),
              HasSubstr("LRU"));
  HashZchManagedCollisionModule zch(ctx, {.zch_size = 4, .name = "t"});
  EXPECT_THAT(ErrorOf([&] { zch.LoadStateDict(ctx, {}); }),
              HasSubstr("hash ZCH t: _hash_zch_identities is missing"));
  std::vector<NamedTensor> state = {{"_hash_zch_identities", zch.identities()}};
  EXPECT_EQ(ErrorOf([&] { zch.LoadStateDict(ctx, state); }), "");
  state.push_back({"_output_segments_tensor", Tensor::Full(ctx, {1025}, -1, DType::kI64)});
  state.push_back({"_hash_zch_bucket", Tensor::Full(ctx, {1, 1}, 1, DType::kI64)});
  EXPECT_EQ(ErrorOf([&] { zch.LoadStateDict(ctx, state); }), "");
  state.back().tensor.Fill(ctx, 2);
  EXPECT_THAT(ErrorOf([&] { zch.LoadStateDict(ctx, state); }),
              HasSubstr("_hash_zch_bucket is 2; expected 1"));
  state.pop_back();
  state.push_back({"_hash_zch_metadata", Tensor::Full(ctx, {4, 1}, 0, DType::kI32)});
  EXPECT_THAT(ErrorOf([&] { zch.LoadStateDict(ctx, state); }), HasSubstr("there is no"));
}

// TorchRec's times are hours since 1970, which no count of forwards comes to.
TEST(HashZch, TimesOfTheOtherClockAreRefused) {
  Context ctx({.threads = 1});
  const auto refusal = [&](HashZchClock clock, int32_t time, int32_t forwards) {
    HashZchManagedCollisionModule zch(ctx, {.zch_size = 4,
                                            .eviction = HashZchEviction::kLru,
                                            .single_ttl = 3,
                                            .clock = clock,
                                            .name = "t"});
    const Tensor times = Tensor::From<int32_t>(ctx, {-1, -1, time, -1}).Reshape({4, 1});
    return ErrorOf([&] {
      zch.LoadStateDict(ctx, {{"_hash_zch_identities", zch.identities()},
                              {"_hash_zch_metadata", times},
                              {"_current_iter_tensor", Tensor::From<int32_t>(ctx, {forwards})}});
    });
  };
  EXPECT_THAT(refusal(HashZchClock::kForwards, 498'000, 0),
              HasSubstr("hash ZCH t: _hash_zch_metadata has times up to 498000 after 0 forwards, "
                        "which are hours since 1970, as in TorchRec; expected them under the "
                        "clock HOURS, got the clock FORWARDS"));
  EXPECT_THAT(refusal(HashZchClock::kHours, 12, 9), HasSubstr("got the clock HOURS"));
  EXPECT_EQ(refusal(HashZchClock::kHours, 498'000, 9), "");
  EXPECT_EQ(refusal(HashZchClock::kForwards, 12, 9), "");
  EXPECT_EQ(refusal(HashZchClock::kForwards, 498'003, 498'000), "");
  EXPECT_EQ(refusal(HashZchClock::kHours, -1, 0), "");
}

}  // namespace
}  // namespace tessera
