// Patterns and pipes among the paths of data.
#include "data/files/expand_paths.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::TempPath;
using testing::WriteFile;
using Paths = std::vector<std::string>;

TEST(ExpandPaths, PatternsAreTheirFilesInOrder) {
  const std::string b = WriteFile("day_b.csv", ""), a = WriteFile("day_a.csv", "");
  EXPECT_EQ(ExpandPaths({b, TempPath("day_?.csv")}), (Paths{b, a, b}));
  EXPECT_EQ(ErrorOf([] { ExpandPaths({TempPath("night_*")}); }),
            TempPath("night_*") + ": expected a file, or a pattern that files match, found none");
}

TEST(ExpandPaths, APipeIsGivenOnce) {
  const std::string pipe = TempPath("pipe"), file = WriteFile("plain.csv", "");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(ExpandPaths({pipe, file, file}), (Paths{pipe, file, file}));
  EXPECT_EQ(ErrorOf([&] {
              ExpandPaths({pipe, file, pipe});
            }),
            pipe + ": it can be read once, but is given twice: expected it once");
}

}  // namespace
}  // namespace tessera
