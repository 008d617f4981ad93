#include "runtime/base/machine.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/base/check.h"

namespace tessera {
namespace {

TEST(Machine, CoresAreSharedByProcesses) {
  unsetenv("TESSERA_THREADS");
  EXPECT_GE(MachineCores(), 1);
  EXPECT_LE(DefaultThreads(), MachineCores());  // under taskset fewer
  EXPECT_LE(DefaultThreads(2), std::max(1, MachineCores() / 2));
  EXPECT_EQ(DefaultThreads(1 << 20), 1);
}

TEST(Machine, ABoundProcessHasAsManyThreadsAsItMayUseCores) {
  unsetenv("TESSERA_THREADS");
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(DefaultThreads(), 1);
  EXPECT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
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
