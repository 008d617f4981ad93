// Calls for many caches at once do for each what its own calls would.
#include <gmock/gmock.h>

#include <memory>
#include <span>

#include "tests/embedding/cache/row_cache_fixture.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using testing::Numbers;
using testing::PlainCache;
using ::testing::ThrowsMessage;

class RowCachesTest : public testing::RowCacheFixture {
 protected:
  struct Member;
  std::vector<RowCache::Use> PrefetchTogether(std::span<const std::unique_ptr<Member>> members,
                                              int64_t most_ids);
};

// A cache and what it is compared with, one of many.
struct RowCachesTest::Member {
  Table table;
  RowCache cache;
  PlainCache plain;
  Batch batch = {};
  Member(Context& ctx, int64_t rows, const CacheConfig& config)
      : table(ctx, rows),
        cache(ctx, {table.weights, table.state}, config),
        plain(rows, cache.lines(), config.ways, config.policy) {}
};

// The ids of all tables lie in one tensor, which all features read.
std::vector<RowCache::Use> RowCachesTest::PrefetchTogether(
    std::span<const std::unique_ptr<Member>> members, int64_t most_ids) {
  std::vector<int64_t> all;
  std::vector<RowCache::Request> requests;
  for (const auto& m : members) {
    m->batch = {RandomIds(static_cast<int64_t>(m->table.truth.size()), most_ids), {}, {}, {}};
    const std::vector<int64_t>& ids = m->batch.ids;
    all.insert(all.end(), ids.begin(), ids.end());
  }
  const Tensor ids = Tensor::From(ctx(), all),
               slots = Tensor::Full(ctx(), {std::ssize(all)}, -7, DType::kI64);
  int64_t at = 0;
  for (const auto& m : members) {
    const int64_t end = at + std::ssize(m->batch.ids), middle = (at + end) / 2;
    requests.push_back({&m->cache, {{ids, at, middle}, {ids, middle, end}}, slots});
    m->batch.slots = slots.Rows(at, end);
    m->batch.expected = m->plain.Prefetch(m->batch.ids);
    at = end;
  }
  const std::vector<RowCache::Batch> batches = RowCache::PrefetchAll(ctx(), requests);
  std::vector<RowCache::Use> uses;
  for (size_t i = 0; i < members.size(); ++i) uses.push_back({&members[i]->cache, batches[i]});
  return uses;
}

TEST_P(RowCachesTest, ManyTogetherDoWhatEachDoesAlone) {
  std::vector<std::unique_ptr<Member>> members;
  for (int64_t i = 0; i < 90; ++i) {
    const CacheConfig config = {.policy = i % 2 == 0 ? CachePolicy::kLru : CachePolicy::kLfu,
                                .ways = std::vector{1, 4, 32}[static_cast<size_t>(i) % 3],
                                .scratch_rows = i % 5 * 3};
    members.push_back(std::make_unique<Member>(ctx(), 1 + i * i % 151, config));
  }
  for (int step = 0; step < 5; ++step) {
    std::vector<RowCache::Use> uses = PrefetchTogether(members, step % 2 == 0 ? 30 : 2);
    RowCache::LoadAll(ctx(), uses);
    for (size_t i = 0; i < members.size(); ++i) {
      Member& m = *members[i];
      ASSERT_NO_FATAL_FAILURE(ExpectSlots(ctx(), m.cache, m.table, m.batch)) << "cache " << i;
      uses[i].updated = (static_cast<int>(i) + step) % 4 != 0;
      if (uses[i].updated) Change(ctx(), m.cache, m.table, m.batch, 0.5f);
      m.plain.Release(m.batch.expected, uses[i].updated);
    }
    RowCache::ReleaseAll(ctx(), uses);
    for (const auto& m : members)
      ASSERT_EQ(Numbers(m->cache.StatsSync(ctx())), Numbers(m->plain.stats())) << "step " << step;
  }
  for (const auto& m : members) {
    m->cache.Flush(ctx());
    ExpectTable(ctx(), m->table);
  }
}

// Keys of rows and tables take more than 32 bits together.
TEST_P(RowCachesTest, TablesOfManyRowsTogether) {
  constexpr int64_t kRows = int64_t{1} << 27;
  const Tensor rows = EmptyAt(ctx(), EmbeddingLocation::kManagedCaching, {kRows, 1}, DType::kU8);
  const std::vector<int64_t> ids = {kRows - 1, 5, kRows / 3, kRows - 1, 7, kRows / 3};
  for (const int64_t id : ids) rows.Rows(id, id + 1).Fill(ctx(), static_cast<double>(id % 101));
  std::vector<std::unique_ptr<RowCache>> caches;
  std::vector<RowCache::Request> requests;
  const Tensor given = Tensor::From(ctx(), ids);
  for (int i = 0; i < 30; ++i) {
    caches.push_back(std::make_unique<RowCache>(ctx(), std::vector{rows},
                                                CacheConfig{.ways = 8, .load_factor = 1e-7}));
    const Tensor slots = Tensor::Empty(ctx(), {std::ssize(ids)}, DType::kI64);
    requests.push_back({caches.back().get(), {{given, 0, i % 7}}, slots});
  }
  const std::vector<RowCache::Batch> batches = RowCache::PrefetchAll(ctx(), requests);
  for (size_t i = 0; i < caches.size(); ++i) {
    caches[i]->Load(ctx(), batches[i]);
    const std::vector<int64_t> slots =
                                   requests[i].slots.To(ctx(), Device::Cpu()).ToVector<int64_t>(),
                               row_ids = caches[i]->row_ids().ToVector<int64_t>();
    const std::vector<uint8_t> held = caches[i]->slots_of_part(0).ToVector<uint8_t>();
    for (size_t j = 0; j < i % 7; ++j) {
      const auto slot = static_cast<size_t>(slots[j]);
      ASSERT_EQ(row_ids.at(slot), ids[j]) << "cache " << i;
      ASSERT_EQ(held.at(slot), ids[j] % 101) << "cache " << i;
    }
  }
}

TEST_P(RowCachesTest, ACallNamesEachCacheOnce) {
  Table table(ctx(), 10);
  RowCache cache(ctx(), {table.weights, table.state}, {});
  const Tensor ids = Tensor::From<int64_t>(ctx(), {1, 2});
  const Tensor slots = Tensor::Empty(ctx(), {2}, DType::kI64);
  const RowCache::Request request = {&cache, {{ids, 0, 2}}, slots}, none = {};
  const auto prefetch = [&](const std::vector<RowCache::Request>& requests) {
    RowCache::PrefetchAll(ctx(), requests);
  };
  EXPECT_THAT(
      [&] {
        prefetch({request, request});
      },
      ThrowsMessage<Error>(HasSubstr("number 1 of 2 came before")));
  EXPECT_THAT(
      [&] {
        prefetch({request, none});
      },
      ThrowsMessage<Error>(HasSubstr("number 1 of 2 is null")));
  EXPECT_EQ(cache.pending(), 0);
}

TESSERA_INSTANTIATE_DEVICES(RowCachesTest);

}  // namespace
}  // namespace tessera
