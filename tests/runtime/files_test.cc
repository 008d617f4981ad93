#include "runtime/files/files.h"

#include <gtest/gtest.h>

#include "runtime/base/check.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using tessera::testing::ErrorOf;

TEST(Files, TextComesBackAsItWasWritten) {
  const std::string path = PathIn(::testing::TempDir(), "text");
  for (const std::string& text : {std::string("a\nb\r\n\0c", 7), std::string(), std::string("d")}) {
    ReplaceTextFile(path, text);
    EXPECT_EQ(ReadTextFile(path), text);
  }
}

TEST(Files, ErrorsNameTheFile) {
  const std::string folder = ::testing::TempDir();
  EXPECT_EQ(ErrorOf([] { ReadTextFile("/nowhere/x"); }),
            "/nowhere/x: cannot be read: No such file or directory");
  EXPECT_EQ(ErrorOf([] { ReplaceTextFile("/nowhere/x", "a"); }),
            "/nowhere/x: cannot be written: No such file or directory");
  EXPECT_EQ(ErrorOf([] { SyncFolder("/nowhere/x"); }),
            "/nowhere/x: cannot be opened: No such file or directory");
  EXPECT_NE(ErrorOf([&] { ReadTextFile(folder); }).find("cannot be read"), std::string::npos);
  SyncFolder(folder);
}

}  // namespace
}  // namespace tessera
