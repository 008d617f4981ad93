#ifndef TESSERA_TESTS_EMBEDDING_CACHE_ROW_CACHE_FIXTURE_H_
#define TESSERA_TESTS_EMBEDDING_CACHE_ROW_CACHE_FIXTURE_H_
// Row caches beside plain ones: a table whose truth the host knows, and batches of it.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "embedding/cache/row_cache.h"
#include "tests/embedding/cache/plain_cache.h"
#include "tests/testing/devices.h"

namespace tessera::testing {

inline std::vector<int64_t> Numbers(const CacheStats& s) {
  return {s.calls,  s.requested,       s.unique,    s.hits,
          s.misses, s.conflict_misses, s.evictions, s.write_backs};
}

// A table whose weights [E, 5] and state [E] hold one number a row, which the host knows.
class RowCacheFixture : public DeviceTest {
 protected:
  struct Table {
    Table(Context& ctx, int64_t rows) {
      for (int64_t row = 0; row < rows; ++row) truth.push_back(static_cast<float>(row));
      weights = EmptyAt(ctx, EmbeddingLocation::kManagedCaching, {rows, 5});
      state = EmptyAt(ctx, EmbeddingLocation::kManagedCaching, {rows});
      std::vector<float> repeated;
      for (const float v : truth) repeated.insert(repeated.end(), 5, v);
      weights.CopyFrom(ctx, Tensor::From(ctx, {rows, 5}, repeated));
      state.CopyFrom(ctx, Tensor::From(ctx, truth));
    }
    Tensor weights, state;
    std::vector<float> truth;
  };
  struct Batch {
    std::vector<int64_t> ids;
    Tensor slots;
    RowCache::Batch handle;
    PlainCache::Slots expected;
  };

  static Batch Prefetch(Context& ctx, RowCache& cache, PlainCache& plain,
                        std::vector<int64_t> ids) {
    Batch batch{std::move(ids), {}, {}, {}};
    const int64_t n = static_cast<int64_t>(batch.ids.size());
    batch.slots = Tensor::Full(ctx, {n}, -7, DType::kI64);
    const Tensor narrow = Tensor::From(ctx, batch.ids).To(ctx, DType::kI32),
                 wide = Tensor::From(ctx, batch.ids);
    // Two features, their ids in two tensors.
    const CachedIds features[] = {{narrow, 0, n / 3}, {wide, n / 3, n}};
    batch.handle = cache.Prefetch(ctx, features, batch.slots);
    batch.expected = plain.Prefetch(batch.ids);
    return batch;
  }

  static void ExpectSlots(Context& ctx, const RowCache& cache, const Table& table,
                          const Batch& batch) {
    const std::vector<int64_t> slots = batch.slots.To(ctx, Device::Cpu()).ToVector<int64_t>(),
                               row_ids = cache.row_ids().ToVector<int64_t>();
    const std::vector<float> weights = cache.slots_of_part(0).ToVector<float>(),
                             state = cache.slots_of_part(1).ToVector<float>();
    for (size_t i = 0; i < slots.size(); ++i) {
      const int64_t id = batch.ids[i];
      const auto expected = batch.expected.find(id);
      ASSERT_EQ(slots[i], expected == batch.expected.end() ? -1 : expected->second) << "id " << id;
      if (slots[i] < 0) continue;
      const auto slot = static_cast<size_t>(slots[i]);
      ASSERT_EQ(row_ids[slot], id);
      const float truth = table.truth[static_cast<size_t>(id)];
      ASSERT_EQ(state[slot], truth) << "row " << id << " in slot " << slot;
      for (size_t d = 0; d < 5; ++d) ASSERT_EQ(weights[slot * 5 + d], truth) << "row " << id;
    }
  }

  // Writes a new number into every row of the batch.
  static void Change(Context& ctx, const RowCache& cache, Table& table, const Batch& batch,
                     float by) {
    for (const auto& [row, slot] : batch.expected) {
      float& truth = table.truth[static_cast<size_t>(row)];
      truth += by;
      for (const int part : {0, 1}) cache.slots_of_part(part).Rows(slot, slot + 1).Fill(ctx, truth);
    }
  }

  static void ExpectTable(Context& ctx, const Table& table) {
    EXPECT_EQ(table.state.To(ctx, Device::Cpu()).ToVector<float>(), table.truth);
    EXPECT_EQ(table.weights.Narrow(1, 4, 1).To(ctx, Device::Cpu()).ToVector<float>(), table.truth);
  }

  std::vector<int64_t> RandomIds(int64_t rows, int64_t most) {
    std::vector<int64_t> ids(random_() % static_cast<size_t>(most + 1));
    for (int64_t& id : ids) {
      const double u = std::uniform_real_distribution<double>(0, 1)(random_);
      id = random_() % 16 == 0 ? (random_() % 2 ? -1 : rows + 3)
                               : static_cast<int64_t>(static_cast<double>(rows) * u * u * u);
    }
    return ids;
  }

  std::mt19937 random_{20261121};
};

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_EMBEDDING_CACHE_ROW_CACHE_FIXTURE_H_
