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
#include "data/files/row_shard.h"
#include "data/preprocess/preprocess.h"
#include "data/rows/text_row_source.h"
#include "runtime/files/files.h"
#include "tests/data/testing/same_batch.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::ExpectSameBatch;
using testing::ReadFile;
using testing::TempPath;
using testing::WriteFile;

constexpr char kSchema[] = R"({"format": "jsonl",
  "dense": [{"name": "x", "size": 2, "transform": "log1p"}, "age"],
  "features": [{"name": "seen", "weights": "how", "max_length": 3, "keep": "last"},
               {"name": "word", "ids": "text"}, {"name": "raw", "ids": "hex", "missing": "row0"},
               {"name": "city", "vocabulary": ["Ber", "Osl"]}],
  "labels": ["click", {"name": "stars", "missing": "skip"}], "weight": "w", "time": "t"})";

// Every row has one id of "plain", which is in no list of the schema.
const std::vector<CategoricalFeature> kFeatures = {
    {"plain", 1000}, {"seen", 60}, {"word", int64_t{1} << 40}, {"raw", 0, true}, {"city", 5}};

std::string Line(int64_t n) {
  std::string seen, how;
  for (int64_t i = 0; i < n * 7 % 6; ++i) {
    seen += Format("{}{}", i == 0 ? "" : ",", n * 31 + i - 40);
    how += Format("{}{}.25", i == 0 ? "" : ",", i);
  }
  std::string line = Format(
      R"({{"x": [{}, 3], "age": {}, "plain": {}, "seen": [{}], "how": [{}], "word": "w{}", )"
      R"("city": "{}", "click": {}, "w": {}.5, "t": {})",
      n, n % 90, n * 3, seen, how, n % 11, n % 3 == 0 ? "Osl" : "Rom", n % 2, n % 4, n * 1000);
  if (n % 5 > 0)
    line += Format(R"(, "raw": "{:x}")", 0xfedcba9876543210u + static_cast<uint64_t>(n));
  if (n % 3 > 0) line += Format(R"(, "stars": {})", n % 5);
  return line + "}\n";
}

std::string Lines(int64_t begin, int64_t end) {
  std::string text;
  for (int64_t n = begin; n < end; ++n) text += Line(n);
  return text;
}

DataSchema Schema(const std::string& from = "", const std::string& to = "") {
  std::string text = kSchema;
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return ParseDataSchema(text);
}

// Rows 0 to 100 in two files.
std::vector<std::string> Text() {
  return {WriteFile("a.jsonl", Lines(0, 60)), testing::WriteGzFile("b.jsonl.gz", Lines(60, 100))};
}

ParseRowsOptions Options(const std::string& name) {
  return {.inputs = Text(),
          .output = TempPath(name),
          .schema = Schema(),
          .features = kFeatures,
          .threads = 1,
          .shard_rows = 30};
}

std::string Folder(const std::string& name) {
  const ParseRowsOptions options = Options(name);
  ParseRows(options);
  return options.output;
}

Batch TextRows(Context& ctx, const DataSchema& schema,
               const std::vector<CategoricalFeature>& features) {
  return ReadAllRows(ctx, std::make_shared<const RowRules>(schema, features), {.paths = Text()})
      .batch;
}

Batch All(Context& ctx, const StoredBags& rows) {
  std::vector<int64_t> all(static_cast<size_t>(rows.rows()));
  std::iota(all.begin(), all.end(), 0);
  return rows.Gather(ctx, all);
}

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

// ---- folders that do not fit

std::string ErrorWith(const std::string& folder, const DataSchema& schema,
                      const std::vector<CategoricalFeature>& features = kFeatures) {
  return ErrorOf([&] { MapBagFolders({folder}, schema, features); });
}

TEST(BagFolder, RowsThatWereReadOtherwiseAreRefused) {
  const std::string folder = Folder("otherwise");
  const std::string again = "; to change it, preprocess the text again";
  EXPECT_EQ(ErrorWith(folder, Schema("\"max_length\": 3", "\"max_length\": 4")),
            folder +
                ": feature 'seen': max_length: expected 3, by which these rows were written, "
                "got 4" +
                again);
  EXPECT_EQ(ErrorWith(folder, Schema(", \"transform\": \"log1p\"", "")),
            folder +
                ": dense 'x': transform: expected \"log1p\", by which these rows were "
                "written, got none" +
                again);
  EXPECT_EQ(ErrorWith(folder, Schema("\"missing\": \"skip\"", "\"missing\": 0")),
            folder +
                ": label 'stars': missing: expected \"skip\", by which these rows were "
                "written, got 0.0" +
                again);
  EXPECT_EQ(
      ErrorWith(folder, Schema("\"weight\": \"w\"", "\"weight\": \"v\"")),
      folder + ": weight: expected \"w\", by which these rows were written, got \"v\"" + again);
  EXPECT_EQ(ErrorWith(folder, Schema("\"dense\"", "\"null\": \"NA\", \"dense\"")),
            folder + ": null: expected none, by which these rows were written, got \"NA\"" + again);
  EXPECT_EQ(ErrorWith(folder, Schema("\"age\"", "\"size\"")),
            folder + ": dense 'size': these rows were written without it; they have x, age");
  EXPECT_EQ(ErrorWith(folder, Schema(), {{"other", 10}}),
            folder +
                ": feature 'other': these rows were written without it; they have plain, "
                "seen, word, raw, city");
}

TEST(BagFolder, TablesMayHaveRowsThatDivideThoseOfTheFolder) {
  Context ctx({.threads = 1});
  const std::string folder = Folder("tables");
  std::vector<CategoricalFeature> features = kFeatures;
  features[1].rows = 12;       // of 60
  features[2].rows = 1 << 16;  // of 2^40
  ExpectSameBatch(ctx, All(ctx, MapBagFolders({folder}, Schema(), features)),
                  TextRows(ctx, Schema(), features));
  features[1].rows = 120;
  EXPECT_EQ(ErrorWith(folder, Schema(), features),
            folder +
                ": feature 'seen': its ids were written for a table of 60 rows, but are read "
                "for a table of 120 rows: expected rows that divide 60, or preprocess the "
                "text again");
  features = kFeatures;
  features[3] = {"raw", 100};
  EXPECT_EQ(ErrorWith(folder, Schema(), features),
            folder +
                ": feature 'raw': its ids were written for raw ids, but are read for a table "
                "of 100 rows: expected raw ids, or preprocess the text again");
}

TEST(BagFolder, VersionsAreNotMixed) {
  const std::string folder = Folder("two"), one = TempPath("one");
  EXPECT_EQ(ErrorOf([&] { MapRowFolder(folder); }),
            folder +
                ": its rows were read by a schema (jsonl): expected rows of the format "
                "criteo, or a configuration with that schema");
  Preprocess({.inputs = {WriteFile("clicks.tsv", testing::NumberedLines(0, 5))}, .output = one});
  EXPECT_EQ(ErrorWith(one, Schema()),
            one +
                ": its rows are Criteo's (version 1): expected rows of the format jsonl, or a "
                "folder that tessera preprocess --config made of them");
  EXPECT_EQ(ErrorOf([&] {
              AreRowFolders({one, "x.jsonl"});
            }),
            one + " is a folder of rows, but x.jsonl is none: give data of one layout");
  std::string index = ReadFile(folder + "/index.json");
  index.replace(index.find("\"version\": 2"), 12, "\"version\": 3");
  WriteFile("two/index.json", index);
  EXPECT_EQ(ErrorWith(folder, Schema()), folder + "/index.json: version: expected 1 or 2, got 3");
}

// ---- damaged folders

TEST(BagFolder, ShardsThatAreCutOrMissingAreErrors) {
  const std::string folder = Folder("cut"), shard = folder + "/rows-00001.safetensors";
  const int64_t bytes = static_cast<int64_t>(std::filesystem::file_size(shard));
  for (const int64_t left : {int64_t{0}, int64_t{7}, int64_t{300}, bytes - 1}) {
    std::filesystem::resize_file(shard, static_cast<size_t>(left));
    EXPECT_EQ(ErrorWith(folder, Schema()).find(shard + ": "), 0u) << left;
  }
  std::filesystem::copy_file(folder + "/rows-00003.safetensors", shard,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(ErrorWith(folder, Schema()),
            shard + ": tensor 'dense': expected [30, 3] of f32, got [10, 3] of f32");
  std::filesystem::remove(shard);
  EXPECT_EQ(ErrorWith(folder, Schema()).find(shard + ": cannot be read"), 0u);
}

TEST(BagFolder, OtherBytesAreFoundInEveryTensor) {
  Context ctx({.threads = 1});
  const std::string folder = Folder("flipped"), shard = folder + "/rows-00000.safetensors";
  const std::string good = ReadFile(shard);
  const auto entries = SafetensorsFile(shard).entries();
  EXPECT_EQ(entries.size(), 11u);
  for (const auto& [name, entry] : entries) {
    std::string bad = good;
    bad[static_cast<size_t>(entry.begin)] ^= 0x10;
    WriteFile("flipped/rows-00000.safetensors", bad);
    const StoredBags rows = MapBagFolders({folder}, Schema(), kFeatures);
    EXPECT_EQ(
        ErrorOf([&] { All(ctx, rows); }).find(Format("{}: tensor '{}': bytes 0 to ", shard, name)),
        0u)
        << name;
  }
}

// A writer that is wrong might leave such offsets: checksums are good.
TEST(BagFolder, OffsetsThatDoNotRiseAreErrors) {
  Context ctx({.threads = 1});
  const std::string folder = Folder("offsets"), shard = folder + "/rows-00000.safetensors";
  const RowFolderIndex index = ReadRowFolderIndex(folder);
  const auto error = [&](int64_t place, int32_t offset, int64_t row) {
    auto tensors = ReadSafetensors(ctx, shard).tensors;
    tensors.at("offsets/seen").data<int32_t>()[place] = offset;
    const std::string other = TempPath("other");
    ClearRowFolder(other);
    RowFolderIndex written = index;
    written.shards.clear();
    written.rows = 0;
    WriteRowShard(ctx, other, 30, tensors, written);
    WriteRowFolderIndex(other, written);
    const StoredBags rows = MapBagFolders({other}, Schema(), kFeatures);
    rows.Gather(ctx, std::vector<int64_t>{15});
    const std::string text = ErrorOf([&] { All(ctx, rows); });
    const std::string where = Format(
        "{}/rows-00000.safetensors: feature 'seen': row {}: expected "
        "offsets that rise to {} at most, got ",
        other, row, tensors.at("ids/seen").numel());
    EXPECT_EQ(text.find(where), 0u) << text;
  };
  error(0, -1, 0);
  error(5, 1000, 4);
  error(6, 0, 5);
  error(30, 1 << 30, 29);
}

}  // namespace
}  // namespace tessera
