// A growing index on each device, held against its rules over a std::map.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "embedding/managed_collision/growing_index.h"
#include "tests/embedding/managed_collision/raw_ids.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using testing::RawIds;

// The rules of GrowingIndex over a std::map.
struct Reference {
  struct Record {
    int64_t id = 0, last = 0, count = 0;
  };
  MchEviction score;
  int64_t max_rows, admit_after;
  std::map<int64_t, int64_t> rows{};  // of ids
  std::vector<Record> records{};
  std::vector<int64_t> free{};
  int64_t now = 0, hand = 0;
  bool all_are_named = false;  // by this call
  internal::FrequencySketch sketch{admit_after > 1 ? 4 * max_rows : 0, admit_after};

  double Score(const Record& r) const {
    if (score == MchEviction::kLru) return static_cast<double>(r.last);
    if (score == MchEviction::kLfu) return static_cast<double>(r.count);
    return static_cast<double>(r.count) / static_cast<double>(now - r.last + 1);
  }
  Record& At(int64_t row) { return records[static_cast<size_t>(row)]; }

  void Evict() {
    const auto n = static_cast<int64_t>(records.size());
    std::vector<std::pair<double, int64_t>> window;
    for (int64_t seen = 0; seen < n && window.empty(); seen += 256)
      for (int64_t i = 0; i < std::min<int64_t>(256, n); ++i) {
        if (At(hand).count > 0 && At(hand).last != now) window.push_back({Score(At(hand)), hand});
        hand = (hand + 1) % n;
      }
    all_are_named = window.empty();
    std::sort(window.begin(), window.end());
    window.resize((window.size() + 15) / 16);
    for (size_t i = window.size(); i-- > 0;) {
      Record& r = At(window[i].second);
      rows.erase(r.id);
      r.count = 0;
      free.push_back(window[i].second);
    }
  }

  int64_t RowFor(int64_t id) {
    if (const auto found = rows.find(id); found != rows.end()) return found->second;
    if (admit_after > 1 && sketch.Add(MixBits(static_cast<uint64_t>(id))) < admit_after) return -1;
    if (free.empty() && static_cast<int64_t>(records.size()) == max_rows && !all_are_named) Evict();
    int64_t row = -1;
    if (!free.empty()) {
      row = free.back();
      free.pop_back();
    } else if (static_cast<int64_t>(records.size()) < max_rows) {
      row = static_cast<int64_t>(records.size());
      records.emplace_back();
    } else {
      return -1;
    }
    rows[id] = row;
    At(row) = {id, 0, 0};
    return row;
  }

  std::vector<int64_t> Insert(const std::vector<int64_t>& ids) {
    ++now;
    all_are_named = false;
    for (const int64_t id : ids)
      if (const auto found = rows.find(id); found != rows.end()) At(found->second).last = now;
    std::vector<int64_t> result;
    for (const int64_t id : ids) {
      result.push_back(RowFor(id));
      if (result.back() < 0) continue;
      At(result.back()).last = now;
      ++At(result.back()).count;
    }
    sketch.Fade();
    return result;
  }
};

class GrowingIndexSweep : public testing::DeviceTest {
 protected:
  // Half way, the index is replaced by one that was made from its state.
  void ExpectTheReferencesRows(const GrowingIndexOptions& options, int steps) {
    auto index = std::make_unique<GrowingIndex>(options);
    Reference reference{options.score, options.max_rows, options.admit_after};
    RawIds random(9);
    for (int step = 0; step < steps; ++step) {
      const std::vector<int64_t> ids = random.Batch(1, 40, step / 10)[0];
      if (step == steps / 2) {
        auto resumed = std::make_unique<GrowingIndex>(options);
        resumed->LoadStateDict(ctx(), index->StateDict(ctx()));
        index = std::move(resumed);
      }
      const auto inserted = index->Insert(ctx(), Tensor::From(ctx(), ids));
      ASSERT_EQ(inserted.rows.ToVector<int64_t>(), reference.Insert(ids)) << step;
      ASSERT_EQ(index->size(), static_cast<int64_t>(reference.rows.size()));
      const auto looked = random.Batch(1, 40, step / 10)[0];
      const auto found = index->Find(ctx(), Tensor::From(ctx(), looked)).ToVector<int64_t>();
      for (size_t i = 0; i < looked.size(); ++i) {
        const auto expected = reference.rows.find(looked[i]);
        ASSERT_EQ(found[i], expected == reference.rows.end() ? -1 : expected->second) << step;
      }
    }
    ExpectTheReferencesState(*index, reference);
  }
  void ExpectTheReferencesState(const GrowingIndex& index, const Reference& reference) {
    std::map<std::string, Tensor> state;
    for (const NamedTensor& t : index.StateDict(ctx())) state[t.name] = t.tensor;
    const auto of = [&](const char* name) { return state[name].ToVector<int64_t>(); };
    std::vector<int64_t> ids, last, counts;
    for (const Reference::Record& r : reference.records) {
      ids.push_back(r.id);
      last.push_back(r.last);
      counts.push_back(r.count);
    }
    EXPECT_EQ(of("_growing_ids"), ids);
    EXPECT_EQ(of("_growing_last_access_iter"), last);
    EXPECT_EQ(of("_growing_counts"), counts);
    EXPECT_EQ(of("_growing_free_rows"), reference.free);
    EXPECT_THAT(of("_growing_hand"), ElementsAre(reference.hand));
    if (state.contains("_growing_sketch")) {
      EXPECT_EQ(state["_growing_sketch"].ToVector<uint8_t>(), reference.sketch.counters());
      EXPECT_THAT(of("_growing_sketch_adds"), ElementsAre(reference.sketch.adds()));
    }
  }
};

TEST_P(GrowingIndexSweep, RandomStepsEqualTheReference) {
  const int all = std::getenv("TESSERA_TEST_ALL") != nullptr ? 10 : 1;
  for (const MchEviction score : {MchEviction::kLru, MchEviction::kLfu, MchEviction::kDistanceLfu})
    for (const int64_t max_rows : {1, 21, 150, 2000})
      for (const int64_t admit_after : {1, 3}) {
        SCOPED_TRACE(ToString(score) + " " + std::to_string(max_rows) + " " +
                     std::to_string(admit_after));
        ExpectTheReferencesRows({max_rows, score, admit_after}, all * (on_cpu() ? 1000 : 50));
      }
}

// On a GPU nothing is asked between calls, so that the host knows less and less about the rows.
TEST_P(GrowingIndexSweep, RowsAreTheReferencesThoughNobodyAsks) {
  for (const MchEviction score : {MchEviction::kLru, MchEviction::kDistanceLfu})
    for (const int64_t max_rows : {1, 33, 300, 3000}) {
      SCOPED_TRACE(ToString(score) + " " + std::to_string(max_rows));
      GrowingIndex index({max_rows, score});
      Reference reference{score, max_rows, 1};
      RawIds random(3);
      std::vector<Tensor> rows;
      std::vector<std::vector<int64_t>> expected;
      for (int step = 0; step < 60; ++step) {
        std::vector<int64_t> ids = random.Batch(1, 90, step / 3)[0];
        if (step % 16 == 15)  // all at once
          for (int64_t i = 0; i < max_rows / 3; ++i) ids.push_back(step * max_rows + i);
        rows.push_back(index.Insert(ctx(), Tensor::From(ctx(), ids)).rows);
        expected.push_back(reference.Insert(ids));
      }
      for (size_t step = 0; step < rows.size(); ++step)
        ASSERT_EQ(rows[step].ToVector<int64_t>(), expected[step]) << step;
      ExpectTheReferencesState(index, reference);
    }
}

// Windows overlap from lap to lap, and there are more of them than a block of a GPU passes.
TEST_P(GrowingIndexSweep, ABatchOfManyNewIdsTakesTheRowsThatItDoesNotName) {
  for (const int64_t max_rows : {200, 1000, 20000}) {
    SCOPED_TRACE(max_rows);
    const GrowingIndexOptions options = {max_rows, MchEviction::kLfu};
    GrowingIndex index(options);
    Reference reference{options.score, options.max_rows, options.admit_after};
    RawIds random(5);
    const auto insert = [&](int64_t first, int64_t n) {
      std::vector<int64_t> ids;
      for (int64_t i = 0; i < n; ++i) ids.push_back(first + i);
      for (int64_t i = 0; i < n / 4; ++i) ids.push_back(first + random.Below(n));
      const auto inserted = index.Insert(ctx(), Tensor::From(ctx(), ids));
      ASSERT_EQ(inserted.rows.ToVector<int64_t>(), reference.Insert(ids)) << first;
    };
    insert(0, max_rows);
    insert(max_rows - 60, 100 + max_rows / 10);
    insert(3 * max_rows, 60 + max_rows / 2);
    insert(7 * max_rows, 2 * max_rows);  // some find no row
    ExpectTheReferencesState(index, reference);
  }
}

class GrowingIndexDeviceTest : public testing::DeviceTest {};

TEST_P(GrowingIndexDeviceTest, OnceOnAGpuItTakesNoIdsOnTheHost) {
  GrowingIndex index({.max_rows = 5, .name = "t"});
  const auto insert = [&](Context& ctx, int64_t id) {
    index.Insert(ctx, Tensor::From<int64_t>(ctx, {id}));
  };
  insert(ctx(), 7);
  Context host;
  const std::string error = ErrorOf([&] { insert(host, 8); });
  EXPECT_EQ(error.find("growing index t lies on a GPU") == std::string::npos, on_cpu()) << error;
  insert(ctx(), 8);
  EXPECT_EQ(index.size(), 2);
}

TESSERA_INSTANTIATE_DEVICES(GrowingIndexSweep);
TESSERA_INSTANTIATE_DEVICES(GrowingIndexDeviceTest);

}  // namespace
}  // namespace tessera
