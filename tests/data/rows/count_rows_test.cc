// Rows of text are its lines, but for headings.
#include "data/rows/count_rows.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::WriteFile;

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

TEST(CountRows, CountsLinesOfAllFiles) {
  const std::vector<std::string> files = {WriteFile("a", "x\ny\n"), WriteFile("b", ""),
                                          WriteFile("c", "\n\nlast")};
  EXPECT_EQ(CountRows(files, false, kAll), 5);
  EXPECT_EQ(CountRows(files, true, kAll), 3);  // an empty file has no heading
}

TEST(CountRows, StopsOnceThereAreEnough) {
  std::string many;
  for (int n = 0; n < 1'000'000; ++n) many += "0\n";
  const std::vector<std::string> files = {WriteFile("many", many)};
  const int64_t some = CountRows(files, false, 10);
  EXPECT_GE(some, 10);
  EXPECT_LT(some, 1'000'000);
  EXPECT_EQ(CountRows(files, false, kAll), 1'000'000);
}

}  // namespace
}  // namespace tessera
