// Orders, places and parts of every kind of data, as a training sees them.
#include "train/data_sets.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>
#include <vector>

#include "data/preprocess/preprocess.h"
#include "data/synthetic/criteo_file_writer.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/small_run.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

using testing::ErrorOf;
using testing::TempPath;

// Planted rows 0 to 1000, as they are, as text, and in a folder.
std::string Text() {
  const std::string path = TempPath("clicks.tsv");
  WriteCriteoFile(path, ClickModel({.vocabulary = 50, .strength = 3}), {0, 1000});
  return path;
}

std::string Folder() {
  const std::string path = TempPath("clicks");
  Preprocess({.inputs = {Text()}, .output = path, .shard_rows = 300});
  return path;
}

std::vector<DataSelection> Selections() { return {{}, {.files = {Text()}}, {.files = {Folder()}}}; }

TrainConfig Config(bool shuffled) {
  TrainConfig config = testing::SmallConfig();
  if (shuffled)
    config.data.shuffle = ShuffleOptions{.seed = 5, .window_rows = 128, .block_rows = 16};
  return config;
}

using Numbers = std::vector<float>;  // of a batch: what tells rows apart

Numbers NumbersOf(const Batch& batch) { return batch.dense.ToVector<float>(); }

struct Read {
  std::vector<Numbers> batches;
  std::vector<int64_t> ends;
};

Read ReadAll(DataSource& source) {
  Read read;
  while (const auto batch = source.Next()) {
    read.batches.push_back(NumbersOf(*batch));
    read.ends.push_back(batch->end_row);
  }
  return read;
}

TEST(DataSetsOrder, EveryKindOfDataHasTheSameRows) {
  std::vector<Read> reads;
  for (const DataSelection& selection : Selections())
    reads.push_back(ReadAll(*DataSets(Config(false), selection).OpenTrain(0)));
  ASSERT_EQ(reads[0].batches.size(), 16u);  // of 64
  EXPECT_EQ(reads[0].batches, reads[1].batches);
  EXPECT_EQ(reads[0].batches, reads[2].batches);
}

TEST(DataSetsOrder, EpochsAreShuffledEachInItsWay) {
  for (const DataSelection& selection : Selections()) {
    const DataSets data(Config(true), selection);
    const Read first = ReadAll(*data.OpenTrain(0, 0)), second = ReadAll(*data.OpenTrain(0, 1));
    EXPECT_NE(first.batches, second.batches);
    EXPECT_EQ(first.batches, ReadAll(*data.OpenTrain(0, 0)).batches);
    EXPECT_NE(first.batches, ReadAll(*DataSets(Config(false), selection).OpenTrain(0)).batches);
  }
}

TEST(DataSetsOrder, GoesOnFromAnyBatch) {
  for (const bool shuffled : {false, true}) {
    for (DataSelection selection : Selections()) {
      selection.train_rows = RowRange{100, 900};
      const DataSets data(Config(shuffled), selection);
      const Read all = ReadAll(*data.OpenTrain(0, 3));
      for (size_t b = 0; b < all.batches.size(); b += 3) {
        const Read rest = ReadAll(*data.OpenTrain(all.ends[b], 3));
        EXPECT_EQ(rest.batches,
                  std::vector<Numbers>(all.batches.begin() + static_cast<int64_t>(b) + 1,
                                       all.batches.end()));
      }
    }
  }
}

TEST(DataSetsOrder, RanksReadTheirOwnParts) {
  for (const DataSelection& selection : Selections()) {
    if (selection.files == std::vector{Text()}) continue;  // every rank gets all of text
    const DataSets data(Config(true), selection);
    const Read whole = ReadAll(*data.OpenTrain(0));
    std::vector<Numbers> joined(whole.batches.size());
    for (int rank = 0; rank < 3; ++rank) {
      const Read mine = ReadAll(*data.OpenTrain(0, 0, rank, 3));
      EXPECT_EQ(mine.ends, whole.ends);
      ASSERT_EQ(mine.batches.size(), joined.size());
      for (size_t b = 0; b < joined.size(); ++b)
        joined[b].insert(joined[b].end(), mine.batches[b].begin(), mine.batches[b].end());
    }
    EXPECT_EQ(joined, whole.batches);
  }
}

TEST(DataSetsOrder, EvaluationIsNotShuffled) {
  DataSelection selection{.eval_files = {Folder()}};
  const Read eval = ReadAll(*DataSets(Config(true), selection).OpenEval());
  ASSERT_EQ(eval.batches.size(), 1u);
  selection = {.eval_files = {Text()}};
  EXPECT_EQ(eval.batches, ReadAll(*DataSets(Config(true), selection).OpenEval()).batches);
}

TEST(DataSetsOrder, RowsTrainedOnAreNotForEvaluationByAnotherName) {
  const std::string copy = TempPath("copy");
  std::filesystem::remove_all(copy);
  std::filesystem::copy(Folder(), copy);
  const auto error_of = [](DataSelection selection) {
    return ErrorOf([&] { DataSets(Config(false), std::move(selection)); });
  };
  EXPECT_TRUE(error_of({.files = {Folder()}, .eval_files = {copy}})
                  .starts_with(copy + ": its rows are those of " + Folder()));
  EXPECT_EQ(error_of({.files = {Folder()},
                      .eval_files = {copy},
                      .train_rows = RowRange{0, 600},
                      .eval_rows = RowRange{600, 1000}}),
            "");
}

TEST(DataSetsOrder, AnEpochDoesNotBeginAfterItsLastRow) {
  for (const DataSelection& selection : Selections())
    for (const bool shuffled : {false, true}) {
      DataSelection some = selection;
      some.train_rows = RowRange{0, 300};
      some.eval_rows = RowRange{300, 400};
      const DataSets data(Config(shuffled), some);
      EXPECT_TRUE(ReadAll(*data.OpenTrain(300)).batches.empty());
      EXPECT_EQ(ErrorOf([&] { ReadAll(*data.OpenTrain(301)); }),
                "training goes on at row 301, but the rows to train on are 0:300: nothing would be "
                "trained; give the rows that it began with");
    }
  for (const bool shuffled : {false, true}) {
    const DataSets data(Config(shuffled), {.files = {Text()}});
    EXPECT_TRUE(ReadAll(*data.OpenTrain(1000)).batches.empty());
    EXPECT_NE(ErrorOf([&] { ReadAll(*data.OpenTrain(1001)); }).find("the data has 1,000 rows"),
              std::string::npos);
  }
}

// Before an epoch is trained, where rows are a table or lines of plain text.
// The bytes that this process has read until now.
int64_t BytesRead() {
  std::ifstream file("/proc/self/io");
  std::string name;
  int64_t bytes = 0;
  file >> name >> bytes;  // "rchar: "
  return bytes;
}

TEST(DataSetsOrder, LinesOfAFileAreCountedOnceForBothRanges) {
  const std::string path = TempPath("many.tsv");
  WriteCriteoFile(path, ClickModel({.vocabulary = 50, .strength = 3}), {0, 10'000});
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(path));
  DataSelection selection{
      .files = {path}, .train_rows = RowRange{0, 9000}, .eval_rows = RowRange{9000, 10'000}};
  int64_t before = BytesRead();
  const DataSets data(Config(false), selection);
  EXPECT_GT(BytesRead() - before, bytes * 9 / 10);
  EXPECT_LT(BytesRead() - before, bytes * 3 / 2);
  selection.checks_ranges = false;  // as for ranks after the first
  before = BytesRead();
  const DataSets unchecked(Config(false), selection);
  EXPECT_LT(BytesRead() - before, bytes / 2);
}

TEST(DataSetsOrder, RangesBeyondTheDataAreErrors) {
  for (const std::string& path : {Text(), Folder()}) {
    const auto error = [&](const std::optional<RowRange>& train, const RowRange& eval) {
      return ErrorOf([&] {
        DataSets(Config(false), {.files = {path}, .train_rows = train, .eval_rows = eval});
      });
    };
    const std::string has = Format("but the data has 1,000 rows ({})", path);
    EXPECT_EQ(error(RowRange{0, 800}, {900, 1001}),
              "--eval-rows: rows 900:1001 were asked for, " + has);
    EXPECT_EQ(error(RowRange{0, 800}, {1000}), "--eval-rows: rows 1000: were asked for, " + has);
    EXPECT_EQ(error(RowRange{500, 1200}, {0, 500}),
              "--train-rows: rows 500:1200 were asked for, " + has);
    EXPECT_EQ(error(RowRange{0, 800}, {800, 1000}), "");
    EXPECT_EQ(error(RowRange{0, 800}, {999}), "");
  }
}

TEST(DataSetsOrder, FilesThatDoNotFitAreErrors) {
  const TrainConfig config = Config(false);
  EXPECT_EQ(ErrorOf([&] {
              DataSets(config, {.files = {Folder(), Text()}});
            }),
            Folder() + " is folder, but " + Text() + " is text: give data of one layout");
  TrainConfig made_up = config;
  made_up.data.format = DataFormat::kRandom;
  EXPECT_EQ(ErrorOf([&] { DataSets(made_up, {.eval_files = {Text()}}); }),
            Text() +
                ": the configuration's rows are made up (\"format\": \"random\"); expected one "
                "whose data.format is that of the file, such as criteo");
  TrainConfig other = config;
  other.model.dense_in = 12;
  EXPECT_EQ(ErrorOf([&] { DataSets(other, {.files = {Folder()}}); }),
            Folder() + ": expected 12 numbers a row, the model's dense_in, got 13");
}

TEST(DataSets, SelectionsThatMakeNoSenseAreErrors) {
  TrainConfig config = testing::SmallConfig();
  const auto error_of = [&](const DataSelection& selection) {
    return ErrorOf([&] { DataSets(config, selection); });
  };
  EXPECT_EQ(error_of({.train_rows = RowRange{0, 10}, .eval_rows = RowRange{9, 20}}),
            "rows 0:10 are for training and rows 9:20 for evaluation, but no row may be both; "
            "choose with --train-rows and "
            "--eval-rows");
  EXPECT_EQ(error_of({.train_rows = RowRange{0, 10}, .eval_rows = RowRange{10, 20}}), "");
  const std::string file = testing::WriteFile("selected.tsv", testing::NumberedLines(0, 20));
  EXPECT_EQ(error_of({.files = {file}, .eval_rows = RowRange{10, 20}}).substr(0, 40),
            "rows 0: are for training and rows 10:20 ");
  EXPECT_NE(error_of({.files = {file}, .eval_files = {file}})
                .find("which are trained on, and no row may be for evaluation, too"),
            std::string::npos);
  EXPECT_NE(error_of({.files = {"/nowhere"}}).find("/nowhere: cannot be read"), std::string::npos);
  EXPECT_NE(
      error_of({.files = {file}, .eval_files = {"/nowhere"}}).find("/nowhere: cannot be read"),
      std::string::npos);
  config.data.format = DataFormat::kCriteo;
  EXPECT_EQ(error_of({}), "no data: give --data FILE with Criteo rows");
}

TEST(DataSets, FilesWinOverPlantedData) {
  const TrainConfig config = testing::SmallConfig();
  const std::string file = testing::WriteFile("selected.tsv", testing::NumberedLines(0, 100));
  const DataSets data(
      config,
      {.files = {file}, .train_rows = RowRange{0, 90}, .eval_rows = RowRange{90, RowRange::kEnd}});
  EXPECT_FALSE(data.Optimum());
  const auto train = data.OpenTrain(30), eval = data.OpenEval();
  EXPECT_EQ(train->Next()->first_row, 30);
  EXPECT_EQ(eval->Next()->size(), 10);
}

// A folder of rows from `first` on.
std::string FolderFrom(const std::string& name, int64_t first) {
  const std::string text = TempPath(name + ".tsv"), path = TempPath(name);
  WriteCriteoFile(text, ClickModel({.vocabulary = 50, .strength = 3}), {first, first + 300});
  Preprocess({.inputs = {text}, .output = path});
  return path;
}

// Puts the files of one folder after the other into the place of those of `target`, as long as it
// lives.
class Replacer {
 public:
  Replacer(std::vector<std::string> folders, fs::path target)
      : thread_([=, this] {
          for (size_t i = 0; !ends_; ++i)
            for (const auto& file : fs::directory_iterator(folders[i % folders.size()])) {
              fs::copy_file(file, target.string() + ".new");
              fs::rename(target.string() + ".new", target / file.path().filename());
            }
        }) {}
  ~Replacer() {
    ends_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

TEST(DataSets, MappedRowsAreThoseOfTheirIdentity) {
  std::vector<std::string> folders;  // so many that none comes again while one is opened
  for (int64_t i = 0; i < 50; ++i) folders.push_back(FolderFrom(Format("from_{}", i), 300 * i));
  const std::string target = FolderFrom("target", 0);
  std::map<std::string, Numbers> rows_of;
  const auto open = [&] {
    TrainConfig config = Config(/*shuffled=*/false);
    const DataSets data(
        config,
        {.files = {target}, .train_rows = RowRange{0, 250}, .eval_rows = RowRange{250, 300}});
    const Numbers rows = NumbersOf(*data.OpenTrain(0)->Next());
    const auto [known, is_new] = rows_of.emplace(ToText(data.train_identity()), rows);
    EXPECT_EQ(known->second, rows);
  };
  const Replacer replacer(folders, target);
  for (int i = 0; i < 300; ++i) try {
      open();
    } catch (const Error&) {  // replaced while they were opened
    }
  EXPECT_GE(rows_of.size(), 1);
}

TEST(DataSets, NoRowsAreAnError) {
  const std::string file = testing::WriteFile("no_rows.tsv", "");
  EXPECT_EQ(ErrorOf([&] { DataSets(testing::SmallConfig(), {.files = {file}}); }),
            file + ": expected rows, but there are none");
}

}  // namespace
}  // namespace tessera
