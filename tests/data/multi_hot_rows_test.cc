// Days of MLPerf's multi-hot rows: archives, batches, and days that do not fit.
#include "data/files/multi_hot_rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/files/npz.h"
#include "tests/data/testing/npz_bytes.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::NpyOf;
using testing::NpzBytes;
using testing::TempPath;
using testing::WriteFile;

// A day of `rows` rows: number and label are first + row; user of one id, cat_0 of `hot`.
std::string WriteDay(const std::string& name, int first, int rows, int hot, bool in_64 = false) {
  std::vector<float> dense;
  std::vector<int64_t> labels, user;
  std::vector<int32_t> ids;
  for (int r = first; r < first + rows; ++r) {
    dense.push_back(static_cast<float>(r));
    labels.push_back(r);
    user.push_back(-r);
    for (int i = 0; i < hot; ++i) ids.push_back(r * 100 + i);
  }
  const std::string table = Format("({}, {})", rows, hot), column = Format("({}, 1)", rows);
  WriteFile(name + "_dense.npy", NpyOf("<f4", column, dense));
  WriteFile(name + "_labels.npy", NpyOf("<i8", Format("({},)", rows), labels));
  WriteFile(name + "_sparse_multi_hot.npz",
            NpzBytes({{"user", NpyOf("<i8", Format("({},)", rows), user)},
                      {"0", NpyOf("<i4", table, ids)}},
                     in_64));
  return TempPath(name);
}

const std::vector<CategoricalFeature> kFeatures = {{"cat_0", 250, false}, {"user", 7, false}};

StoredBags Map(const std::vector<std::string>& paths, const std::string& keys = "") {
  return MapMultiHotDays(MultiHotDays(paths), ParseDataSchema(R"({"format": "npz")" + keys + "}"),
                         kFeatures);
}

TEST(MultiHotRows, GatherRowsOfAnyDayInAnyOrder) {
  Context ctx({.threads = 1});
  const StoredBags rows = Map({WriteDay("a", 0, 5, 3), WriteDay("b", 5, 4, 70, true)});
  EXPECT_EQ(rows.rows(), 9);
  const std::vector<int64_t> some = {6, 1, 2};
  const Batch batch = rows.Gather(ctx, some);
  EXPECT_EQ(batch.dense.ToVector<float>(), (std::vector<float>{6, 1, 2}));
  EXPECT_EQ(batch.labels.ToVector<float>(), (std::vector<float>{6, 1, 2}));
  EXPECT_EQ(batch.features.lengths(ctx).ToVector<int32_t>(),
            (std::vector<int32_t>{70, 3, 3, 1, 1, 1}));
  std::vector<int32_t> expected;
  for (const auto& [row, hot] : {std::pair{6, 70}, {1, 3}, {2, 3}})
    for (int i = 0; i < hot; ++i) expected.push_back((row * 100 + i) % 250);
  for (const int row : {6, 1, 2}) expected.push_back((7 - row % 7) % 7);
  EXPECT_EQ(batch.features.values().ToVector<int32_t>(), expected);
}

// Ids of cat_0 are 100·row to 100·row + 69 or + 2, those of user −row.
TEST(MultiHotRows, IdsThatAreNoRowAreCounted) {
  Context ctx({.threads = 1});
  const StoredBags rows = Map({WriteDay("c1", 0, 5, 3), WriteDay("c2", 5, 4, 70, true)},
                              R"(, "features": [{"name": "user", "missing": "row0"}, "cat_0"])");
  const auto items = rows.Gather(ctx, std::vector<int64_t>{6, 0, 2, 1}).items;
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].items, 79);
  EXPECT_EQ(items[0].unknown, 70);  // those of row 6
  EXPECT_EQ(items[1].items, 4);
  EXPECT_EQ(items[1].unknown, 3);  // the negative ones
  const auto all = rows.Gather(ctx, std::vector<int64_t>{0, 1, 2, 3}).items;
  EXPECT_EQ(all[0].unknown, 3);  // 300 to 302, of 250 rows
}

TEST(MultiHotRows, ADayIsFoundByAnyOfItsFiles) {
  const std::string day = WriteDay("c", 0, 2, 1);
  EXPECT_EQ(MultiHotDays({day + "_labels.npy", day, day + "_dense.npy"}),
            std::vector<std::string>{day});
  EXPECT_EQ(FindMultiHotDay(TempPath("none")), std::nullopt);
  std::remove((day + "_dense.npy").c_str());
  EXPECT_EQ(ErrorOf([&] { MultiHotDays({day}); }),
            day + ": cannot be read: " + day + "_dense.npy is not there");
}

TEST(MultiHotRows, DaysThatDoNotFitAreErrors) {
  const std::string day = WriteDay("d", 0, 3, 2);
  EXPECT_EQ(ErrorOf([&] { Map({day}, R"(, "labels": ["y", "z"])"); }),
            day + "_labels.npy: expected 2 labels a row, those of data.labels, got [3] of i64");
  WriteFile("d_labels.npy", NpyOf<float>("<f4", "(2,)", {0, 1}));
  EXPECT_EQ(ErrorOf([&] { Map({day}); }), day + "_labels.npy: expected 3 rows, got [2] of f32");
  const std::string ids = NpyOf<int32_t>("<i4", "(2,)", {0, 1});
  WriteDay("d", 0, 3, 2);
  WriteFile("d_sparse_multi_hot.npz", NpzBytes({{"0", ids}, {"user", ids}}));
  EXPECT_EQ(ErrorOf([&] { Map({day}); }),
            day + "_sparse_multi_hot.npz: feature 'cat_0': expected 3 rows, got 2");
  WriteFile("d_sparse_multi_hot.npz", NpzBytes({{"3", ids}}));
  EXPECT_EQ(ErrorOf([&] { Map({day}); }),
            day +
                "_sparse_multi_hot.npz: there is no array 'cat_0' for feature 'cat_0'; there are "
                "cat_3");
}

TEST(MultiHotRows, NumbersThatAreNotFiniteAreErrorsWithFileAndRow) {
  Context ctx({.threads = 1});
  const std::string day = WriteDay("e", 0, 3, 2);
  const auto error = [&](double number, std::vector<int64_t> rows) {
    WriteFile("e_dense.npy", NpyOf<double>("<f8", "(3, 2)", {0, 1, 2, 3, 4, number}));
    const StoredBags table = Map({day});
    return ErrorOf([&] { table.Gather(ctx, rows); });
  };
  const std::string expected =
      day + "_dense.npy: row 2: number 1: expected a finite number of 32 bits, got ";
  EXPECT_EQ(error(5, {0, 1, 2}), "");
  EXPECT_EQ(error(NAN, {0, 1}), "");
  EXPECT_EQ(error(NAN, {0, 1, 2}), expected + "nan");
  EXPECT_EQ(error(-INFINITY, {2, 0}), expected + "-inf");
  EXPECT_EQ(error(1e39, {2}), expected + "inf");
}

TEST(NpzFile, DamagedArchivesAreErrors) {
  const std::string good = NpzBytes({{"0", NpyOf<int32_t>("<i4", "(2,)", {0, 1})}});
  const auto error = [&](const std::string& bytes) {
    const std::string path = WriteFile("bad.npz", bytes);
    const std::string text = ErrorOf([&] { NpzFile(path).Array("0"); });
    return text.empty() ? text : text.substr(path.size());
  };
  EXPECT_EQ(error(good), "");
  EXPECT_EQ(error(good.substr(0, good.size() - 30)),
            ": it is no ZIP archive, or one that is cut short");
  EXPECT_EQ(error("no archive"), ": it is no ZIP archive, or one that is cut short");
  EXPECT_EQ(error(good.substr(10)), ": it is no ZIP archive, or a damaged one");
  std::string changed = good;
  changed[good.find("PK\1\2") - 1] ^= 64;
  const std::string text = error(changed);
  EXPECT_TRUE(text.starts_with(": array '0': its bytes are not what was written: expected CRC-32 "))
      << text;
}

}  // namespace
}  // namespace tessera
