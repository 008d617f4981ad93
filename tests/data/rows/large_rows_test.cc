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

// A line of `begin`, one long unused text and `end`, between two small ones.
void ReadALineOf64MiB(const std::string& schema, const std::string& small, const std::string& begin,
                      const std::string& end) {
  std::string line = begin;
  line.resize(static_cast<size_t>(TextPieces::kMaxLineBytes) - end.size(), 'u');
  line += end;
  const std::vector<CategoricalFeature> features = {{"x", 10, false}};
  const std::string path = WriteFile("long", small + line + "\n" + small);
  const int64_t before = MemoryOfProcess().bytes;
  const AllRows rows = Read(schema, features, path);
  // Sanitizers keep what was freed.
  const int64_t taken = MemoryOfProcess().peak_bytes - before;
  EXPECT_TRUE(!kRecycles || taken < 4 * TextPieces::kMaxLineBytes) << taken;
  EXPECT_EQ(rows.batch.features.values().ToVector<int32_t>(), (std::vector<int32_t>{3, 7, 3}));
  const std::string longer = WriteFile("longer", small + line + " ");
  EXPECT_EQ(ErrorOf([&] { Read(schema, features, longer); }),
            longer + ":2: the line is longer than 67108864 bytes");
}

TEST(LargeRows, ALineOf64MiBAndNotMore) {
  ReadALineOf64MiB(R"({"format": "jsonl", "labels": ["y"]})", "{\"y\": 0, \"x\": 3}\n",
                   R"({"y": 1, "x": 7, "unused": ")", "\"}");
  ReadALineOf64MiB(R"({"format": "csv", "columns": ["unused", "x", "y"], "labels": ["y"]})",
                   "\"u\",3,0\n", "\"", "\",7,1");
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
  std::string heading = "y", line = "1", json = R"({"y": 1)";
  std::vector<CategoricalFeature> features;
  for (int i = 0; i < 10'000; ++i) {
    heading += Format(",c{}", i);
    line += Format(",{}", i);
    json += Format(", \"c{}\": {}", i, i);
    features.push_back({Format("c{}", i), 20'000, false});
  }
  for (const auto& [format, text] : {std::pair{"csv", heading + "\n" + line + "\n" + line + "\n"},
                                     {"jsonl", json + "}\n" + json + "}\n"}}) {
    const AllRows rows = Read(Format(R"({{"format": "{}", "labels": ["y"]}})", format), features,
                              WriteFile("wide", text));
    const std::vector<int32_t> ids = rows.batch.features.values().ToVector<int32_t>();
    ASSERT_EQ(ids.size(), 20'000u) << format;
    EXPECT_EQ(ids[2 * 1234], 1234);
    EXPECT_EQ(ids[2 * 1234 + 1], 1234);  // of the second row
  }
}

}  // namespace
}  // namespace tessera
