#include "runtime/files/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/base/check.h"
#include "runtime/files/regular_file.h"
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

TEST(Files, WhatIsReadAtAnyPlaceIsAFile) {
  const std::string folder = ::testing::TempDir(), pipe = PathIn(folder, "pipe"),
                    file = PathIn(folder, "bytes");
  ReplaceTextFile(file, "abc");
  const RegularFile opened = OpenRegularFile(file);
  EXPECT_EQ(opened.bytes, 3);
  close(opened.descriptor);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/null")})
    EXPECT_EQ(ErrorOf([&] { OpenRegularFile(path); }),
              path + ": cannot be read: it is a pipe, a socket or a device; expected a file");
  EXPECT_EQ(ErrorOf([&] { OpenRegularFile(folder); }), folder + ": cannot be read: Is a directory");
  EXPECT_EQ(ErrorOf([] { OpenRegularFile("/nowhere/x"); }),
            "/nowhere/x: cannot be read: No such file or directory");
}

TEST(Files, TextsWithoutEndAreNotReadOn) {
  EXPECT_EQ(ErrorOf([] { ReadTextFile("/dev/zero"); }),
            "/dev/zero: expected a file or a pipe, got a device");
  EXPECT_EQ(ReadTextFile("/dev/null"), "");
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "abcdefgh", 8), 8);
  close(ends[1]);
  const std::string out = "/dev/fd/" + std::to_string(ends[0]);
  EXPECT_EQ(ErrorOf([&] { ReadTextFile(out, 0); }),
            out + ": expected a text of at most 0 bytes, got more");
  close(ends[0]);
  const std::string path = PathIn(::testing::TempDir(), "large");
  ReplaceTextFile(path, "a");
  std::filesystem::resize_file(path, kMostTextBytes + 1);
  EXPECT_EQ(ErrorOf([&] { ReadTextFile(path); }),
            path + ": expected a text of at most 1073741824 bytes, got more");
  std::filesystem::resize_file(path, 100'000);
  EXPECT_EQ(std::ssize(ReadTextFile(path, 100'000)), 100'000);
}

}  // namespace
}  // namespace tessera
