// Rows of every kind of data, split for training and evaluation: each row is on one side, the same
// one for every reader, and all that reads rows goes on working.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/train/testing/split_data.h"
#include "train/data_sets.h"

namespace tessera {
namespace {

using testing::BatchesOf;
using testing::ConfigOf;
using testing::DataKind;
using testing::ErrorOf;
using testing::ItemsOf;
using testing::kCut;
using testing::Kinds;
using testing::kRows;
using testing::Sorted;
using testing::SplitsOf;
using testing::TimeOf;
using testing::UserOf;
using testing::WriteFile;

TEST(DataSetsSplit, EachRowIsOnOneSide) {
  for (const DataKind& kind : Kinds())
    for (const std::string& split : SplitsOf(kind)) {
      const DataSets data(ConfigOf(kind, split), {.files = kind.files, .threads = 3});
      const std::vector<int64_t> train = ItemsOf(kind, *data.OpenTrain(0)),
                                 eval = ItemsOf(kind, *data.OpenEval());
      EXPECT_TRUE(std::ranges::is_sorted(train) && std::ranges::is_sorted(eval)) << kind.name;
      EXPECT_GT(train.size(), 500u) << kind.name << split;
      EXPECT_GT(eval.size(), 50u) << kind.name << split;
      std::vector<int64_t> all = train;
      all.insert(all.end(), eval.begin(), eval.end());
      std::ranges::sort(all);
      ASSERT_EQ(std::ssize(all), kRows) << kind.name << split;
      for (int64_t n = 0; n < kRows; ++n) ASSERT_EQ(all[static_cast<size_t>(n)], n);
      EXPECT_EQ(data.split_counts().Of(RowPart::kTrain)->rows, std::ssize(train));
      EXPECT_EQ(data.split_counts().Of(RowPart::kEval)->rows, std::ssize(eval));
    }
}

// The features of one user, and times, decide the same in every format.
TEST(DataSetsSplit, KindsOfDataAgree) {
  std::map<std::string, std::vector<int64_t>> of_split;
  for (const DataKind& kind : Kinds())
    for (const std::string& split : SplitsOf(kind)) {
      std::string name = split;
      if (split.find("key") != std::string::npos)  // Criteo's ids are one more
        name = kind.name.starts_with("criteo") ? "key of criteo" : "key";
      const DataSets data(ConfigOf(kind, split), {.files = kind.files});
      const std::vector<int64_t> eval = ItemsOf(kind, *data.OpenEval());
      const auto [found, is_new] = of_split.emplace(name, eval);
      EXPECT_EQ(found->second, eval) << kind.name << " " << split;
    }
  EXPECT_EQ(of_split.size(), 5u);
  EXPECT_EQ(of_split.at(R"({"by": "time", "at": 800})"),
            of_split.at(R"({"by": "time", "fraction": 0.2})"));
}

TEST(DataSetsSplit, RowsOfOneUserAreOnOneSide) {
  for (const DataKind& kind : Kinds()) {
    const DataSets data(ConfigOf(kind, SplitsOf(kind)[1]), {.files = kind.files});
    std::set<int64_t> train, eval;
    for (const int64_t n : ItemsOf(kind, *data.OpenTrain(0))) train.insert(UserOf(n));
    for (const int64_t n : ItemsOf(kind, *data.OpenEval())) eval.insert(UserOf(n));
    EXPECT_EQ(train.size() + eval.size(), 37u) << kind.name;
    EXPECT_EQ(data.split_counts().Of(RowPart::kTrain)->ids, std::ssize(train));
    EXPECT_EQ(data.split_counts().Of(RowPart::kEval)->ids, std::ssize(eval));
  }
}

TEST(DataSetsSplit, LaterRowsAreForEvaluation) {
  for (const DataKind& kind : Kinds()) {
    if (!kind.has_time) continue;
    const DataSets data(ConfigOf(kind, R"({"by": "time", "fraction": 0.2})"),
                        {.files = kind.files});
    EXPECT_EQ(data.split()->at, 800);
    for (const int64_t n : ItemsOf(kind, *data.OpenTrain(0))) EXPECT_LT(TimeOf(n), 800);
    for (const int64_t n : ItemsOf(kind, *data.OpenEval())) EXPECT_GE(TimeOf(n), 800);
  }
}

// A time that was found stays with later rows, which would have moved it.
TEST(DataSetsSplit, AFoundTimeStaysWithOtherRows) {
  const std::string fraction = R"({"by": "time", "fraction": 0.2})";
  for (const DataKind& kind : Kinds()) {
    if (!kind.has_time) continue;
    TrainConfig config = ConfigOf(kind, fraction);
    config.data.split = DataSets(config, {.files = kind.files}).split();
    EXPECT_TRUE(config.data.split->at_was_found);
    const TrainConfig saved = ParseTrainConfig(ToJson(config), "saved");
    EXPECT_EQ(saved.data.split, config.data.split);
    EXPECT_FALSE(GoesByOtherRows(*saved.data.split));
    std::optional<SplitOptions> again = ConfigOf(kind, fraction).data.split;
    TakeFoundTime(saved.data.split, again);
    EXPECT_EQ(again, saved.data.split);
    std::optional<SplitOptions> other =
        ConfigOf(kind, R"({"by": "time", "fraction": 0.3})").data.split;
    TakeFoundTime(saved.data.split, other);
    EXPECT_TRUE(SeeksTime(other));  // another fraction has another time
    const DataSets fewer(saved, {.files = {kind.files.back()}});
    EXPECT_EQ(fewer.split()->at, 800) << kind.name;
  }
}

TEST(DataSetsSplit, ShufflingAndPlacesMoveNoRow) {
  for (const DataKind& kind : Kinds())
    for (const std::string& split : SplitsOf(kind)) {
      const DataSelection selection{.files = kind.files};
      const DataSets plain(ConfigOf(kind, split), selection),
          shuffled(ConfigOf(kind, split, true), selection);
      const std::vector<int64_t> expected = ItemsOf(kind, *plain.OpenTrain(0));
      const std::vector<int64_t> mixed = ItemsOf(kind, *shuffled.OpenTrain(0, 1));
      EXPECT_NE(mixed, expected) << kind.name;
      EXPECT_EQ(Sorted(mixed), expected) << kind.name;
      EXPECT_EQ(ItemsOf(kind, *shuffled.OpenEval()), ItemsOf(kind, *plain.OpenEval()));
      for (const DataSets* data : {&plain, &shuffled}) {
        std::vector<int64_t> ends;
        const auto all = BatchesOf(kind, *data->OpenTrain(0, 1), &ends);
        for (size_t b = 0; b < all.size(); b += 3)
          EXPECT_EQ(BatchesOf(kind, *data->OpenTrain(ends[b], 1)),
                    std::vector(all.begin() + static_cast<int64_t>(b) + 1, all.end()))
              << kind.name << split;
      }
    }
}

TEST(DataSetsSplit, RanksReadTheirPartsOfTables) {
  for (const DataKind& kind : Kinds())
    for (const std::string& split : SplitsOf(kind)) {
      const DataSets data(ConfigOf(kind, split, true), {.files = kind.files});
      if (!data.EpochRows()) continue;  // every rank gets all of text
      const auto whole = BatchesOf(kind, *data.OpenTrain(0));
      std::vector<std::vector<int64_t>> joined(whole.size());
      for (int rank = 0; rank < 3; ++rank) {
        const auto mine = BatchesOf(kind, *data.OpenTrain(0, 0, rank, 3));
        ASSERT_EQ(mine.size(), whole.size());
        for (size_t b = 0; b < mine.size(); ++b)
          joined[b].insert(joined[b].end(), mine[b].begin(), mine[b].end());
      }
      EXPECT_EQ(joined, whole) << kind.name << split;
    }
}

TEST(DataSetsSplit, ConfigurationsAreWrittenAsTheyAreRead) {
  for (const DataKind& kind : Kinds())
    for (const std::string& split : SplitsOf(kind)) {
      const TrainConfig config = ConfigOf(kind, split);
      EXPECT_EQ(ParseTrainConfig(ToJson(config), "again").data.split, config.data.split) << split;
      EXPECT_TRUE(config.data.split.has_value());
    }
}

// ---- ranges, and one part alone

TEST(DataSetsSplit, RangesChooseAmongTheRowsOfEachPart) {
  for (const DataKind& kind : Kinds()) {
    const TrainConfig config = ConfigOf(kind, SplitsOf(kind)[0]);
    const DataSets all(config, {.files = kind.files}),
        some(config, {.files = kind.files,
                      .train_rows = RowRange{100, 700},
                      .eval_rows = RowRange{200, RowRange::kEnd}});
    std::vector<int64_t> train = ItemsOf(kind, *all.OpenTrain(0)),
                         eval = ItemsOf(kind, *all.OpenEval());
    std::erase_if(train, [](int64_t n) { return n < 100 || n >= 700; });
    std::erase_if(eval, [](int64_t n) { return n < 200; });
    EXPECT_EQ(ItemsOf(kind, *some.OpenTrain(0)), train) << kind.name;
    EXPECT_EQ(ItemsOf(kind, *some.OpenEval()), eval) << kind.name;
  }
}

TEST(DataSetsSplit, OnePartIsReadInOrderWithTheBatchesOfTheTraining) {
  for (const DataKind& kind : Kinds())
    for (const std::string& split : SplitsOf(kind)) {
      const TrainConfig config = ConfigOf(kind, split, true);
      const DataSets training(config, {.files = kind.files});
      const auto part = [&](RowPart part) {
        DataSelection selection{.files = kind.files};
        selection.part = part;
        const DataSets data(RowInputsOf(config), selection);
        EXPECT_FALSE(data.has_eval_rows());
        return BatchesOf(kind, *data.OpenInOrder(kEvaluationBatch));
      };
      EXPECT_EQ(part(RowPart::kEval), BatchesOf(kind, *training.OpenEval())) << kind.name;
      EXPECT_EQ(part(RowPart::kTrain).at(0), Sorted(ItemsOf(kind, *training.OpenTrain(0))));
      EXPECT_EQ(part(RowPart::kAll).at(0).size(), static_cast<size_t>(kRows));
    }
}

TEST(DataSetsSplit, BadLinesMoveNoRow) {
  const DataKind& json = Kinds()[2];
  std::string lines = testing::ReadFile(json.files[0]);
  for (int i = 0; i < 3; ++i) lines.insert(lines.find('\n', 500 + 2000 * i) + 1, "bad\n");
  const std::string bad = WriteFile("bad.jsonl", lines);
  for (const std::string& split : SplitsOf(json)) {
    const DataSets data(ConfigOf(json, split), {.files = {bad}, .skip_bad_lines = true});
    std::vector<int64_t> all = ItemsOf(json, *data.OpenTrain(0));
    const std::vector<int64_t> eval = ItemsOf(json, *data.OpenEval());
    all.insert(all.end(), eval.begin(), eval.end());
    EXPECT_EQ(std::ssize(all), kCut) << split;
    EXPECT_NE(ErrorOf([&] {
                const DataSets strict(ConfigOf(json, split), {.files = {bad}});
                ItemsOf(json, *strict.OpenTrain(0));
                ItemsOf(json, *strict.OpenEval());
              }).find("bad.jsonl:"),
              std::string::npos)
        << split;
  }
}

// ---- items without an id of their own, of every kind that counts them

TEST(DataSetsItems, BeyondATableAreCountedOncePerReadRow) {
  for (const DataKind& kind : Kinds()) {
    TrainConfig config = ConfigOf(kind, R"({"fraction": 0.25})");
    config.tables[0].num_embeddings = 20;  // of 37 users, whose ids a folder has modulo 40
    const auto trained = std::make_shared<UnknownItems>(),
               evaluated = std::make_shared<UnknownItems>();
    const DataSets data(
        config, {.files = kind.files, .unknown_items = trained, .unknown_eval_items = evaluated});
    for (const auto& [source, unknown] : {std::pair{data.OpenTrain(0).release(), trained},
                                          std::pair{data.OpenEval().release(), evaluated}}) {
      const std::unique_ptr<DataSource> rows(source);
      int64_t items = 0, beyond = 0;
      for (const int64_t n : ItemsOf(kind, *rows)) {
        ++items;
        beyond += UserOf(n) >= 20;
      }
      const auto counts = unknown->WithUnknown();
      if (kind.name.starts_with("criteo")) {  // whose ids are hashes
        EXPECT_TRUE(counts.empty());
        continue;
      }
      ASSERT_EQ(counts.size(), 1u) << kind.name;
      EXPECT_EQ(counts[0].feature, kind.user);
      EXPECT_FALSE(counts[0].words);
      EXPECT_EQ(counts[0].rows, 20);
      EXPECT_EQ(counts[0].count.items, items) << kind.name;
      EXPECT_EQ(counts[0].count.unknown, beyond) << kind.name;
    }
  }
}

}  // namespace
}  // namespace tessera
