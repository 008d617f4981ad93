#include "runtime/files/atomic_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using tessera::testing::ErrorOf;

class AtomicFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = PathIn(::testing::TempDir(), "atomic");
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  std::string Path(const std::string& name) const { return PathIn(folder_, name); }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& file : fs::directory_iterator(folder_))
      names.push_back(file.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string folder_;
};

TEST_F(AtomicFileTest, IsThereWhenItIsWhole) {
  ReplaceTextFile(Path("a"), "before");
  {
    AtomicFile file(Path("a"));
    file.Write("after", 5);
    EXPECT_EQ(ReadTextFile(Path("a")), "before");
    file.Commit();
  }
  EXPECT_EQ(ReadTextFile(Path("a")), "after");
  { AtomicFile(Path("a")).Write("lost", 4); }
  EXPECT_EQ(ReadTextFile(Path("a")), "after");
  EXPECT_EQ(Names(), std::vector<std::string>{"a"});
}

TEST_F(AtomicFileTest, WritersOfOnePathDoNotMix) {
  const auto write = [&](char letter) {
    for (int i = 0; i < 50; ++i) ReplaceTextFile(Path("a"), std::string(100'000, letter));
  };
  std::thread other(write, 'b');
  write('a');
  other.join();
  const std::string text = ReadTextFile(Path("a"));
  EXPECT_EQ(text, std::string(100'000, text[0]));
  EXPECT_EQ(Names(), std::vector<std::string>{"a"});
}

TEST_F(AtomicFileTest, LinksAndStreamsAreWrittenThrough) {
  ReplaceTextFile(Path("a"), "before");
  fs::create_symlink("a", Path("link"));
  ReplaceTextFile(Path("link"), "after");
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(ReadTextFile(Path("a")), "after");
  fs::create_symlink("link", Path("twice"));
  ReplaceTextFile(Path("twice"), "later");
  EXPECT_EQ(ReadTextFile(Path("a")), "later");
  fs::remove(Path("a"));
  ReplaceTextFile(Path("twice"), "new");
  EXPECT_EQ(ReadTextFile(Path("a")), "new");
  EXPECT_EQ(WrittenPath(Path("twice")), Path("a"));
  EXPECT_EQ(Names(), (std::vector<std::string>{"a", "link", "twice"}));
  fs::create_symlink("nowhere/a", Path("lost"));
  EXPECT_EQ(ErrorOf([&] { ReplaceTextFile(Path("lost"), "x"); }),
            Path("lost") + ": cannot be written: it is a link to " + Path("nowhere/a") +
                ", but there is no folder " + Path("nowhere"));
  fs::create_symlink("circle", Path("circle"));
  EXPECT_EQ(ErrorOf([&] { ReplaceTextFile(Path("circle"), "x"); }),
            Path("circle") + ": cannot be written: Too many levels of symbolic links");
  ReplaceTextFile("/dev/null", "nothing");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_NE(ErrorOf([] { ReplaceTextFile("/dev/full", "x"); }).find("/dev/full: cannot be written"),
            std::string::npos);
}

TEST_F(AtomicFileTest, LeftoversGoAndOthersStay) {
  const std::string left = "a.4711-0123456789abcdef.tmp", of_other = "b.1-0123456789abcdef.tmp";
  for (const std::string& name : {left, of_other, std::string("a.tmp"), std::string("a.x-1.tmp")})
    fs::copy_file("/proc/self/exe", Path(name));
  AtomicFile written(Path("a"));
  RemoveLeftovers(folder_, "a");
  EXPECT_FALSE(fs::exists(Path(left)));
  EXPECT_EQ(Names().size(), 4u) << "the other's, two that are not ours, and what is being written";
  RemoveLeftovers(folder_);
  EXPECT_FALSE(fs::exists(Path(of_other)));
  written.Commit();
  EXPECT_EQ(Names(), (std::vector<std::string>{"a", "a.tmp", "a.x-1.tmp"}));
}

}  // namespace
}  // namespace tessera
