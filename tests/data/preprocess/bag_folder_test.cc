// Folders of parsed text that do not fit what reads them, or are damaged.
#include "data/files/bag_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "data/files/data_files.h"
#include "data/files/row_folder.h"
#include "data/files/row_shard.h"
#include "runtime/files/files.h"
#include "runtime/files/safetensors.h"
#include "tests/data/preprocess/testing/parsed_text.h"
#include "tests/data/testing/same_batch.h"

namespace tessera {
namespace {

using namespace testing;  // NOLINT: the text

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
    RowFolderOutput output(other);
    output.index() = index;
    output.index().shards.clear();
    output.index().rows = 0;
    output.WriteShard(ctx, 30, tensors);
    output.Commit();
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
