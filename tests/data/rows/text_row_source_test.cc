// Batches of text files: the same with any threads and pieces, in any order, from any place.
#include "data/rows/text_row_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>

#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::TempPath;
using testing::WriteFile;
using testing::WriteGzFile;

// Row n has the label n, the number n / 4, a bag of n mod 4 ids and their weights.
std::string Line(int64_t n) {
  std::string bag, weights;
  for (int64_t i = 0; i < n % 4; ++i) {
    bag += (i == 0 ? "" : "|") + std::to_string(n * 10 + i);
    weights += (i == 0 ? "" : "|") + std::to_string(i) + ".5";
  }
  return Format("{},{},{},{}\n", n, static_cast<double>(n) / 4, bag, weights);
}

std::string Lines(int64_t begin, int64_t end) {
  std::string text;
  for (int64_t n = begin; n < end; ++n) text += Line(n);
  return text;
}

std::shared_ptr<const RowRules> Rules() {
  return std::make_shared<const RowRules>(
      ParseDataSchema(R"({"format": "csv", "columns": ["n", "x", "bag", "w"], "dense": ["x"],
        "features": [{"name": "bag", "separator": "|", "weights": "w"}], "labels": ["n"]})"),
      std::vector<CategoricalFeature>{{"bag", 1000, false}, {"n", 1 << 20, false}});
}

std::vector<std::string> ThreeFiles() {
  return {WriteFile("a.csv", Lines(0, 100)), WriteGzFile("b.csv.gz", Lines(100, 150)),
          WriteFile("c.csv", Lines(150, 300))};
}

std::string Text(Context& ctx, const Batch& batch) {
  std::string text = Format("{} {} |", batch.first_row, batch.end_row);
  for (const float x : batch.labels.ToVector<float>()) text += Format(" {}", x);
  for (const float x : batch.dense.ToVector<float>()) text += Format(" {}", x);
  for (const int64_t id : batch.features.values().To(ctx, DType::kI64).ToVector<int64_t>())
    text += Format(" {}", id);
  for (const int32_t n : batch.features.lengths(ctx).ToVector<int32_t>()) text += Format(" {}", n);
  for (const float x : batch.features.weights().value().ToVector<float>()) text += Format(" {}", x);
  return text;
}

std::vector<std::string> ReadAll(RowFiles files, const TextRowSourceOptions& options) {
  Context ctx({.threads = 1});
  TextRowSource source(Rules(), files, options);
  std::vector<std::string> texts;
  while (const auto batch = source.Next()) texts.push_back(Text(ctx, *batch));
  return texts;
}

std::vector<float> Labels(DataSource& source) {
  std::vector<float> labels;
  while (const auto batch = source.Next())
    for (const float label : batch->labels.ToVector<float>()) labels.push_back(label);
  return labels;
}

TEST(TextRowSource, ThreadsAndPiecesChangeNothing) {
  const std::vector<std::string> paths = ThreeFiles();
  for (const bool shuffled : {false, true}) {
    TextRowSourceOptions options{.batch_size = 32, .range = {7, 290}};
    if (shuffled) options.shuffle = ShuffleOptions{.seed = 5, .window_rows = 64};
    const auto expected = ReadAll({.paths = paths}, options);
    EXPECT_EQ(expected.size(), 9u);
    for (const int threads : {1, 3})
      for (const int64_t piece : {1, 50, 333, 1 << 20})
        EXPECT_EQ(ReadAll({.paths = paths, .threads = threads, .piece_bytes = piece}, options),
                  expected)
            << threads << " threads, pieces of " << piece;
  }
}

TEST(TextRowSource, GivesTheRowsAsTheyAre) {
  Context ctx({.threads = 1});
  TextRowSource source(Rules(), {.paths = ThreeFiles()}, {.batch_size = 3, .range = {101, 104}});
  const Batch batch = *source.Next();
  EXPECT_EQ(batch.labels.ToVector<float>(), (std::vector<float>{101, 102, 103}));
  EXPECT_EQ(batch.labels.shape(), Shape{3});
  EXPECT_EQ(batch.dense.ToVector<float>(), (std::vector<float>{25.25, 25.5, 25.75}));
  EXPECT_EQ(batch.features.values().ToVector<int32_t>(),
            (std::vector<int32_t>{10, 20, 21, 30, 31, 32, 101, 102, 103}));
  EXPECT_EQ(batch.features.lengths(ctx).ToVector<int32_t>(),
            (std::vector<int32_t>{1, 2, 3, 1, 1, 1}));
  EXPECT_EQ(batch.features.weights().value().ToVector<float>(),
            (std::vector<float>{0.5, 0.5, 1.5, 0.5, 1.5, 2.5, 1, 1, 1}));
  EXPECT_FALSE(source.Next());
}

TEST(TextRowSource, WeightsOfAMissingIdAreThoseOfItsRow) {
  Context ctx({.threads = 1});
  const auto read = [&](const std::string& missing, const std::string& text) {
    const auto rules = std::make_shared<const RowRules>(
        ParseDataSchema(R"({"format": "csv", "columns": ["n", "a", "w"], "labels": ["n"],
          "features": [{"name": "a", "weights": "w", "missing": ")" +
                        missing + "\"}]}"),
        std::vector<CategoricalFeature>{{"a", 10, false}});
    TextRowSource source(rules, {.paths = {WriteFile("missing.csv", text)}}, {.batch_size = 2});
    return source.Next()->features.weights().value().ToVector<float>();
  };
  EXPECT_EQ(read("row0", "1,,0.5\n1,,\n"), (std::vector<float>{0.5, 1}));
  EXPECT_EQ(read("empty_bag", "1,2,0.5\n1,,\n"), (std::vector<float>{0.5}));
  EXPECT_THAT(
      ErrorOf([&] { read("empty_bag", "1,2,1\n1,,0.5\n"); }),
      HasSubstr("missing.csv:2: column 3 (w): expected 0 weights, one for each of a, got 1"));
}

TEST(TextRowSource, ShufflesWithinWindowsAndGoesOnFromAnyPlace) {
  const RowFiles files{.paths = ThreeFiles()};
  TextRowSourceOptions options{.batch_size = 10, .range = {20, 300}};
  options.shuffle = ShuffleOptions{.seed = 9, .window_rows = 50};
  TextRowSource whole(Rules(), files, options);
  const std::vector<float> all = Labels(whole);
  ASSERT_EQ(all.size(), 280u);
  for (size_t window = 0; window * 50 < all.size(); ++window) {
    std::vector<float> rows(all.begin() + static_cast<int64_t>(window * 50),
                            all.begin() + std::min<int64_t>(window * 50 + 50, 280));
    std::sort(rows.begin(), rows.end());
    for (size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(rows[i], static_cast<float>(20 + window * 50 + i));
  }
  for (const int64_t place : {20, 21, 69, 70, 155, 300}) {
    options.first_place = place;
    TextRowSource rest(Rules(), files, options);
    EXPECT_EQ(Labels(rest), std::vector<float>(all.begin() + place - 20, all.end())) << place;
  }
  options.first_place = 0;
  options.epoch = 1;
  TextRowSource other(Rules(), files, options);
  EXPECT_NE(Labels(other), all);
}

TEST(TextRowSource, AShareOfTheRowsIsGivenOutWithEachBatch) {
  Context ctx({.threads = 1});
  for (const auto& shuffle : {std::optional<ShuffleOptions>(),
                              std::optional(ShuffleOptions{.seed = 1, .window_rows = 30})})
    for (const int64_t first_place : {0, 150}) {
      TextRowSource source(
          Rules(), {.paths = ThreeFiles()},
          {.batch_size = 50, .range = {100, 300}, .shuffle = shuffle, .first_place = first_place});
      double share = first_place == 0 ? 0 : 0.25;
      while (const auto batch = source.Next()) EXPECT_EQ(batch->fraction, share += 0.25);
      EXPECT_EQ(share, 1);
    }
}

// The share of the data that is given out with each batch, up to its last place.
std::vector<std::pair<int64_t, double>> Shares(const RowFiles& files,
                                               const TextRowSourceOptions& options) {
  TextRowSource source(Rules(), files, options);
  std::vector<std::pair<int64_t, double>> shares;
  while (const auto batch = source.Next())
    shares.emplace_back(batch->end_row, batch->fraction.value());
  return shares;
}

// Rows of 19 bytes.
std::string EvenFile() {
  std::string text;
  for (int64_t n = 0; n < 200; ++n) text += Format("{},1,1|2,0.5|0.5\n", 1000 + n);
  return WriteFile("even.csv", text);
}

TEST(TextRowSource, WithoutAnEndTheShareIsThatOfTheBytesAfterTheFirstRow) {
  for (const int64_t piece_bytes : {64, 1000, 1 << 19})
    for (const int threads : {1, 3})
      for (const int64_t first : {0, 40}) {
        const RowFiles files{.paths = {EvenFile()}, .threads = threads, .piece_bytes = piece_bytes};
        for (const auto& [end, share] : Shares(files, {.batch_size = 10, .range = {first}}))
          EXPECT_NEAR(share, static_cast<double>(end - first) / static_cast<double>(200 - first),
                      piece_bytes < 1 << 19 ? 0.01 : 1e-9)  // pieces end within a row
              << end;
      }
}

TEST(TextRowSource, WithoutAnEndTheShareRisesToOneAndGoesOnFromAnyPlace) {
  for (const int64_t piece_bytes : {100, 1 << 19})
    for (const auto& shuffle : {std::optional<ShuffleOptions>(),
                                std::optional(ShuffleOptions{.seed = 1, .window_rows = 40})}) {
      const RowFiles files{.paths = ThreeFiles(), .piece_bytes = piece_bytes};
      TextRowSourceOptions options{.batch_size = 10, .range = {20}, .shuffle = shuffle};
      const auto all = Shares(files, options);
      ASSERT_EQ(all.size(), 28u);
      EXPECT_GT(all.front().second, 0);
      for (size_t i = 1; i < all.size(); ++i) EXPECT_GT(all[i].second, all[i - 1].second);
      EXPECT_EQ(all.back().second, 1);
      options.first_place = 150;
      EXPECT_EQ(Shares(files, options), std::vector(all.begin() + 13, all.end()));
    }
}

TEST(TextRowSource, SaysNoShareOfAFileWithoutASize) {
  TextRowSource source(Rules(), {.paths = {WriteFile("a.csv", Lines(0, 9)), "/dev/null"}},
                       {.batch_size = 5});
  EXPECT_FALSE(source.Next()->fraction);
}

TEST(TextRowSource, RangesBeyondTheDataAreErrors) {
  const RowFiles files{.paths = ThreeFiles()};
  const auto error = [&](RowRange range) {
    return ErrorOf([&] { ReadAll(files, {.batch_size = 7, .range = range}); });
  };
  const std::string has =
      Format("but the data has 300 rows ({} to {})", files.paths.front(), files.paths.back());
  EXPECT_EQ(error({3, 301}), "rows 3:301 were asked for, " + has);
  EXPECT_EQ(error({301}), "rows 301: were asked for, " + has);
  EXPECT_TRUE(ReadAll(files, {.batch_size = 7, .range = {300}}).empty());
}

TEST(TextRowSource, ABadLineIsAnErrorAfterTheRowsBeforeIt) {
  const std::string path = WriteFile("bad.csv", Lines(0, 50) + "1,x,,\n" + Lines(51, 99) + "\n");
  for (const int threads : {1, 3}) {
    TextRowSource source(Rules(), {.paths = {path}, .threads = threads, .piece_bytes = 64},
                         {.batch_size = 25});
    EXPECT_EQ(source.Next()->end_row, 25);
    EXPECT_EQ(source.Next()->end_row, 50);
    EXPECT_EQ(ErrorOf([&] { source.Next(); }),
              path + ":51: column 2 (x): expected a number, got 'x'");
  }
}

TEST(TextRowSource, AWordForAMissingValueSaysHowToTakeIt) {
  const std::string path = WriteFile("nan.csv", "1,NaN,,\n");
  TextRowSource source(Rules(), {.paths = {path}}, {.batch_size = 1});
  EXPECT_EQ(ErrorOf([&] { source.Next(); }),
            path +
                ":1: column 2 (x): expected a number, got 'NaN' (\"null\": [\"NaN\"] in the data "
                "of the configuration makes it missing)");
}

TEST(TextRowSource, BadLinesAreCountedByWhatIsWrong) {
  const std::string path =
      WriteFile("skip.csv", Lines(0, 3) + "1,x,,\n1,2\n1,y,,\n" + Lines(6, 8) + "\n");
  TextRowReader reader(Rules(), {.paths = {path}, .skip_bad_lines = true});
  std::vector<int64_t> numbers;
  while (const auto block = reader.Next())
    numbers.insert(numbers.end(), block->numbers.begin(), block->numbers.end());
  EXPECT_EQ(numbers, (std::vector<int64_t>{0, 1, 2, 6, 7}));
  EXPECT_EQ(reader.skipped_rows(), 4);
  EXPECT_EQ(reader.skipped(), (BadLineCounts{{"expected 4 columns", 2}, {"expected a number", 2}}));
}

// Lines that are left out do not count.
TEST(TextRowSource, ItemsWithoutAnIdOfTheirOwnAreCounted) {
  const std::string path = WriteFile("unknown.jsonl", R"({"word": "a", "id": [1, 9, -1]}
{"word": "b", "id": [10, 11], "free": 10}
{"word": "c", "id": [77, "x"]}
{"word": ["c", "a"], "free": "ff"}
{})");
  const auto rules = std::make_shared<const RowRules>(
      ParseDataSchema(R"({"format": "jsonl", "features": [
          {"name": "word", "vocabulary": ["a"], "missing": "row0"}, {"name": "free", "ids": "hex"}]})"),
      std::vector<CategoricalFeature>{
          {"free", 3, false}, {"word", 5, false}, {"id", 10, false}, {"raw", 0, true}});
  for (const int threads : {1, 3}) {
    const auto unknown = std::make_shared<UnknownItems>();
    Context ctx({.threads = 1});
    ReadAllRows(ctx, rules,
                {.paths = {path},
                 .skip_bad_lines = true,
                 .threads = threads,
                 .piece_bytes = 20,
                 .unknown_items = unknown});
    const auto counts = unknown->WithUnknown();
    ASSERT_EQ(counts.size(), 2u);
    EXPECT_EQ(counts[0].feature, "id");
    EXPECT_EQ(counts[0].count.items, 5);
    EXPECT_EQ(counts[0].count.unknown, 3);
    EXPECT_EQ(counts[1].feature, "word");
    EXPECT_TRUE(counts[1].words);
    EXPECT_EQ(counts[1].count.items, 4);
    EXPECT_EQ(counts[1].count.unknown, 2);
  }
}

TEST(TextRowSource, WhatALabelMayBeIsSaid) {
  const auto error = [](const std::string& line) {
    const std::string path = WriteFile("labels.jsonl", line + "\n");
    const auto rules =
        std::make_shared<const RowRules>(ParseDataSchema(R"({"format": "jsonl", "labels": ["y"]})"),
                                         std::vector<CategoricalFeature>{{"x", 5}});
    Context ctx({.threads = 1});
    const std::string what = ErrorOf([&] { ReadAllRows(ctx, rules, {.paths = {path}}); });
    return what.empty() ? what : what.substr(path.size());
  };
  EXPECT_EQ(error(R"({"x": 1, "y": true})"), "");
  EXPECT_EQ(error(R"({"x": 1, "y": "yes"})"),
            ":1: y: expected a number, as labels are, such as 1 for yes, 0 for no, got 'yes'");
  EXPECT_EQ(error(R"({"x": 1, "y": "3,5"})"),
            ":1: y: expected a number with a decimal point, not a comma, got '3,5'");
  EXPECT_EQ(error(R"({"x": 1})"),
            ":1: y: the label is missing (\"missing\": \"skip\" of its entry takes such rows)");
}

TEST(TextRowSource, EveryFileHasItsHeading) {
  const auto rules =
      std::make_shared<const RowRules>(ParseDataSchema(R"({"format": "csv", "labels": ["y"]})"),
                                       std::vector<CategoricalFeature>{{"x", 10, false}});
  Context ctx({.threads = 1});
  const std::string a = WriteFile("h1.csv", "\xef\xbb\xbfx,y\n1,0\n"),
                    b = WriteFile("h2.csv", "other,y,x\r\n9,1,2");
  const AllRows rows = ReadAllRows(ctx, rules, {.paths = {a, b}});
  EXPECT_EQ(rows.batch.features.values().ToVector<int32_t>(), (std::vector<int32_t>{1, 2}));
  const auto error = [&](const std::string& text) {
    const std::string path = WriteFile("h.csv", text);
    const std::string what = ErrorOf([&] { ReadAllRows(ctx, rules, {.paths = {path}}); });
    return what.empty() ? what : what.substr(path.size());
  };
  EXPECT_EQ(error("x,z\n"), ":1: there is no column 'y'; there are x, z");
  EXPECT_EQ(error("x;y\n"),
            ":1: there is no column 'x'; there are x;y; all is one column: is the delimiter ';'?");
  EXPECT_EQ(error("x,x\n"), ":1: two columns are called 'x'");
  EXPECT_EQ(error(""), ": expected a heading, got an empty file");
  EXPECT_EQ(error("\nx,y\n1,2\n"), ":1: expected a heading, got an empty line");
  EXPECT_EQ(error("x,\"y\n"), ":1: column 2: a quote does not end in its line, which a row is");
  EXPECT_EQ(error("x,z,y\n1,\"a\"b,0\n"), ":2: column 2: a quote does not end where a column does");
  EXPECT_EQ(error("x,y\n\n"),
            ":2: expected 2 columns, got a blank line; --skip-bad-lines leaves blank lines out");
  const auto narrow = std::make_shared<const RowRules>(
      ParseDataSchema(R"({"format": "csv"})"), std::vector<CategoricalFeature>{{"x", 10, false}});
  const std::string one = WriteFile("one.csv", "x\n1\n\n");
  EXPECT_TRUE(ErrorOf([&] {
                ReadAllRows(ctx, narrow, {.paths = {one}});
              }).starts_with(one + ":3: expected 1 column, got a blank line"));
}

std::string Zstd(std::string_view text) {
  std::string frame(ZSTD_compressBound(text.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), text.data(), text.size(), 3));
  return frame;
}

// A frame without text (RFC 8878, 3.1.2), as pzstd writes before each frame.
std::string SkippableFrame(char kind, std::string_view bytes) {
  return std::string{static_cast<char>(0x50 + kind),  0x2a, 0x4d, 0x18,
                     static_cast<char>(bytes.size()), 0,    0,    0} +
         std::string(bytes);
}

TEST(TextRowSource, ReadsZstdFramesAndRefusesDamagedOnes) {
  const std::string text = Lines(0, 200);
  std::string packed = Zstd(text.substr(0, 777)) + Zstd(text.substr(777));
  const TextRowSourceOptions options{.batch_size = 64};
  EXPECT_EQ(ReadAll({.paths = {WriteFile("z.csv.zst", packed)}}, options),
            ReadAll({.paths = {WriteFile("z.csv", text)}}, options));
  const std::string cut = WriteFile("cut.zst", packed.substr(0, packed.size() - 5));
  EXPECT_TRUE(ErrorOf([&] {
                ReadAll({.paths = {cut}}, options);
              }).starts_with(cut + ": cannot be read to its end: a zstd frame is cut short"));
  packed[100] = static_cast<char>(packed[100] ^ 0x55);
  packed[packed.size() / 2] = static_cast<char>(packed[packed.size() / 2] ^ 0x55);
  const std::string bad = WriteFile("bad.zst", packed);
  EXPECT_TRUE(ErrorOf([&] { ReadAll({.paths = {bad}}, options); }).starts_with(bad + ":"));
}

TEST(TextRowSource, SkipsFramesOfZstdThatHaveNoText) {
  const std::string text = Lines(0, 200);
  const TextRowSourceOptions options{.batch_size = 64};
  const auto rows = ReadAll({.paths = {WriteFile("z.csv", text)}}, options);
  const std::string first = Zstd(text.substr(0, 777)), second = Zstd(text.substr(777));
  for (const std::string& packed :
       {SkippableFrame(0, "size") + first + SkippableFrame(15, "") + second,
        first + SkippableFrame(3, std::string(100, 'x')) + second + SkippableFrame(0, "end")})
    EXPECT_EQ(ReadAll({.paths = {WriteFile("z.csv.zst", packed)}}, options), rows);
  const std::string cut = WriteFile("cut.zst", first + SkippableFrame(0, "size").substr(0, 9));
  EXPECT_TRUE(ErrorOf([&] {
                ReadAll({.paths = {cut}}, options);
              }).starts_with(cut + ": cannot be read to its end: a zstd frame is cut short"));
}

TEST(TextRowSource, RefusesTextThatItsNameCallsPacked) {
  for (const char* name : {"plain.csv.zst", "plain.csv.gz"}) {
    const std::string path = WriteFile(name, Lines(0, 9));
    EXPECT_TRUE(ErrorOf([&] {
                  ReadAll({.paths = {path}}, {.batch_size = 64});
                }).starts_with(path + ": cannot be read to its end: "));
  }
}

}  // namespace
}  // namespace tessera
