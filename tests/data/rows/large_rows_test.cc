// Lines of 64 MiB, bags of a million ids, ten thousand columns.
#include <gtest/gtest.h>

#include "data/rows/text_pieces.h"
#include "data/rows/text_row_source.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::WriteFile;

AllRows Read(const std::string& schema, const std::vector<CategoricalFeature>& features,
             const std::string& path) {
  Context ctx({.threads = 1});
  return ReadAllRows(ctx, std::make_shared<const RowRules>(ParseDataSchema(schema), features),
                     {.paths = {path}});
}

TEST(LargeRows, ALineOf64MiBAndNotMore) {
  std::string line = R"({"y": 1, "x": 7, "unused": ")";
  line.resize(static_cast<size_t>(TextPieces::kMostLineBytes) - 2, 'u');
  line += "\"}";
  const std::string schema = R"({"format": "jsonl", "labels": ["y"]})";
  const std::vector<CategoricalFeature> features = {{"x", 10, false}};
  const std::string small = "{\"y\": 0, \"x\": 3}\n";
  const AllRows rows = Read(schema, features, WriteFile("long.jsonl", small + line + "\n" + small));
  EXPECT_EQ(rows.batch.features.values().ToVector<int32_t>(), (std::vector<int32_t>{3, 7, 3}));
  const std::string longer = WriteFile("longer.jsonl", small + line + " ");
  EXPECT_EQ(ErrorOf([&] { Read(schema, features, longer); }),
            longer + ":2: the line is longer than 67108864 bytes");
}

TEST(LargeRows, ABagOfAMillionIds) {
  std::string bag;
  for (int i = 0; i < 1'000'000; ++i) bag += (i == 0 ? "" : "|") + std::to_string(i);
  const AllRows rows = Read(
      R"({"format": "csv", "columns": ["y", "x"],
          "features": [{"name": "x", "separator": "|"}], "labels": ["y"]})",
      {{"x", 1'000'000, false}}, WriteFile("bag.csv", "1," + bag));
  const std::vector<int32_t> ids = rows.batch.features.values().ToVector<int32_t>();
  ASSERT_EQ(ids.size(), 1'000'000u);
  EXPECT_EQ(ids[999'999], 999'999);
}

TEST(LargeRows, TenThousandColumns) {
  std::string heading = "y", line = "1";
  std::vector<CategoricalFeature> features;
  for (int i = 0; i < 10'000; ++i) {
    heading += Format(",c{}", i);
    line += Format(",{}", i);
    features.push_back({Format("c{}", i), 20'000, false});
  }
  const AllRows rows = Read(R"({"format": "csv", "labels": ["y"]})", features,
                            WriteFile("wide.csv", heading + "\n" + line + "\n" + line + "\n"));
  const std::vector<int32_t> ids = rows.batch.features.values().ToVector<int32_t>();
  ASSERT_EQ(ids.size(), 20'000u);
  EXPECT_EQ(ids[2 * 1234], 1234);
}

}  // namespace
}  // namespace tessera
