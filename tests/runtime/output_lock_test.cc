#include "runtime/files/output_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>

#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using tessera::testing::ErrorOf;
using Of = OutputLock::Of;

// A process that has the lock, until it is killed.
pid_t Holder(const std::string& path, Of of) {
  int ready[2];
  EXPECT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const OutputLock lock(path, of);
    if (write(ready[1], "x", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  close(ready[1]);
  return child;
}

TEST(OutputLock, ASecondProcessIsRefusedUntilTheFirstDies) {
  const std::string folder = PathIn(::testing::TempDir(), "locked"), file = folder + "/a";
  fs::create_directory(folder);
  for (const auto& [path, of] : {std::pair(file, Of::kFile), std::pair(folder, Of::kFolder)}) {
    const pid_t holder = Holder(path, of);
    const std::string error = ErrorOf([&, &path = path, &of = of] { OutputLock(path, of); });
    EXPECT_TRUE(error.starts_with(path + ": process " + std::to_string(holder) + " on ")) << error;
    EXPECT_TRUE(error.starts_with(path + ": " + LockHolder(path, of) + " is writing it")) << error;
    kill(holder, SIGKILL);
    waitpid(holder, nullptr, 0);
    EXPECT_EQ(LockHolder(path, of), "");
    EXPECT_FALSE(fs::is_empty(folder)) << "its lock file lies there";
    { const OutputLock lock(path, of); }
    EXPECT_TRUE(fs::is_empty(folder));
    EXPECT_EQ(LockHolder(path, of), "");
  }
}

TEST(OutputLock, TwiceInOneProcessIsRefusedToo) {
  const std::string path = PathIn(::testing::TempDir(), "twice");
  const OutputLock lock(path, Of::kFile);
  EXPECT_EQ(ErrorOf([&] { OutputLock(path, Of::kFile); }),
            path + ": this command is told to write it twice");
}

TEST(OutputLock, AFolderThatIsMadeAndStaysEmptyGoes) {
  const std::string path = PathIn(::testing::TempDir(), "made");
  { const OutputLock lock(path, Of::kFolder); }
  EXPECT_FALSE(fs::exists(path));
  {
    const OutputLock lock(path, Of::kFolder);
    ReplaceTextFile(PathIn(path, "a"), "a");
  }
  EXPECT_TRUE(fs::exists(PathIn(path, "a")));
  EXPECT_NE(ErrorOf([&] {
              OutputLock(PathIn(path, "a"), Of::kFolder);
            }).find("/a: cannot be made a folder"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera
