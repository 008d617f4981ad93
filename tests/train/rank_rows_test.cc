// Each rank that reads text gets its rows of the batches that one process reads, and parses no line
// of the others.
#include "data/rank_rows.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "data/batch_rows.h"
#include "tests/data/testing/same_batch.h"
#include "tests/train/testing/files.h"
#include "train/data_sets.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::WriteFile;
using testing::WriteGzFile;

constexpr int kRows = 61, kBatch = 7;  // the last batch has 5

// Text of one format, or rows that are made up.
struct Kind {
  std::string name, heading = {};
  std::string (*line)(int n) = nullptr;
  std::string bad_line = {}, data = {}, feature = {};
  int dense = 1;
  std::string label = "label";  // rows' numbers, which are no clicks
};

std::string JsonLine(int n) {
  std::string bag;
  for (int i = 0; i < n % 4; ++i) bag += (i == 0 ? "" : ", ") + std::to_string(n + 10 * i);
  return Format("{{\"n\": {}, \"x\": {}, \"bag\": [{}]}}\n", n, n * 0.25, bag);
}
std::string CsvLine(int n) { return Format("{},{},{}|{}\n", n, n * 0.25, n, 2 * n); }
std::string CriteoLine(int n) { return testing::NumberedLine(n) + "\n"; }

std::vector<Kind> Kinds() {
  return {
      {"jsonl", "", JsonLine, "{\"n\": \"x\"}\n",
       R"("format": "jsonl", "dense": ["x"], "features": ["bag"], "labels": ["n"])", "bag", 1, "n"},
      {"csv", "n,x,bag\n", CsvLine, "1,x,2\n",
       R"("format": "csv", "dense": ["x"], "labels": ["n"],
              "features": [{"name": "bag", "separator": "|"}])",
       "bag", 1, "n"},
      {"criteo", "", CriteoLine, "1\tx\n", R"("format": "criteo")", "cat_0", 13}};
}

std::string Lines(const Kind& kind, int begin, int end) {
  std::string text;
  for (int n = begin; n < end; ++n) text += kind.line(n);
  return text;
}

TrainConfig ConfigOf(const Kind& kind, const std::string& more = "") {
  return ParseTrainConfig(
      Format(R"({{"tables": [{{"name": "t", "rows": 50, "dim": 4, "features": ["{}"]}}],
        "model": {{"type": "dlrm", "dense_in": {}, "dense_arch": [8, 4], "over_arch": [8, 1],
          "tasks": [{{"label": "{}", "loss": "mse"}}]}},
        "optimizer": {{"sparse": {{"name": "sgd", "lr": 0.1}}, "dense": {{"name": "sgd", "lr": 0.1}}}},
        "data": {{{}{}}}, "train": {{"batch_size": {}, "epochs": 3}}}})",
             kind.feature, kind.dense, kind.label, kind.data, more, kBatch),
      "ranks.json");
}

// Two files, of which one is packed.
std::vector<std::string> Files(const Kind& kind) {
  return {WriteFile("a." + kind.name, kind.heading + Lines(kind, 0, 30)),
          WriteGzFile("b." + kind.name + ".gz", kind.heading + Lines(kind, 30, kRows))};
}

const std::string kShuffled = R"(, "shuffle": {"seed": 3, "window_rows": 16})";

// The place of a rank's rows is that of all.
void ExpectPart(Context& ctx, const Batch& part, const Batch& whole, int rank, int ranks) {
  const RankRows mine = RowsOfRank(whole.size(), rank, ranks);
  testing::ExpectSameBatch(ctx, part, RowsOfBatch(ctx, whole, mine.begin, mine.end));
  EXPECT_EQ(part.rows_of_all, whole.size());
  EXPECT_EQ(std::pair(part.first_row, part.end_row), std::pair(whole.first_row, whole.end_row));
  EXPECT_EQ(part.fraction, whole.fraction);
}

void ExpectParts(const DataSets& data, int64_t first_row, int ranks) {
  Context ctx({.threads = 1});
  for (int rank = 0; rank < ranks; ++rank) {
    const auto whole = data.OpenTrain(first_row, 1);
    const auto part = data.OpenTrain(first_row, 1, rank, ranks);
    while (const auto batch = whole->Next()) {
      const auto mine = part->Next();
      ASSERT_TRUE(mine);
      ExpectPart(ctx, *mine, *batch, rank, ranks);
    }
    EXPECT_FALSE(part->Next());
  }
}

TEST(RankRows, AreThePartsOfTheBatchesOfOneProcess) {
  for (const Kind& kind : Kinds())
    for (const std::string& order : {std::string(), kShuffled})
      for (const auto& range : {std::optional<RowRange>(), std::optional<RowRange>({3, 52})})
        for (const int threads : {1, 3}) {
          const DataSets data(ConfigOf(kind, order),
                              {.files = Files(kind), .train_rows = range, .threads = threads});
          for (const int ranks : {2, 3, 6})  // of a batch of 5 rows, one of 6 has none
            for (const int64_t first_row : {0, 24}) {
              SCOPED_TRACE(Format("{}{}, {} rows, {} ranks from {}", kind.name, order,
                                  range ? "some" : "all", ranks, first_row));
              ExpectParts(data, first_row, ranks);
            }
        }
}

// Each rank makes the made-up rows of its parts, or takes the ratings of its parts.
TEST(RankRows, ArePartsOfMadeUpRowsAndRatings) {
  std::string ratings;
  for (int n = 0; n < kRows; ++n) ratings += Format("{}\t{}\t{}\t{}\n", n % 9, n, n % 6, 1000 + n);
  const std::vector<std::string> file = {WriteFile("u.data", ratings)};
  const std::string made = Format(R"(, "rows": {})", kRows);
  const std::vector<Kind> kinds = {
      {.name = "random", .data = R"("format": "random")" + made, .feature = "cat_0", .dense = 3},
      {.name = "planted", .data = R"("format": "planted")" + made, .feature = "cat_0", .dense = 13},
      {.name = "movielens", .data = R"("format": "movielens")", .feature = "userId"}};
  for (const Kind& kind : kinds)
    for (const std::string& order : {std::string(), kShuffled}) {
      const bool is_read = kind.name == "movielens";
      const DataSets data(ConfigOf(kind, order),
                          {.files = is_read ? file : std::vector<std::string>()});
      for (const int ranks : {2, 3, 6})
        for (const int64_t first_row : {0, 21}) {
          SCOPED_TRACE(Format("{}{}, {} ranks from {}", kind.name, order, ranks, first_row));
          ExpectParts(data, first_row, ranks);
        }
    }
}

// The rank that reads to the line, and nobody else.
TEST(RankRows, ABadLineIsAnErrorOfTheRankThatParsesIt) {
  for (const Kind& kind : Kinds())
    for (const int bad : {106, 149}) {  // of batches from row 105 and 147, the last
      const std::string path =
          WriteFile("bad." + kind.name,
                    kind.heading + Lines(kind, 0, bad) + kind.bad_line + Lines(kind, bad + 1, 152));
      const DataSets data(ConfigOf(kind), {.files = {path}});
      for (const int rank : {0, 1, 2}) {
        const auto source = data.OpenTrain(0, 0, rank, 3);
        const std::string error = ErrorOf([&] {
          while (source->Next()) {
          }
        });
        const int of_rank =
            bad == 106 ? 0 : 1;  // of 7 rows 0:2, 2:4 and 4:7; of 5 0:1, 1:3 and 3:5
        SCOPED_TRACE(Format("{}, row {}, rank {}", kind.name, bad, rank));
        if (rank != of_rank) {
          EXPECT_EQ(error, "");
          continue;
        }
        const int line = bad + (kind.heading.empty() ? 1 : 2);
        EXPECT_TRUE(error.starts_with(Format("{}:{}: ", path, line))) << error;
      }
    }
}

// Which rows a batch has is known only when all lines before them are parsed.
TEST(RankRows, AreWholeBatchesWhereRowsAreLeftOutByWhatTheyHave) {
  for (const Kind& kind : Kinds()) {
    const std::string path =
        WriteFile("left_out." + kind.name,
                  kind.heading + Lines(kind, 0, 10) + kind.bad_line + Lines(kind, 11, kRows));
    const DataSets skipping(ConfigOf(kind), {.files = {path}, .skip_bad_lines = true});
    const DataSets split(ConfigOf(kind, R"(, "split": {"by": "random", "fraction": 0.3})"),
                         {.files = Files(kind)});
    for (const DataSets* const data : {&skipping, &split}) {
      Context ctx({.threads = 1});
      const auto whole = data->OpenTrain(0), rank = data->OpenTrain(0, 0, 1, 2);
      while (const auto batch = whole->Next()) {
        const auto same = rank->Next();
        ASSERT_TRUE(same);
        testing::ExpectSameBatch(ctx, *same, *batch);
        EXPECT_EQ(same->rows_of_all, 0);
      }
      EXPECT_FALSE(rank->Next());
    }
  }
}

// Items without an id of their own in what so many ranks read.
std::vector<std::pair<int64_t, int64_t>> Counted(const Kind& kind, DataSelection selection,
                                                 int ranks) {
  selection.files = Files(kind);
  selection.eval_files = {WriteFile("eval." + kind.name, kind.heading + Lines(kind, 70, 90))};
  selection.unknown_items = std::make_shared<UnknownItems>();
  selection.unknown_eval_items = std::make_shared<UnknownItems>();
  const DataSets data(ConfigOf(kind), selection);
  for (int rank = 0; rank < ranks; ++rank)
    for (const auto& source : {data.OpenTrain(0, 0, rank, ranks), data.OpenEval(rank)})
      while (source->Next()) {
      }
  std::vector<std::pair<int64_t, int64_t>> counts;
  for (const auto& unknown : {data.unknown_items(), data.unknown_eval_items()})
    for (const FeatureItems& feature : unknown->All())
      counts.emplace_back(feature.count.items, feature.count.unknown);
  return counts;
}

TEST(RankRows, ItemsWithoutAnIdOfTheirOwnCountOnceForAllRanks) {
  for (const Kind& kind : Kinds()) {
    if (kind.name == "criteo") continue;  // hashes, which all have ids
    for (const bool skips : {false, true}) {
      const DataSelection selection{.skip_bad_lines = skips};
      const auto alone = Counted(kind, selection, 1);
      ASSERT_EQ(alone.size(), 2u);
      EXPECT_GT(alone[0].second, 0);
      EXPECT_GT(alone[1].second, 0);
      EXPECT_EQ(Counted(kind, selection, 3), alone) << kind.name << skips;
    }
  }
}

}  // namespace
}  // namespace tessera
