// Rows of every kind of data, split for training and evaluation: each row is on one side, the same
// one for every reader, and all that reads rows goes on working.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>

#include "data/first_ids.h"
#include "data/preprocess/parse_rows.h"
#include "data/preprocess/preprocess.h"
#include "tests/data/testing/npz_bytes.h"
#include "tests/train/testing/files.h"
#include "train/data_sets.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::NpyOf;
using testing::NpzBytes;
using testing::TempPath;
using testing::WriteFile;
using testing::WriteGzFile;

// ---- data: row n has the item n, which tells it, the user 13·n mod 37, and the time 7·n mod 1000

constexpr int64_t kRows = 1000;
constexpr int64_t kCut = 300;  // where the second file begins, which is compressed

int64_t UserOf(int64_t n) { return 13 * n % 37; }
int64_t TimeOf(int64_t n) { return 7 * n % 1000; }

// The lines of rows [begin, end).
template <typename LineOf>
std::string Lines(int64_t begin, int64_t end, const LineOf& line_of) {
  std::string text;
  for (int64_t n = begin; n < end; ++n) text += line_of(n) + "\n";
  return text;
}

template <typename LineOf>
std::vector<std::string> TwoFiles(const std::string& name, const LineOf& line_of) {
  return {WriteFile("a_" + name, Lines(0, kCut, line_of)),
          WriteGzFile("b_" + name + ".gz", Lines(kCut, kRows, line_of))};
}

std::vector<std::string> Criteo() {
  return TwoFiles("clicks.tsv", [](int64_t n) {
    return Format("{}\t{}{}\t{:x}\t{:x}{}", n % 2, n, std::string(12, '\t'), UserOf(n), n,
                  std::string(24, '\t'));
  });
}

std::vector<std::string> Json() {
  return TwoFiles("clicks.jsonl", [](int64_t n) {
    return Format(R"({{"user": {}, "item": {}, "t": {}, "y": {}, "x": {}}})", UserOf(n), n,
                  TimeOf(n), n % 2, n);
  });
}

std::vector<std::string> Csv() {
  const std::string heading = "user,item,t,y,x\n";
  const auto line = [](int64_t n) {
    return Format("{},{},{},{},{}", UserOf(n), n, TimeOf(n), n % 2, n);
  };
  return {WriteFile("a.csv", heading + Lines(0, kCut, line)),
          WriteGzFile("b.csv.gz", heading + Lines(kCut, kRows, line))};
}

std::vector<std::string> Ratings() {
  return TwoFiles("u.data", [](int64_t n) {
    return Format("{}\t{}\t{}\t{}", UserOf(n), n, 1 + n % 5, TimeOf(n));
  });
}

std::vector<std::string> Npz() {
  std::vector<float> x;
  std::vector<int64_t> labels, user, item;
  for (int64_t n = 0; n < kRows; ++n) {
    x.push_back(static_cast<float>(n));
    labels.push_back(n % 2);
    user.push_back(UserOf(n));
    item.push_back(n);
  }
  const std::string shape = Format("({},)", kRows);
  WriteFile("day_dense.npy", NpyOf("<f4", Format("({}, 1)", kRows), x));
  WriteFile("day_labels.npy", NpyOf("<i8", shape, labels));
  WriteFile("day_sparse_multi_hot.npz",
            NpzBytes({{"user", NpyOf("<i8", shape, user)}, {"item", NpyOf("<i8", shape, item)}}));
  return {TempPath("day")};
}

// ---- configurations

constexpr char kSchema[] = R"("time": "t", "dense": ["x"], "labels": ["y"])";

struct Kind {
  std::string name;
  std::string data;  // of the configuration
  std::string user, item;
  int64_t dense_in;
  std::vector<std::string> files;
  bool has_time;
};

TrainConfig ConfigOf(const Kind& kind, const std::string& split, bool shuffled = false) {
  const std::string shuffle =
      shuffled ? R"(, "shuffle": {"seed": 5, "window_rows": 128, "block_rows": 16})" : "";
  return ParseTrainConfig(
      Format(R"({{"tables": [{{"name": "u", "rows": 40, "dim": 4, "features": ["{}"]}},
                             {{"name": "i", "rows": 2000, "dim": 4, "features": ["{}"]}}],
                  "model": {{"type": "dlrm", "dense_in": {}, "dense_arch": [4], "over_arch": [4, 1]}},
                  "optimizer": {{"sparse": {{"name": "sgd", "lr": 0.1}},
                                 "dense": {{"name": "sgd", "lr": 0.1}}}},
                  "data": {{{}{}{}}}, "train": {{"batch_size": 64}}}})",
             kind.user, kind.item, kind.dense_in, kind.data, shuffle,
             split.empty() ? "" : ", \"split\": " + split),
      kind.name);
}

std::vector<std::string> CriteoFolder() {
  const std::string path = TempPath("criteo_folder");
  Preprocess({.inputs = Criteo(), .output = path, .shard_rows = 300});
  return {path};
}

std::vector<std::string> BagFolder(const Kind& json) {
  const std::string path = TempPath("bag_folder");
  const TrainConfig config = ConfigOf(json, "");
  ParseRows({.inputs = Json(),
             .output = path,
             .schema = *config.data.schema,
             .features = Features(config),
             .shard_rows = 300});
  return {path};
}

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = [] {
    const std::string criteo = R"("format": "criteo")";
    const Kind json = {
        "jsonl", Format("\"format\": \"jsonl\", {}", kSchema), "user", "item", 1, Json(), true};
    Kind folder = json;
    folder.name = "bag folder";
    folder.files = BagFolder(json);
    return std::vector<Kind>{
        {"criteo", criteo, "cat_0", "cat_1", 13, Criteo(), false},
        {"criteo folder", criteo, "cat_0", "cat_1", 13, CriteoFolder(), false},
        json,
        folder,
        {"csv", Format("\"format\": \"csv\", {}", kSchema), "user", "item", 1, Csv(), true},
        {"npz", R"("format": "npz", "features": ["user", "item"])", "user", "item", 1, Npz(),
         false},
        {"movielens", R"("format": "movielens")", "userId", "movieId", 1, Ratings(), true}};
  }();
  return kinds;
}

// The splits that a kind can have.
std::vector<std::string> SplitsOf(const Kind& kind) {
  std::vector<std::string> splits = {
      R"({"by": "random", "fraction": 0.25, "seed": 3})",
      Format(R"({{"by": "key", "feature": "{}", "fraction": 0.3}})", kind.user)};
  if (kind.has_time)
    splits.insert(splits.end(),
                  {R"({"by": "time", "at": 800})", R"({"by": "time", "fraction": 0.2})"});
  return splits;
}

// ---- what is read

// The items of each batch, which tell its rows; rows of Criteo have ids of one more.
std::vector<std::vector<int64_t>> BatchesOf(const Kind& kind, DataSource& source,
                                            std::vector<int64_t>* ends = nullptr) {
  Context ctx({.threads = 1});
  std::vector<std::vector<int64_t>> batches;
  while (const auto batch = source.Next()) {
    batches.push_back(FirstIds(ctx, *batch, kind.item));
    if (kind.name.starts_with("criteo"))
      for (int64_t& item : batches.back()) --item;
    if (ends != nullptr) ends->push_back(batch->end_row);
  }
  return batches;
}

std::vector<int64_t> ItemsOf(const Kind& kind, DataSource& source) {
  std::vector<int64_t> items;
  for (const auto& batch : BatchesOf(kind, source))
    items.insert(items.end(), batch.begin(), batch.end());
  return items;
}

std::vector<int64_t> Sorted(std::vector<int64_t> items) {
  std::ranges::sort(items);
  return items;
}

TEST(DataSetsSplit, EachRowIsOnOneSide) {
  for (const Kind& kind : Kinds())
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
  for (const Kind& kind : Kinds())
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
  for (const Kind& kind : Kinds()) {
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
  for (const Kind& kind : Kinds()) {
    if (!kind.has_time) continue;
    const DataSets data(ConfigOf(kind, R"({"by": "time", "fraction": 0.2})"),
                        {.files = kind.files});
    EXPECT_EQ(data.split()->at, 800);
    for (const int64_t n : ItemsOf(kind, *data.OpenTrain(0))) EXPECT_LT(TimeOf(n), 800);
    for (const int64_t n : ItemsOf(kind, *data.OpenEval())) EXPECT_GE(TimeOf(n), 800);
  }
}

TEST(DataSetsSplit, ShufflingAndPlacesMoveNoRow) {
  for (const Kind& kind : Kinds())
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
  for (const Kind& kind : Kinds())
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

// ---- ranges, and one part alone

TEST(DataSetsSplit, RangesChooseAmongTheRowsOfEachPart) {
  for (const Kind& kind : Kinds()) {
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
  for (const Kind& kind : Kinds())
    for (const std::string& split : SplitsOf(kind)) {
      const TrainConfig config = ConfigOf(kind, split, true);
      const DataSets training(config, {.files = kind.files});
      const auto part = [&](RowPart part) {
        DataSelection selection{.files = kind.files};
        selection.part = part;
        const DataSets data(RowInputsOf(config), selection);
        EXPECT_EQ(data.has_eval_rows(), part == RowPart::kTrain);
        return BatchesOf(kind, *data.OpenInOrder(kEvaluationBatch));
      };
      EXPECT_EQ(part(RowPart::kEval), BatchesOf(kind, *training.OpenEval())) << kind.name;
      EXPECT_EQ(part(RowPart::kTrain).at(0), Sorted(ItemsOf(kind, *training.OpenTrain(0))));
      EXPECT_EQ(part(RowPart::kAll).at(0).size(), static_cast<size_t>(kRows));
    }
}

TEST(DataSetsSplit, BadLinesMoveNoRow) {
  const Kind& json = Kinds()[2];
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
  for (const Kind& kind : Kinds()) {
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

// ---- what is refused

TEST(DataSetsSplit, RefusesWhatItCannotBeBeside) {
  const Kind& json = Kinds()[2];
  const std::string random = SplitsOf(json)[0];
  EXPECT_EQ(ErrorOf([&] {
              DataSets(ConfigOf(json, random),
                       {.files = {json.files[0]}, .eval_files = {json.files[1]}});
            }),
            Format("data.split beside --eval {}: it takes the rows for evaluation of --data: leave "
                   "one of them out",
                   json.files[1]));
  const std::string pipe = TempPath("pipe");
  ::mkfifo(pipe.c_str(), 0600);
  EXPECT_NE(ErrorOf([&] {
              DataSets(ConfigOf(json, random), {.files = {pipe}});
            }).find("pipe: it can be read once, so rows for evaluation (data.split)"),
            std::string::npos);
  DataSelection once{.files = {pipe}};
  once.part = RowPart::kEval;
  EXPECT_NE(ErrorOf([&] {
              DataSets(RowInputsOf(ConfigOf(json, R"({"by": "time"})")), once);
            }).find("pipe: it can be read once, but the last rows by time"),
            std::string::npos);
}

TEST(DataSetsSplit, RefusesAPartWithoutRowsOfATable) {
  const Kind& ratings = Kinds().back();
  for (const auto& [at, which] :
       {std::pair{5000, "no rows for evaluation"}, std::pair{-1, "no rows to train on"}}) {
    const TrainConfig config = ConfigOf(ratings, Format(R"({{"by": "time", "at": {}}})", at));
    const std::string error = ErrorOf([&] { DataSets(config, {.files = ratings.files}); });
    EXPECT_NE(error.find(which), std::string::npos) << error;
    EXPECT_NE(error.find("of the 1000 rows of"), std::string::npos) << error;
  }
}

TEST(DataSetsSplit, RefusesTimesThatAreNotThere) {
  const Kind& ratings = Kinds().back();
  std::string wide;
  for (int n = 0; n < 10; ++n) wide += Format("5\t{}\t{}\tF\t1\t10\t4\t1975\tDrama\n", n, n);
  const std::vector<std::string> files = {WriteFile("wide.tsv", wide)};
  for (const char* split : {R"({"by": "time", "at": 5})", R"({"by": "time"})"})
    EXPECT_EQ(ErrorOf([&] { DataSets(ConfigOf(ratings, split), {.files = files}); }),
              "data.split.by: time: these rows have no time");
}

TEST(DataSetsSplit, ConfigurationsSayWhatIsWrong) {
  const Kind &criteo = Kinds()[0], &json = Kinds()[2], &npz = Kinds()[5];
  const auto error = [](const Kind& kind, const std::string& split) {
    return ErrorOf([&] { ConfigOf(kind, split); });
  };
  const auto expect = [&](const Kind& kind, const std::string& split, const std::string& text) {
    const std::string got = error(kind, split);
    EXPECT_NE(got.find(text), std::string::npos) << got;
  };
  expect(criteo, R"({"by": "time"})",
         "data.split.by: time: rows of the format criteo have no time");
  expect(npz, R"({"by": "time"})", "rows of the format npz have no time");
  Kind no_time = json;
  no_time.data.erase(no_time.data.find("\"time\""), 13);
  expect(no_time, R"({"by": "time"})", "have no time: expected its column in data.time");
  expect(json, R"({"by": "key", "feature": "who"})",
         "data.split.feature: no table reads the feature 'who'");
  expect(json, R"({"by": "key"})", "data.split.feature");
  for (const char* fraction : {"0", "1", "-0.5", "1.5"})
    expect(json, Format(R"({{"fraction": {}}})", fraction),
           "data.split.fraction: expected a fraction above 0 and below 1");
  expect(json, R"({"by": "time", "at": 5, "fraction": 0.1})",
         "data.split.fraction beside data.split.at: expected one of the two");
  expect(json, R"({"by": "random", "at": 5})", "data.split.at: unknown key");
  expect(json, R"({"by": "time", "seed": 5})", "data.split.seed: unknown key");
  expect(json, R"({"by": "user"})", "data.split.by");
  Kind planted = criteo;
  planted.data = R"("format": "planted", "rows": 10)";
  expect(planted, "{}", "data.split: made-up rows have others for evaluation, of eval_rows");
}

TEST(DataSetsSplit, ConfigurationsAreWrittenAsTheyAreRead) {
  for (const Kind& kind : Kinds())
    for (const std::string& split : SplitsOf(kind)) {
      const TrainConfig config = ConfigOf(kind, split);
      EXPECT_EQ(ParseTrainConfig(ToJson(config), "again").data.split, config.data.split) << split;
      EXPECT_TRUE(config.data.split.has_value());
    }
}

}  // namespace
}  // namespace tessera
