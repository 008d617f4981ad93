// Checkpoints of growing tables, loaded by trainings that divide raw ids into other parts: each id
// reads the row that it has learned, on any number of ranks.
#include "train/checkpoint/raw_id_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "models/ranking_model.h"
#include "sharding/plan/hash_parts.h"
#include "tests/testing/error_of.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/ranks_run.h"
#include "tests/train/testing/raw_ids_config.h"

namespace tessera {
namespace {

using testing::CurveOf;
using testing::CurveOfRanks;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::PlanFor;
using testing::RawIdsConfig;
using testing::TempPath;

// Two tables of raw ids with room for all that come, some of which are not admitted.
TrainConfig ConfigOf(int64_t num_parts, int64_t rows = 240, int64_t shared_rows = 2) {
  TrainConfig config = RawIdsConfig(
      GrowingIndexOptions{.score = MchEviction::kLfu, .admit_after = 3, .shared_rows = shared_rows},
      num_parts);
  for (const size_t t : {0, 1}) config.tables[t].num_embeddings = rows;
  config.epochs = 1;
  return config;
}

// Returns the log loss of a training that has loaded a checkpoint, and saves it once more.
double LossAfter(const TrainConfig& config, const std::string& from, int ranks,
                 const std::string& saved_again, std::vector<MovedIds>* moved = nullptr) {
  std::filesystem::remove_all(saved_again);
  double loss = 0;
  const auto load = [&](std::optional<TrainingRanks> of_ranks, int rank) {
    Context ctx({.threads = 1, .seed = config.seed + 7});
    Trainer trainer(ctx, config, std::move(of_ranks));
    ASSERT_TRUE(trainer.Load(ReadCheckpoint(from)));
    const double log_loss = trainer.Evaluate(*DataSets(config, {}).OpenEval(rank)).log_loss;
    if (!saved_again.empty()) trainer.Save(saved_again);
    if (rank > 0) return;
    loss = log_loss;
    if (moved != nullptr) *moved = trainer.moved_ids();
  };
  if (ranks == 0)
    load({}, 0);
  else
    RunLocalRanks(ranks, [&](Communicator& comm) {
      load(TrainingRanks{&comm, PlanFor(config, ranks, "row_wise")}, comm.rank());
    });
  return loss;
}

std::string IdPrefix() {
  const std::string weights = RankingModel::TableParameterName("a");
  return weights.substr(0, weights.rfind('.') + 1);
}

std::string RowBytes(const Checkpoint& checkpoint, const std::string& name, int64_t row) {
  for (const CheckpointEntry& entry : checkpoint.tensors) {
    if (entry.name != name) continue;
    const int64_t bytes = entry.tensor.nbytes() / entry.tensor.shape[0];
    std::string read(static_cast<size_t>(bytes), ' ');
    checkpoint.read_bytes(entry, row * bytes, bytes, read.data());
    return read;
  }
  ADD_FAILURE() << name;
  return "";
}

std::vector<int64_t> Numbers(const Checkpoint& checkpoint, const std::string& name) {
  Context ctx({.threads = 1});
  for (const CheckpointEntry& entry : checkpoint.tensors)
    if (entry.name == name) return checkpoint.Read(ctx, entry).ToVector<int64_t>();
  ADD_FAILURE() << name;
  return {};
}

struct LearnedRow {
  std::string weights, states;
  int64_t count = 0, last = 0;
  friend bool operator==(const LearnedRow&, const LearnedRow&) = default;
};

// The rows that the raw ids of table a have learned.
std::map<int64_t, LearnedRow> LearnedIn(const std::string& path, const TrainConfig& config) {
  const Checkpoint checkpoint = ReadCheckpoint(path);
  const ManagedTableConfig& managed = config.managed_collision.at("a");
  const std::string weights = RankingModel::TableParameterName("a"), ids = IdPrefix();
  const int64_t parts = std::max<int64_t>(1, managed.num_parts);
  std::map<int64_t, LearnedRow> learned;
  for (int64_t part = 0; part < parts; ++part) {
    const std::string prefix = ids + (managed.num_parts > 0 ? PartPrefix(part) : "");
    const auto of_part = Numbers(checkpoint, prefix + "_growing_ids"),
               counts = Numbers(checkpoint, prefix + "_growing_counts"),
               last = Numbers(checkpoint, prefix + "_growing_last_access_iter");
    for (size_t i = 0; i < of_part.size(); ++i) {
      if (counts[i] == 0) continue;
      const int64_t row = part * (config.tables[0].num_embeddings / parts) +
                          std::get<GrowingIndexOptions>(managed.module).shared_rows +
                          static_cast<int64_t>(i);
      std::string states;
      for (const CheckpointEntry& entry : checkpoint.tensors)
        if (ParameterOfState(entry.name) == weights && entry.tensor.shape.rank() > 0)
          states += RowBytes(checkpoint, entry.name, row);
      EXPECT_FALSE(states.empty());
      learned[of_part[i]] = {RowBytes(checkpoint, weights, row), states, counts[i], last[i]};
    }
  }
  return learned;
}

TEST(RawIdParts, IdsReadWhatTheyLearnedInOtherParts) {
  const TrainConfig alone = ConfigOf(0);
  CurveOf(alone, {}, TempPath("alone"));
  const double expected = LossAfter(alone, TempPath("alone"), 0, "");
  const auto learned = LearnedIn(TempPath("alone"), alone);
  EXPECT_GT(learned.size(), 20u);
  for (const auto& [parts, ranks] : {std::pair{4, 0}, {4, 1}, {4, 2}, {6, 3}}) {
    SCOPED_TRACE(Format("{} parts on {} ranks", parts, ranks));
    const TrainConfig config = ConfigOf(parts);
    std::vector<MovedIds> moved;
    EXPECT_NEAR(LossAfter(config, TempPath("alone"), ranks, TempPath("parts"), &moved), expected,
                1e-7);
    ASSERT_EQ(moved.size(), 2u);
    EXPECT_EQ(moved[0].table, "a");
    EXPECT_EQ(moved[0].ids, std::ssize(learned));
    EXPECT_EQ(moved[0].without_row, 0);
    EXPECT_TRUE(moved[0].sketch_starts_anew);
    EXPECT_EQ(LearnedIn(TempPath("parts"), config), learned);
    // Other parts and other ranks go on from these parts, and so does a training without any.
    EXPECT_NEAR(LossAfter(ConfigOf(5), TempPath("parts"), 2, TempPath("five")), expected, 1e-7);
    EXPECT_EQ(LearnedIn(TempPath("five"), ConfigOf(5)), learned);
    EXPECT_NEAR(LossAfter(alone, TempPath("parts"), 0, TempPath("again")), expected, 1e-7);
    EXPECT_EQ(LearnedIn(TempPath("again"), alone), learned);
  }
}

TEST(RawIdParts, RanksGoOnFromAFolderInOtherParts) {
  const TrainConfig config = ConfigOf(4);
  CurveOfRanks(config, 2, PlanFor(config, 2, "row_wise"), TempPath("folder"));
  const auto learned = LearnedIn(TempPath("folder"), config);
  const TrainConfig six = ConfigOf(6, 360);
  RunLocalRanks(3, [&](Communicator& comm) {
    Context ctx({.threads = 1, .seed = config.seed});
    Trainer trainer(ctx, six, TrainingRanks{&comm, PlanFor(six, 3, "row_wise")});
    ShardedCheckpoint saved(TempPath("folder"));
    ASSERT_TRUE(trainer.Load(saved));
    EXPECT_EQ(trainer.moved_ids().size(), 2u);
    trainer.Save(TempPath("six"));
  });
  EXPECT_EQ(LearnedIn(TempPath("six"), six), learned);
}

// More rows that ids without one share begin as copies of those that there were.
TEST(RawIdParts, IdsKeepTheirRowsBesideOtherSharedRows) {
  for (const int64_t parts : {0, 4}) {
    const TrainConfig config = ConfigOf(parts);
    const std::string from = TempPath(Format("shared_{}", parts));
    if (parts == 0)
      CurveOf(config, {}, from);
    else
      CurveOfRanks(config, 2, PlanFor(config, 2, "row_wise"), from);
    const auto learned = LearnedIn(from, config);
    EXPECT_GT(learned.size(), 20u);
    for (const int64_t shared : {1, 3, 7}) {
      SCOPED_TRACE(Format("{} parts, {} shared rows", parts, shared));
      const TrainConfig other = ConfigOf(parts, 240, shared);
      std::vector<MovedIds> moved;
      LossAfter(other, from, parts == 0 ? 0 : 2, TempPath("others"), &moved);
      ASSERT_EQ(moved.size(), 2u);
      EXPECT_EQ(moved[0].without_row, 0);
      EXPECT_EQ(moved[0].num_parts, parts);
      EXPECT_EQ(moved[0].num_parts_before, parts);
      EXPECT_EQ(moved[0].shared_rows, shared);
      EXPECT_EQ(moved[0].shared_rows_before, 2);
      EXPECT_EQ(LearnedIn(TempPath("others"), other), learned);
      const Checkpoint before = ReadCheckpoint(from), after = ReadCheckpoint(TempPath("others"));
      for (int64_t row = 0; row < shared; ++row)
        EXPECT_EQ(RowBytes(after, IdPrefix() + "weight", row),
                  RowBytes(before, IdPrefix() + "weight", row % 2));
    }
  }
}

// Ids that were counted before they got rows go on where they are counted otherwise, or not at all.
TEST(RawIdParts, IdsKeepTheirRowsBesideAnotherSketch) {
  const auto config_of = [](int64_t parts, int64_t rows, int64_t admit_after, int64_t sketch) {
    TrainConfig config = ConfigOf(parts, rows);
    for (auto& [table, managed] : config.managed_collision) {
      auto& growing = std::get<GrowingIndexOptions>(managed.module);
      growing.admit_after = admit_after;
      growing.sketch_bytes = sketch;
    }
    return config;
  };
  for (const int64_t parts : {0, 4})
    for (const auto& [is, was] :
         {std::pair{config_of(parts, 240, 1, 0), config_of(parts, 240, 2, 0)},
          {config_of(parts, 240, 2, 0), config_of(parts, 240, 1, 0)},
          {config_of(parts, 480, 2, 0), config_of(parts, 240, 2, 0)},
          {config_of(parts, 240, 2, 1 << 12), config_of(parts, 240, 2, 0)}}) {
      SCOPED_TRACE(ToJson(is));
      const std::string from = TempPath(Format("counted_{}", parts)), to = TempPath("counted_now");
      if (parts == 0)
        CurveOf(was, {}, from);
      else
        CurveOfRanks(was, 2, PlanFor(was, 2, "row_wise"), from);
      std::vector<MovedIds> moved;
      LossAfter(is, from, parts == 0 ? 0 : 2, to, &moved);
      ASSERT_EQ(moved.size(), 2u);
      const auto& growing = std::get<GrowingIndexOptions>(is.managed_collision.at("a").module);
      EXPECT_EQ(moved[0].sketch_starts_anew, growing.admit_after > 1);
      EXPECT_EQ(LearnedIn(to, is), LearnedIn(from, was));
    }
}

// Rows that no id has are those of a new training, so that they take no memory before they are
// used, and new ids begin as they would.
TEST(RawIdParts, OtherRowsAreNew) {
  const TrainConfig alone = ConfigOf(0), config = ConfigOf(4);
  CurveOf(alone, {}, TempPath("alone"));
  LossAfter(config, TempPath("alone"), 2, TempPath("parts"));
  RunLocalRanks(2, [&](Communicator& comm) {
    Context ctx({.threads = 1, .seed = config.seed + 7});
    Trainer(ctx, config, TrainingRanks{&comm, PlanFor(config, 2, "row_wise")})
        .Save(TempPath("new"));
  });
  const Checkpoint moved = ReadCheckpoint(TempPath("parts")),
                   fresh = ReadCheckpoint(TempPath("new"));
  const std::string ids = IdPrefix();
  int64_t unused = 0;
  for (int64_t part = 0; part < 4; ++part) {
    const auto used = std::ssize(Numbers(moved, ids + PartPrefix(part) + "_growing_ids")) + 2;
    for (int64_t row = part * 60 + used; row < (part + 1) * 60; ++row, ++unused)
      EXPECT_EQ(RowBytes(moved, ids + "weight", row), RowBytes(fresh, ids + "weight", row)) << row;
  }
  EXPECT_GT(unused, 100);
}

TEST(RawIdParts, AFullPartKeepsTheIdsThatEvictionsWouldFreeLast) {
  const TrainConfig alone = ConfigOf(0), config = ConfigOf(3, 24);  // 6 ids a part
  CurveOf(alone, {}, TempPath("alone"));
  std::vector<MovedIds> moved;
  LossAfter(config, TempPath("alone"), 2, TempPath("full"), &moved);
  const auto before = LearnedIn(TempPath("alone"), alone),
             after = LearnedIn(TempPath("full"), config);
  EXPECT_EQ(after.size(), 18u);
  EXPECT_EQ(moved[0].without_row, std::ssize(before) - 18);
  std::map<int64_t, int64_t> least;
  const HashParts parts{3, 8};
  for (const auto& [id, row] : after) {
    EXPECT_EQ(row, before.at(id));
    int64_t& of_part = least.try_emplace(parts.PartOf(id), row.count).first->second;
    of_part = std::min(of_part, row.count);
  }
  for (const auto& [id, row] : before) {
    if (after.contains(id)) continue;
    EXPECT_LE(row.count, least.at(parts.PartOf(id))) << id;
  }
  // It trains on.
  TrainConfig more = config;
  more.epochs = 2;
  RunLocalRanks(2, [&](Communicator& comm) {
    EXPECT_GT(
        CurveOf(more, TrainingRanks{&comm, PlanFor(more, 2, "row_wise")}, "", TempPath("full"))
            .losses.size(),
        0u);
  });
}

TEST(RawIdParts, OnlyANewTrainingTakesOtherParts) {
  const TrainConfig alone = ConfigOf(0), config = ConfigOf(4);
  CurveOf(alone, {}, TempPath("alone"));
  Context ctx({.threads = 1, .seed = config.seed});
  Trainer trainer(ctx, config);
  RunTraining(trainer, DataSets(config, {}), {});
  EXPECT_THAT(ErrorOf([&] { trainer.Load(ReadCheckpoint(TempPath("alone"))); }),
              HasSubstr("in a new training alone"));
}

}  // namespace
}  // namespace tessera
