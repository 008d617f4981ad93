// Text of any schema, parsed once: the folder gives the tensors of the text, whoever reads it how.
#include "data/preprocess/parse_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>

#include "data/batch_rows.h"
#include "data/files/bag_folder.h"
#include "data/files/data_files.h"
#include "data/files/row_folder.h"
#include "data/preprocess/preprocess.h"
#include "runtime/files/files.h"
#include "tests/data/preprocess/testing/parsed_text.h"
#include "tests/data/testing/same_batch.h"

namespace tessera {
namespace {

using namespace testing;  // NOLINT: the text

TEST(ParseRows, AFolderHasTheTensorsOfTheText) {
  Context ctx({.threads = 1});
  const ParseRowsOptions options = Options("all");
  const ParseRowsReport report = ParseRows(options);
  EXPECT_EQ(report.rows.rows, 100);
  EXPECT_EQ(report.rows.inputs[1].first_row, 60);
  EXPECT_EQ(report.rows.inputs[1].rows, 40);
  const RowFolderIndex index = ReadRowFolderIndex(options.output);
  EXPECT_EQ(index.version(), 2);
  EXPECT_EQ(index.shards.size(), 4u);
  EXPECT_TRUE(index.shards[0].checksums.contains("offsets/seen"));
  EXPECT_FALSE(index.shards[0].checksums.contains("offsets/plain"));  // one id a row
  const StoredBags rows = MapBagFolders({options.output}, Schema(), kFeatures);
  ExpectSameBatch(ctx, All(ctx, rows), TextRows(ctx, Schema(), kFeatures));
}

TEST(ParseRows, RowsAreGatheredInAnyOrder) {
  Context ctx({.threads = 1});
  const StoredBags rows = MapBagFolders({Folder("order")}, Schema(), kFeatures);
  const Batch all = TextRows(ctx, Schema(), kFeatures);
  const std::vector<int64_t> order = {99, 0, 1, 2, 30, 29, 29, 61};
  const Batch some = rows.Gather(ctx, order);
  for (size_t i = 0; i < order.size(); ++i)
    ExpectSameBatch(ctx,
                    RowsOfBatch(ctx, some, static_cast<int64_t>(i), static_cast<int64_t>(i) + 1),
                    RowsOfBatch(ctx, all, order[i], order[i] + 1));
  EXPECT_EQ(rows.Gather(ctx, {}).size(), 0);
}

TEST(ParseRows, ConfigurationsMayReadLessInAnotherOrder) {
  Context ctx({.threads = 1});
  const DataSchema less = ParseDataSchema(R"({"format": "csv", "columns": ["a"],
    "dense": ["age", {"name": "x", "size": 2, "transform": "log1p"}],
    "features": [{"name": "word", "ids": "text"}], "labels": [{"name": "stars", "missing": "skip"}]
    })");
  const std::vector<CategoricalFeature> features = {{"word", 1 << 20}, {"plain", 1000}};
  DataSchema as_text = less;
  as_text.format = RowFormat::kJsonl;
  ExpectSameBatch(ctx, All(ctx, MapBagFolders({Folder("less")}, less, features)),
                  TextRows(ctx, as_text, features));
}

TEST(ParseRows, FoldersFollowEachOther) {
  Context ctx({.threads = 1});
  ParseRowsOptions options = Options("first");
  options.inputs = {Text()[0]};
  ParseRows(options);
  options.inputs = {Text()[1]};
  options.output = TempPath("second");
  ParseRows(options);
  EXPECT_TRUE(AreRowFolders({TempPath("first"), TempPath("second")}));
  ExpectSameBatch(
      ctx, All(ctx, MapBagFolders({TempPath("first"), TempPath("second")}, Schema(), kFeatures)),
      TextRows(ctx, Schema(), kFeatures));
}

std::map<std::string, std::string> FilesOf(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files[entry.path().filename().string()] = ReadFile(entry.path().string());
  return files;
}

TEST(ParseRows, ThreadsChangeNothing) {
  ParseRowsOptions options = Options("threads");
  ParseRows(options);
  const auto one = FilesOf(options.output);
  EXPECT_EQ(one.size(), 5u);
  options.threads = 3;
  ParseRows(options);
  EXPECT_EQ(FilesOf(options.output), one);
}

// The rows of a folder, one after the other, by their times, which are 1000 times their numbers.
std::vector<int64_t> NumbersOf(const Batch& batch) {
  std::vector<int64_t> numbers;
  for (const int64_t time : batch.time.span<int64_t>()) numbers.push_back(time / 1000);
  return numbers;
}

TEST(ParseRows, ShuffledRowsKeepTheirColumns) {
  Context ctx({.threads = 1});
  ParseRowsOptions options = Options("shuffled");
  options.shuffle = true;
  options.seed = 4;
  EXPECT_EQ(ParseRows(options).rows.rows, 100);
  const Batch all = TextRows(ctx, Schema(), kFeatures);
  const Batch mixed = All(ctx, MapBagFolders({options.output}, Schema(), kFeatures));
  const std::vector<int64_t> order = NumbersOf(mixed);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::vector<int64_t> sorted = order, every(100);
  std::sort(sorted.begin(), sorted.end());
  std::iota(every.begin(), every.end(), 0);
  EXPECT_EQ(sorted, every);
  for (int64_t i = 0; i < 100; ++i)
    ExpectSameBatch(
        ctx, RowsOfBatch(ctx, mixed, i, i + 1),
        RowsOfBatch(ctx, all, order[static_cast<size_t>(i)], order[static_cast<size_t>(i)] + 1));
}

TEST(ParseRows, TheOrderDependsOnTheSeedAlone) {
  Context ctx({.threads = 1});
  const auto order = [&](uint64_t seed, int threads, int64_t memory_bytes, bool keep_last) {
    ParseRowsOptions options = Options("again");
    options.shuffle = true;
    options.keep_last = keep_last;
    options.seed = seed;
    options.threads = threads;
    options.memory_bytes = memory_bytes;
    ParseRows(options);
    return NumbersOf(All(ctx, MapBagFolders({options.output}, Schema(), kFeatures)));
  };
  const std::vector<int64_t> one = order(1, 1, 1 << 30, false);
  EXPECT_EQ(order(1, 3, 1 << 30, false), one);
  EXPECT_EQ(order(1, 1, 2000, false), one);
  EXPECT_NE(order(2, 1, 1 << 30, false), one);
  std::vector<int64_t> kept = order(1, 1, 1 << 30, true), last(40);
  std::iota(last.begin(), last.end(), 60);
  EXPECT_TRUE(std::equal(last.begin(), last.end(), kept.begin() + 60));
  EXPECT_FALSE(std::is_sorted(kept.begin(), kept.begin() + 60));
  EXPECT_LT(*std::max_element(kept.begin(), kept.begin() + 60), 60);
}

TEST(ParseRows, ALastInputThatStaysNeedsOthersThatAreShuffled) {
  ParseRowsOptions options = Options("none");
  options.keep_last = true;
  EXPECT_EQ(ErrorOf([&] { ParseRows(options); }),
            "keeping the last input as it is means to shuffle the others: it needs a shuffle and "
            "two inputs or more");
}

TEST(ParseRows, AShardEndsWhereMemoryIsFull) {
  Context ctx({.threads = 1});
  ParseRowsOptions options = Options("small");
  options.memory_bytes = 4000;  // shards of 1000 bytes
  options.shard_rows = 1 << 20;
  ParseRows(options);
  const RowFolderIndex index = ReadRowFolderIndex(options.output);
  EXPECT_GT(index.shards.size(), 5u);
  EXPECT_LT(index.shards.size(), 20u);
  ExpectSameBatch(ctx, All(ctx, MapBagFolders({options.output}, Schema(), kFeatures)),
                  TextRows(ctx, Schema(), kFeatures));
}

TEST(ParseRows, BadLinesAreErrorsOrCounted) {
  ParseRowsOptions options = Options("bad");
  options.inputs = {WriteFile("bad.jsonl", Lines(0, 5) + "{\"age\": \"old\"}\n" + Lines(5, 9))};
  EXPECT_EQ(ErrorOf([&] { ParseRows(options); }),
            options.inputs[0] + ":6: age: expected a number, got 'old'");
  options.skip_bad_lines = true;
  const ParseRowsReport report = ParseRows(options);
  EXPECT_EQ(report.rows.rows, 9);
  EXPECT_EQ(report.rows.skipped_rows, 1);
  EXPECT_EQ(report.skipped, (BadLineCounts{{"expected a number", 1}}));
}

TEST(ParseRows, InputsThatCannotBeParsedLeaveTheFolderAsItWas) {
  ParseRowsOptions options = Options("kept");
  ParseRows(options);
  const auto before = FilesOf(options.output);
  options.inputs = {TempPath("none.jsonl")};
  EXPECT_EQ(ErrorOf([&] { ParseRows(options); }).find(TempPath("none.jsonl") + ": "), 0u);
  options.inputs = {options.output};
  EXPECT_EQ(ErrorOf([&] { ParseRows(options); }),
            options.output + ": it is a folder of rows that were parsed before: expected text");
  options.inputs = {WriteFile("empty.jsonl", "")};
  EXPECT_EQ(ErrorOf([&] { ParseRows(options); }), options.inputs[0] + ": there are no rows");
  EXPECT_EQ(FilesOf(options.output), before);
}

}  // namespace
}  // namespace tessera
