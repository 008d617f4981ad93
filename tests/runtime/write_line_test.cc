#include "runtime/files/write_line.h"

#include <gtest/gtest.h>

#include "runtime/files/files.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using testing::ErrorOf;

std::string ErrorOfLineTo(const std::string& path) {
  errno = 0;
  std::ofstream file(path, std::ios::app);
  return ErrorOf([&] { WriteLine(file, path, "line"); });
}

TEST(WriteLine, SaysWhichFileCannotBeWrittenAndWhy) {
  const std::string good = ::testing::TempDir() + "lines";
  EXPECT_EQ(ErrorOfLineTo(good) + ErrorOfLineTo(good), "");
  EXPECT_EQ(ReadTextFile(good), "line\nline\n");
  EXPECT_EQ(ErrorOfLineTo("/dev/full"), "/dev/full: cannot be written: No space left on device");
  EXPECT_EQ(ErrorOfLineTo("/none/lines"),
            "/none/lines: cannot be written: No such file or directory");
}

}  // namespace
}  // namespace tessera
