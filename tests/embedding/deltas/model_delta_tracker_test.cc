// Rows that a consumer is told against the rows that batches named, by the obvious sets, and
// against the bits that changed; in memory and behind a cache.
#include "embedding/deltas/model_delta_tracker.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "embedding/fused_optimizer.h"
#include "tests/embedding/small_tables.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int64_t kRows = 300;

class ModelDeltaTrackerTest : public testing::DeviceTest {
 protected:
  // t0 is read by two keys; t1 lies behind a cache; t2 sweeps all rows every 4 steps.
  TableBatchedEmbedding Tables() {
    std::vector<BaseEmbeddingConfig> configs = {
        testing::SmallTable("t0", kRows, 4, RowwiseAdagrad{0.1f}),
        testing::SmallTable("t1", kRows, 8, Adam{0.1f}),
        testing::SmallTable("t2", kRows, 4, EmaInPlaceRowwiseAdagrad{.lr = 0.1f, .step_ema = 4})};
    configs[0].data_type = DType::kF16;
    configs[1].location = EmbeddingLocation::kManagedCaching;
    configs[1].cache.load_factor = 0.3;
    return TableBatchedEmbedding(ctx(), configs, std::vector(3, PoolingType::kSum),
                                 {{"f0", 0, "a"}, {"f1", 0, "b"}, {"f2", 1, "b"}, {"f3", 2, "a"}},
                                 {.bounds_check = BoundsCheckMode::kIgnore});
  }

  // A batch of bags of `a`, `b` of up to 3 ids, some of which name no row; the ids of each key that
  // name one are added to `named`.
  KeyedJaggedTensor Batch(std::vector<std::set<int64_t>>& named) {
    std::vector<int64_t> ids, lengths;
    named.assign(2, {});
    for (int64_t bag = 0; bag < 8; ++bag) {
      lengths.push_back(static_cast<int64_t>(random_() % 4));
      for (int64_t i = 0; i < lengths.back(); ++i) {
        ids.push_back(static_cast<int64_t>(random_() % (kRows + 20)) - 10);
        // The check's mode turns an illegal id into row 0.
        const bool legal = ids.back() >= -1 && ids.back() < kRows;
        if (ids.back() != -1) named[bag < 4 ? 0 : 1].insert(legal ? ids.back() : 0);
      }
    }
    return KeyedJaggedTensor::FromLengthsSync({"a", "b"}, Tensor::From(ctx(), ids),
                                              Tensor::From(ctx(), lengths));
  }

  void Step(TableBatchedEmbedding& tables, const KeyedJaggedTensor& batch) {
    Tape tape(ctx());
    const Variable out = tables.Forward(ctx(), batch);
    tape.Backward(out, Tensor::Full(ctx(), out.value().shape(), 0.5));
  }

  std::mt19937_64 random_{11};
};

std::set<int64_t> SetOf(const Tensor& ids) {
  const std::vector<int64_t> rows = ids.ToVector<int64_t>();
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  return {rows.begin(), rows.end()};
}

std::set<int64_t> AllRows() {
  std::set<int64_t> all;
  for (int64_t row = 0; row < kRows; ++row) all.insert(row);
  return all;
}

TEST_P(ModelDeltaTrackerTest, TellsEachConsumerWhatWasNamedSinceItLastAsked) {
  TableBatchedEmbedding tables = Tables();
  ModelDeltaTracker tracker(ctx(), tables, {.consumers = {"often", "seldom"}});
  std::map<std::string, std::vector<std::set<int64_t>>> expected;
  for (const char* consumer : {"often", "seldom"}) expected[consumer].resize(3);
  for (int64_t step = 1; step <= 60; ++step) {
    std::vector<std::set<int64_t>> named;
    const KeyedJaggedTensor batch = Batch(named);
    tables.Forward(ctx(), batch);  // nobody trains: nothing is touched
    Step(tables, batch);
    for (auto& [consumer, sets] : expected) {
      sets[0].insert(named[0].begin(), named[0].end());
      sets[0].insert(named[1].begin(), named[1].end());
      sets[1].insert(named[1].begin(), named[1].end());
      sets[2].insert(named[0].begin(), named[0].end());
      if (step % 4 == 0) sets[2] = AllRows();
    }
    for (auto& [consumer, sets] : expected) {
      if (random_() % (consumer == "often" ? 2 : 15) != 0) continue;
      const std::vector<UniqueRows> unique = tracker.GetUnique(ctx(), consumer);
      ASSERT_EQ(unique.size(), 3u);
      for (size_t t = 0; t < 3; ++t) {
        EXPECT_EQ(SetOf(unique[t].ids), sets[t]) << consumer << ", step " << step << ", " << t;
        sets[t].clear();
      }
    }
  }
  EXPECT_EQ(tracker.bytes(), 3 * kRows * 4);
}

// Weights and states of all tables, on the host.
std::vector<std::vector<float>> Whole(Context& ctx, TableBatchedEmbedding& tables) {
  tables.caches().Flush(ctx);
  std::vector<std::vector<float>> parts;
  for (int t = 0; t < tables.num_tables(); ++t) {
    parts.push_back(tables.weight(t).To(ctx, DType::kF32).ToVector<float>());
    for (const OptimizerState& s : tables.optimizer_states(t))
      parts.push_back(s.tensor.ToVector<float>());
  }
  return parts;
}

TEST_P(ModelDeltaTrackerTest, RowsWrittenOverAnOldCopyMakeTheNewTables) {
  TableBatchedEmbedding tables = Tables();
  ModelDeltaTracker tracker(ctx(), tables, {.mode = TrackingMode::kEmbeddingAndStates});
  std::vector<std::vector<float>> copy = Whole(ctx(), tables);
  for (int step = 0; step < 30; ++step) {
    std::vector<std::set<int64_t>> named;
    Step(tables, Batch(named));
    if (step % 3 != 0) continue;
    size_t part = 0;
    for (const UniqueRows& unique : tracker.GetUnique(ctx())) {
      const std::vector<int64_t> ids = unique.ids.ToVector<int64_t>();
      const auto write = [&](const Tensor& rows) {
        const std::vector<float> values = rows.To(ctx(), DType::kF32).ToVector<float>();
        const int64_t dim = rows.rank() == 2 ? rows.dim(1) : 1;
        for (size_t i = 0; i < ids.size(); ++i)
          std::copy_n(values.begin() + static_cast<int64_t>(i) * dim, dim,
                      copy[part].begin() + ids[i] * dim);
        ++part;
      };
      write(unique.embeddings);
      for (const OptimizerState& state : unique.states) write(state.tensor);
    }
    ASSERT_EQ(copy, Whole(ctx(), tables)) << "step " << step;
  }
}

TEST_P(ModelDeltaTrackerTest, NotesWhatDoesNotComeFromUpdates) {
  TableBatchedEmbedding tables = Tables();
  ModelDeltaTracker tracker(ctx(), tables, {.delete_on_read = false});
  const auto rows = [&](int t) {
    return tracker.GetUnique(ctx())[static_cast<size_t>(t)].ids.ToVector<int64_t>();
  };
  tables.rows().Reset(ctx(), 1, Tensor::From<int64_t>(ctx(), {7, 3, 7}));
  tracker.Touch(ctx(), 0, Tensor::From<int32_t>(ctx(), {299, -1, 300}));
  EXPECT_THAT(rows(0), ElementsAre(299));
  EXPECT_THAT(rows(1), ElementsAre(3, 7));
  EXPECT_THAT(rows(2), ElementsAre());
  tracker.Clear("default");
  EXPECT_THAT(rows(1), ElementsAre());
  EXPECT_THAT([&] { tracker.TouchAll(-1); },
              ThrowsMessage<Error>(HasSubstr("TouchAll of table -1; expected 0 to 2")));
  EXPECT_THAT([&] { tracker.Touch(ctx(), 3, Tensor::From<int64_t>(ctx(), {1})); },
              ThrowsMessage<Error>(HasSubstr("Touch of table 3; expected 0 to 2")));
  tracker.TouchAll(2);
  EXPECT_EQ(std::ssize(rows(2)), kRows);
  tracker.Clear("default");
  FusedOptimizer optimizer(tables);
  optimizer.LoadStateDict(ctx(), optimizer.StateDict());
  EXPECT_EQ(std::ssize(rows(0)), kRows);
  EXPECT_THAT([&] { tracker.Clear("nobody"); },
              ThrowsMessage<Error>(HasSubstr("there is no consumer 'nobody'")));
  EXPECT_THAT(
      [&] {
        ModelDeltaTracker(ctx(), tables, {.consumers = {"a", "a"}});
      },
      ThrowsMessage<Error>(HasSubstr("two consumers are called 'a'")));
}

TEST_P(ModelDeltaTrackerTest, RowsTouchedWhileAConsumerUsesOthersAreNotLost) {
  TableBatchedEmbedding tables = Tables();
  ModelDeltaTracker tracker(ctx(), tables, {.consumers = {"a", "b"}, .delete_on_read = false});
  const auto touch = [&](int64_t row) {
    tracker.Touch(ctx(), 0, Tensor::From<int64_t>(ctx(), {row}));
  };
  const auto rows = [&](const std::string& consumer) {
    return tracker.GetUnique(ctx(), consumer)[0].ids.ToVector<int64_t>();
  };
  touch(1);
  EXPECT_THAT(rows("a"), ElementsAre(1));
  touch(2);
  tracker.Clear("a");
  EXPECT_THAT(rows("a"), ElementsAre(2));
  EXPECT_THAT(rows("b"), ElementsAre(1, 2));
  touch(2);  // again, and another
  touch(3);
  tracker.Clear("a");
  tracker.Clear("b");
  EXPECT_THAT(rows("b"), ElementsAre(2, 3));
  EXPECT_THAT(rows("a"), ElementsAre(2, 3));
  touch(4);
  EXPECT_THAT(rows("a"), ElementsAre(2, 3, 4));  // nobody has cleared
  tracker.Clear("a");
  touch(5);
  tracker.Clear("a");  // without having read
  EXPECT_THAT(rows("a"), ElementsAre());
  touch(6);
  tracker.ClearAll();
  EXPECT_THAT(rows("b"), ElementsAre());
}

TEST_P(ModelDeltaTrackerTest, FrozenTablesAreNotTouchedAndDenseOnesAlways) {
  std::vector<BaseEmbeddingConfig> configs = {testing::SmallTable("frozen", 5, 2),
                                              testing::SmallTable("dense", 5, 2, Dense{})};
  TableBatchedEmbedding tables(ctx(), configs, std::vector(2, PoolingType::kSum),
                               {{"f0", 0, "a"}, {"f1", 1, "a"}});
  tables.SetFrozen(0, true);
  ModelDeltaTracker tracker(ctx(), tables);
  Step(tables, KeyedJaggedTensor::FromLengthsSync({"a"}, Tensor::From<int64_t>(ctx(), {1, 2}),
                                                  Tensor::From<int64_t>(ctx(), {2})));
  const std::vector<UniqueRows> unique = tracker.GetUnique(ctx());
  EXPECT_EQ(unique[0].ids.numel(), 0);
  EXPECT_EQ(unique[1].ids.numel(), 5);
}

TEST_P(ModelDeltaTrackerTest, NewRowsOfATableAreTouched) {
  TouchedRows touched(ctx(), 3);
  const int32_t begin = touched.EndTime();
  touched.Grow(ctx(), 5);
  touched.Touch(ctx(), Tensor::From<int64_t>(ctx(), {1}));
  EXPECT_THAT(touched.SinceSync(ctx(), begin).ToVector<int64_t>(), ElementsAre(1, 3, 4));
  const int32_t middle = touched.EndTime();
  touched.Grow(ctx(), 6);
  EXPECT_THAT(touched.SinceSync(ctx(), middle).ToVector<int64_t>(), ElementsAre(5));
  EXPECT_THAT(touched.SinceSync(ctx(), begin).ToVector<int64_t>(), ElementsAre(1, 3, 4, 5));
}

TESSERA_INSTANTIATE_DEVICES(ModelDeltaTrackerTest);

}  // namespace
}  // namespace tessera
