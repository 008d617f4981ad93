// Rows in npy days and in row folders, read by way of StoredRows.
#include "data/files/stored_rows.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "data/files/data_files.h"
#include "data/files/npy_rows.h"
#include "data/files/row_folder.h"
#include "data/files/row_shard.h"
#include "runtime/files/files.h"
#include "tests/data/testing/npz_bytes.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::TempPath;

constexpr int64_t kDense = 3, kIds = 2;

std::vector<float> DenseOf(int64_t row) {
  const auto x = static_cast<float>(row);
  return {x, x + 0.5f, -x};
}
std::vector<int64_t> IdsOf(int64_t row) { return {row * 3, row - 5}; }

// Rows [first, last).
void Write(RowWriter& writer, int64_t first, int64_t last, int64_t shift = 0) {
  for (int64_t row = first; row < last; ++row) {
    const auto dense = DenseOf(row);
    auto ids = IdsOf(row);
    ids[0] += shift;
    writer.Append({.label = static_cast<float>(row % 2), .dense = dense, .ids = ids});
  }
  writer.Prepare();
  writer.Finish();
}

NpyDay WriteDay(const std::string& name, int64_t first, int64_t last, DType id_type = DType::kI32) {
  NpyDayWriter writer(TempPath(name), kDense, kIds, id_type);
  Write(writer, first, last);
  return *FindNpyDay(TempPath(name));
}

std::string WriteFolder(const std::string& name, int64_t rows, DType id_type = DType::kI32,
                        int64_t shard_rows = 7) {
  RowFolderWriter writer(TempPath(name), {.dense_columns = kDense,
                                          .features = {{"cat_0", 100}, {"cat_1", 0}},
                                          .id_type = id_type,
                                          .shard_rows = shard_rows,
                                          .made = {{"dense", "as_is"}}});
  Write(writer, 0, rows);
  return TempPath(name);
}

void ExpectRows(const StoredParts& parts, int64_t rows) {
  Context ctx({.threads = 1});
  const StoredRows stored(parts, {{"cat_1", 4}, {"cat_0", 10}});
  ASSERT_EQ(stored.rows(), rows);
  const std::vector<int64_t> order = {rows - 1, 0, 7, 6, 7};
  const Batch batch = stored.Gather(ctx, order);
  EXPECT_EQ(batch.features.keys(), (std::vector<std::string>{"cat_1", "cat_0"}));
  EXPECT_EQ(batch.features.values().dtype(), DType::kI32);
  for (size_t b = 0; b < order.size(); ++b) {
    const int64_t row = order[b];
    const float* dense = batch.dense.data<float>() + static_cast<int64_t>(b) * kDense;
    EXPECT_EQ(std::vector<float>(dense, dense + kDense), DenseOf(row));
    EXPECT_EQ(batch.labels.data<float>()[b], static_cast<float>(row % 2));
    EXPECT_EQ(batch.features.values().data<int32_t>()[b], ((row - 5) % 4 + 4) % 4);
    EXPECT_EQ(batch.features.values().data<int32_t>()[order.size() + b], row * 3 % 10);
  }
  EXPECT_EQ(stored.Gather(ctx, {}).size(), 0);
}

TEST(NpyRows, DaysFollowEachOther) {
  const std::vector<NpyDay> days = {WriteDay("day_0", 0, 7), WriteDay("day_1", 7, 20, DType::kI64)};
  ExpectRows(MapNpyDays(days), 20);
  ExpectRows(MapStoredFiles({TempPath("day_0"), TempPath("day_1_sparse.npy")}), 20);
}

// If a file is cut while it is mapped, its damaged rows never become a batch.
TEST(StoredRows, ACutFileIsAnError) {
  WriteDay("cut", 0, 20);
  const std::string folder = WriteFolder("cut_rows", 20);
  const std::vector<std::pair<StoredParts, std::string>> stored = {
      {MapStoredFiles({TempPath("cut")}), TempPath("cut_sparse.npy")},
      {MapRowFolder(folder), folder + "/rows-00001.safetensors"}};
  Context ctx({.threads = 1});
  for (const auto& [parts, path] : stored) {
    const StoredRows rows(parts, {{"cat_0", 10}});
    EXPECT_EQ(rows.Gather(ctx, std::vector<int64_t>{8}).size(), 1);
    std::filesystem::resize_file(path, 0);
    const std::string error = ErrorOf([&] { rows.Gather(ctx, std::vector<int64_t>{8}); });
    EXPECT_EQ(error.find(path + ": it was cut"), 0u) << error;
  }
}

TEST(NpyRows, ADayIsNamedByAnyOfItsFiles) {
  WriteDay("named", 0, 3);
  for (const char* end : {"", "_dense.npy", "_sparse.npy", "_labels.npy"})
    EXPECT_EQ(FindNpyDay(TempPath("named") + end)->dense, TempPath("named_dense.npy"));
  EXPECT_FALSE(FindNpyDay(TempPath("none")));
  std::filesystem::remove(TempPath("named_labels.npy"));
  EXPECT_EQ(
      ErrorOf([] { FindNpyDay(TempPath("named")); }),
      TempPath("named") + ": cannot be read: " + TempPath("named_labels.npy") + " is not there");
}

TEST(NpyRows, AFileThatDoesNotFitIsNamed) {
  const auto error = [](const std::string& bad) {
    const NpyDay day = WriteDay("misfit", 0, 4);
    const std::string column = testing::NpyOf("<f8", "(4, 1)", std::vector<double>(4));
    testing::WriteFile("misfit" + bad, column);
    return ErrorOf([&] { MapNpyDays({day}); });
  };
  EXPECT_EQ(error("_dense.npy").find(TempPath("misfit_dense.npy") + ": "), 0u);
  EXPECT_EQ(error("_sparse.npy").find(TempPath("misfit_sparse.npy") + ": ids: expected 4 rows"), 0u)
      << error("_sparse.npy");
  EXPECT_EQ(error("_labels.npy").find(TempPath("misfit_labels.npy") + ": labels: expected 4 rows"),
            0u)
      << error("_labels.npy");
}

TEST(NpyRows, ADayThatIsReplacedIsNeverReadInParts) {
  WriteDay("replaced", 0, 4);
  NpyDayWriter writer(TempPath("replaced"), kDense, kIds, DType::kI32);
  writer.Append({.label = 1, .dense = DenseOf(9), .ids = IdsOf(9)});
  writer.Prepare();
  EXPECT_EQ(MapNpyDays({*FindNpyDay(TempPath("replaced"))}).rows(), 4);
  writer.Withdraw();
  EXPECT_THAT(ErrorOf([] { FindNpyDay(TempPath("replaced")); }),
              ::testing::HasSubstr("labels.npy is not"));
  writer.Finish();
  EXPECT_EQ(MapNpyDays({*FindNpyDay(TempPath("replaced"))}).rows(), 1);
}

TEST(NpyRows, HalvesAreTorchRecs) {
  EXPECT_EQ(ValidationHalf(7), (RowRange{0, 4}));
  EXPECT_EQ(TestHalf(7), (RowRange{4, 7}));
  EXPECT_EQ(TestHalf(8), (RowRange{4, 8}));
}

TEST(NpyRows, DaysThatDoNotFitAreErrors) {
  NpyDay day = WriteDay("fits", 0, 5);
  const NpyDay longer = WriteDay("longer", 0, 6);
  NpyDay mixed = day;
  mixed.labels = longer.labels;
  EXPECT_NE(ErrorOf([&] { MapNpyDays({mixed}); }).find("labels: expected 5 rows of one number"),
            std::string::npos);
  mixed = day;
  mixed.sparse = day.dense;
  EXPECT_NE(ErrorOf([&] { MapNpyDays({mixed}); }).find("ids: expected 5 rows of i32 or i64"),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] {
              StoredRows(MapNpyDays({day}), {{"cat_2", 5}});
            }).find("feature 'cat_2': the data has cat_0 to cat_1"),
            std::string::npos);
}

TEST(RowFolder, HoldsRowsInShards) {
  for (const DType type : {DType::kI32, DType::kI64}) {
    const std::string folder = WriteFolder("folder", 20, type);
    ExpectRows(MapRowFolder(folder), 20);
    const RowFolderIndex index = ReadRowFolderIndex(folder);
    EXPECT_EQ(index.rows, 20);
    EXPECT_EQ(index.shards.size(), 3u);
    EXPECT_EQ(index.features[0].rows, 100);
    EXPECT_EQ(index.made[0].second, "as_is");
  }
  EXPECT_EQ(LayoutOfFile(TempPath("folder")), FileLayout::kFolder);
  ExpectRows(MapStoredFiles({TempPath("folder")}), 20);
}

TEST(RowFolder, WritingAgainReplacesAllOfIt) {
  WriteFolder("again", 40);
  const std::string folder = WriteFolder("again", 10);
  ExpectRows(MapRowFolder(folder), 10);
  EXPECT_FALSE(std::filesystem::exists(folder + "/rows-00002.safetensors"));
}

std::set<std::string> NamesIn(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    names.insert(file.path().filename().string());
  return names;
}

TEST(RowFolder, RowsStayUntilOthersAreWhole) {
  const std::string folder = WriteFolder("stay", 20);
  const std::set<std::string> before = NamesIn(folder);
  {
    RowFolderWriter writer(
        folder,
        {.dense_columns = kDense, .features = {{"cat_0", 100}, {"cat_1", 0}}, .shard_rows = 7});
    for (int64_t row = 0; row < 15; ++row)
      writer.Append({.label = 0, .dense = DenseOf(row), .ids = IdsOf(row)});
    EXPECT_GT(NamesIn(folder).size(), before.size());
    ExpectRows(MapRowFolder(folder), 20);
  }
  EXPECT_EQ(NamesIn(folder), before);
  ExpectRows(MapRowFolder(folder), 20);
}

// A crash right behind the commit, or a file system without hard links, leaves shards of the names
// under which they were written.
TEST(RowFolder, ShardsOfOtherNamesAreReadAndReplaced) {
  const std::string folder = WriteFolder("named", 20);
  RowFolderIndex index = ReadRowFolderIndex(folder);
  const std::set<std::string> usual = NamesIn(folder);
  for (RowShard& shard : index.shards) {
    const std::string name = ".new-1-" + shard.file;
    std::filesystem::copy(PathIn(folder, shard.file), PathIn(folder, name));
    shard.file = name;
  }
  WriteRowFolderIndex(folder, index);
  std::filesystem::remove(folder + "/rows-00000.safetensors");
  EXPECT_TRUE(IsRowFolder(folder));
  ExpectRows(MapRowFolder(folder), 20);
  {
    const RowFolderOutput output(folder);
    EXPECT_EQ(NamesIn(folder).size(), index.shards.size() + 1);
    ExpectRows(MapRowFolder(folder), 20);
  }
  WriteFolder("named", 20);
  EXPECT_EQ(NamesIn(folder), usual);
  ExpectRows(MapRowFolder(folder), 20);
}

TEST(RowFolder, OneWithoutItsFirstShardIsOne) {
  const std::string folder = WriteFolder("first", 20);
  for (const int shard : {0, 1, 2}) {
    std::filesystem::remove(PathIn(folder, RowShardName(static_cast<size_t>(shard))));
    EXPECT_TRUE(IsRowFolder(folder));
    EXPECT_EQ(ErrorOf([&] { MapRowFolder(folder); }).find(folder + "/rows-00000.safetensors: "),
              0u);
  }
}

TEST(RowFolder, OneNeverFinishedIsAnError) {
  const std::string folder = WriteFolder("unfinished", 20);
  std::filesystem::remove(folder + "/index.json");
  EXPECT_TRUE(IsRowFolder(folder));
  EXPECT_EQ(ErrorOf([&] { MapRowFolder(folder); }),
            folder + ": it has no index.json: the writing of its rows was never finished");
}

TEST(RowFolder, OtherBytesAreFoundWhereTheyAreUsed) {
  Context ctx({.threads = 1});
  const int64_t rows = 200000, changed = 100000;  // dense: 2.3 MiB
  const std::string folder = WriteFolder("corrupt", rows, DType::kI32, rows);
  const std::string file = folder + "/rows-00000.safetensors";
  {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<int64_t>(std::filesystem::file_size(file)) - rows * 4 - rows * 8 -
                rows * 12 + changed * 12);
    bytes.put('\x55');
  }
  const StoredRows stored(MapRowFolder(folder), {{"cat_0", 10}});
  stored.Gather(ctx, std::vector<int64_t>{0, rows - 1});
  const std::string error = ErrorOf([&] { stored.Gather(ctx, std::vector<int64_t>{changed + 5}); });
  EXPECT_EQ(error.rfind(file + ": tensor 'dense': bytes 1048576 to 2097152 are not what was "
                               "written: expected CRC-32 ",
                        0),
            0u)
      << error;
}

TEST(RowFolder, ShardsThatDoNotFitAreErrors) {
  const std::string folder = WriteFolder("cut", 20);
  std::filesystem::copy_file(folder + "/rows-00002.safetensors", folder + "/rows-00001.safetensors",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_NE(ErrorOf([&] { MapRowFolder(folder); }).find("rows-00001.safetensors: "),
            std::string::npos);
  std::filesystem::resize_file(folder + "/rows-00000.safetensors", 100);
  EXPECT_NE(ErrorOf([&] { MapRowFolder(folder); }).find("rows-00000.safetensors: "),
            std::string::npos);
  testing::WriteFile("cut/index.json", "{\"format\": \"x\"}");
  EXPECT_EQ(ErrorOf([&] { MapRowFolder(folder); }),
            folder + "/index.json: format: expected \"tessera rows\", got \"x\"");
}

TEST(DataFiles, ParquetAndMixturesAreErrors) {
  EXPECT_NE(ErrorOf([] {
              LayoutOfFile("day_0.parquet");
            }).find("day_0.parquet: Parquet is not read: this library has no reader of it"),
            std::string::npos);
  EXPECT_EQ(LayoutOfFile("clicks.tsv"), FileLayout::kText);
  const std::string folder = WriteFolder("mixed", 5);
  EXPECT_EQ(ErrorOf([&] {
              LayoutOfFiles({folder, "clicks.tsv"});
            }),
            folder + " is folder, but clicks.tsv is text: give data of one layout");
}

}  // namespace
}  // namespace tessera
