// Text is streamed: what memory a file takes does not depend on its size.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "data/rows/text_row_source.h"
#include "runtime/base/process_memory.h"
#include "runtime/device/scratch_pool.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

// Lines of a number, a bag and a label, of at least so many bytes.
std::string WriteLines(const std::string& name, int64_t bytes) {
  const std::string path = testing::TempPath(name);
  std::ofstream file(path, std::ios::binary);
  for (int64_t line = 0; file.tellp() < bytes; ++line) {
    std::string text = Format("{},{}.25", line % 2, line % 1000);
    for (int64_t i = 0; i < 100; ++i) text += Format("{}{}", i == 0 ? ',' : '|', line + i);
    file << text << '\n';
  }
  return path;
}

// Reads all batches; returns the number of rows.
int64_t ReadAll(const std::string& path) {
  const auto rules = std::make_shared<const RowRules>(
      ParseDataSchema(R"({"format": "csv", "columns": ["y", "x", "f"], "dense": ["x"],
        "features": [{"name": "f", "separator": "|"}], "labels": ["y"]})"),
      std::vector<CategoricalFeature>{{"f", 1000, false}});
  TextRowSource source(rules, {.paths = {path}, .threads = 2}, {.batch_size = 256});
  int64_t rows = 0;
  while (const auto batch = source.Next()) rows += batch->size();
  return rows;
}

TEST(TextMemory, AFileOf192MiBTakesAnEighthOfThatAtMost) {
  constexpr int64_t kBytes = 192 << 20;
  const std::string path = WriteLines("long.csv", kBytes);
  const int64_t before = MemoryOfProcess().peak_bytes;
  EXPECT_GT(ReadAll(path), 250'000);
  // Sanitizers keep what was freed.
  const int64_t taken = MemoryOfProcess().peak_bytes - before;
  EXPECT_TRUE(!kRecycles || taken < kBytes / 8) << taken;
}

}  // namespace
}  // namespace tessera
