#include "runtime/base/machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/base/check.h"

namespace tessera {
namespace {

TEST(Machine, CoresAreSharedByProcesses) {
  unsetenv("TESSERA_THREADS");
  EXPECT_GE(MachineCores(), 1);
  EXPECT_EQ(DefaultThreads(), MachineCores());
  EXPECT_EQ(DefaultThreads(2), std::max(1, MachineCores() / 2));
  EXPECT_EQ(DefaultThreads(1 << 20), 1);
}

TEST(Machine, TheEnvironmentSaysHowManyThreads) {
  setenv("TESSERA_THREADS", "3", 1);
  EXPECT_EQ(DefaultThreads(), 3);
  EXPECT_EQ(DefaultThreads(8), 3);
  setenv("TESSERA_THREADS", "none", 1);
  EXPECT_THROW(DefaultThreads(), Error);
  unsetenv("TESSERA_THREADS");
}

}  // namespace
}  // namespace tessera
