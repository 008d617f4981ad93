#include "runtime/base/machine.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "runtime/base/check.h"
#include "tests/runtime/machine_folder.h"

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
  EXPECT_EQ(DefaultThreadsOfStarted(1), 1);
  EXPECT_EQ(DefaultThreadsOfStarted(3), 1);
  EXPECT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(Machine, TheEnvironmentSaysHowManyThreads) {
  setenv("TESSERA_THREADS", "3", 1);
  EXPECT_EQ(DefaultThreads(), 3);
  EXPECT_EQ(DefaultThreads(8), 3);
  EXPECT_EQ(DefaultThreadsOfStarted(8), 3);
  setenv("TESSERA_THREADS", "none", 1);
  EXPECT_THROW(DefaultThreads(), Error);
  unsetenv("TESSERA_THREADS");
}

// The machine has 64 cores.
class Cgroups : public testing::MachineFolder {
 protected:
  int Cores() { return internal::CoresInCgroups(64, root_); }
};

TEST_F(Cgroups, WithoutALimitAllCoresAreThere) {
  EXPECT_EQ(Cores(), 64);
  EXPECT_EQ(internal::CoresInCgroups(0, root_), 1);  // a machine that says nothing
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(Cores(), 64);
}

TEST_F(Cgroups, AContainerOfVersion2HasItsQuota) {
  Write("/proc/self/cgroup", "0::/kubepods/pod1/c1\n");  // a path of the host
  Write("/sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(Cores(), 4);
  for (const auto& [quota, cores] : {std::pair{"250000 100000", 3}, {"10000 100000", 1}}) {
    Write("/sys/fs/cgroup/cpu.max", quota);
    EXPECT_EQ(Cores(), cores) << quota;
  }
  Write("/sys/fs/cgroup/cpu.max", "100000000 100000\n");  // more than there are
  EXPECT_EQ(Cores(), 64);
}

TEST_F(Cgroups, TheLeastQuotaOfThoseThatItLiesInCounts) {
  Write("/proc/self/cgroup", "0::/pod1/c1\n");
  Write("/sys/fs/cgroup/pod1/c1/cpu.max", "800000 100000\n");
  EXPECT_EQ(Cores(), 8);
  Write("/sys/fs/cgroup/pod1/cpu.max", "200000 100000\n");
  EXPECT_EQ(Cores(), 2);
}

TEST_F(Cgroups, AContainerOfVersion1HasItsQuota) {
  Write("/proc/self/cgroup", "4:memory:/d\n3:cpu,cpuacct:/docker/abc\n0::/a\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Cores(), 64);
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n");
  EXPECT_EQ(Cores(), 3);
  Write("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "50000\n");
  Write("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(Cores(), 1);
}

TEST_F(Cgroups, ASetOfCoresCounts) {
  Write("/proc/self/cgroup", "0::/c1\n");
  Write("/sys/fs/cgroup/c1/cpuset.cpus.effective", "0-3,8,10-11\n");
  EXPECT_EQ(Cores(), 7);
  Write("/sys/fs/cgroup/c1/cpuset.cpus.effective", "\n");
  EXPECT_EQ(Cores(), 64);
  Write("/proc/self/cgroup", "5:cpuset:/c1\n");
  Write("/sys/fs/cgroup/cpuset/c1/cpuset.cpus", "5\n");
  EXPECT_EQ(Cores(), 1);
}

}  // namespace
}  // namespace tessera
