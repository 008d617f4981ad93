// Lines of 64 MiB, bags of a million ids, ten thousand columns.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "data/rows/text_pieces.h"
#include "data/rows/text_row_source.h"
#include "runtime/base/process_memory.h"
#include "runtime/device/scratch_pool.h"
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
  const std::string path = WriteFile("long.jsonl", small + line + "\n" + small);
  const int64_t before = MemoryOfProcess().bytes;
  const AllRows rows = Read(schema, features, path);
  // Sanitizers keep what was freed.
  const int64_t taken = MemoryOfProcess().peak_bytes - before;
  EXPECT_TRUE(!kRecycles || taken < 4 * TextPieces::kMostLineBytes) << taken;
  EXPECT_EQ(rows.batch.features.values().ToVector<int32_t>(), (std::vector<int32_t>{3, 7, 3}));
  const std::string longer = WriteFile("longer.jsonl", small + line + " ");
  EXPECT_EQ(ErrorOf([&] { Read(schema, features, longer); }),
            longer + ":2: the line is longer than 67108864 bytes");
}

TEST(LargeRows, ABagOfAMillionIds) {
  std::string bag;
  for (int i = 0; i < 1'000'000; ++i) bag += (i == 0 ? "" : "|") + std::to_string(i);
  std::string list = bag;
  std::ranges::replace(list, '|', ',');
  const std::string rest = R"("features": [{"name": "x", "separator": "|"}], "labels": ["y"]})";
  for (const auto& [begin, line] :
       {std::pair<std::string, std::string>{R"({"format": "csv", "columns": ["y", "x"],)",
                                            "1," + bag},
        {R"({"format": "jsonl",)", "{\"y\": 1, \"x\": [" + list + "]}"}}) {
    const AllRows rows =
        Read(begin + rest, {{"x", 1'000'000, false}}, WriteFile("bag", line + "\n"));
    const std::vector<int32_t> ids = rows.batch.features.values().ToVector<int32_t>();
    ASSERT_EQ(ids.size(), 1'000'000u) << begin;
    for (int32_t i = 0; i < 1'000'000; ++i) ASSERT_EQ(ids[static_cast<size_t>(i)], i) << begin;
  }
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
  EXPECT_EQ(ids[2 * 1234 + 1], 1234);  // of the second row
}

}  // namespace
}  // namespace tessera
