#include "runtime/base/memory_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/runtime/machine_folder.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;

constexpr double kGiB = 1073741824.0;

class MachineMemory : public testing::MachineFolder {
 protected:
  MachineMemory() {
    Write("/proc/meminfo", "MemTotal: 25165824 kB\nMemFree: 1 kB\nMemAvailable: 20971520 kB\n");
  }
  double There() { return AvailableMemory(root_).bytes / kGiB; }
};

TEST_F(MachineMemory, WithoutCgroupsItIsWhatIsAvailable) {
  EXPECT_EQ(There(), 20);
  EXPECT_EQ(AvailableMemory(root_).source, "available on this machine");
}

TEST_F(MachineMemory, WhereNothingCanBeReadThereIsNoLimit) {
  std::filesystem::remove_all(root_);
  EXPECT_TRUE(std::isinf(There()));
}

TEST_F(MachineMemory, ACgroupOfVersion2LeavesItsLimitLessWhatIsUsedForGood) {
  Write("/proc/self/cgroup", "0::/jobs/one\n");
  Write("/sys/fs/cgroup/jobs/one/memory.max", "max\n");
  Write("/sys/fs/cgroup/jobs/one/memory.current", "1073741824\n");
  EXPECT_EQ(There(), 20);
  Write("/sys/fs/cgroup/jobs/one/memory.max", "8589934592\n");
  EXPECT_EQ(There(), 7);
  Write("/sys/fs/cgroup/jobs/one/memory.stat", "anon 5\ninactive_file 536870912\n");
  EXPECT_EQ(There(), 7.5);
  EXPECT_THAT(AvailableMemory(root_).source, HasSubstr("cgroup"));
  Write("/sys/fs/cgroup/jobs/memory.max", "4294967296\n");  // of the one that it lies in
  EXPECT_EQ(There(), 4);
}

TEST_F(MachineMemory, ACgroupOfVersion1LeavesItsLimitLessWhatIsUsedForGood) {
  Write("/proc/self/cgroup", "3:cpu,cpuacct:/a\n2:memory:/docker/abc\n0::/a\n");
  const std::string folder = "/sys/fs/cgroup/memory/";  // in a container, without the host's path
  Write(folder + "memory.limit_in_bytes", "9223372036854771712\n");
  Write(folder + "memory.usage_in_bytes", "3221225472\n");
  Write(folder + "memory.stat", "cache 1\ntotal_inactive_file 1073741824\n");
  EXPECT_EQ(There(), 20);
  Write(folder + "memory.limit_in_bytes", "6442450944\n");
  EXPECT_EQ(There(), 4);
}

TEST(MemoryLimit, SizesAreBytesOrHaveAUnit) {
  EXPECT_EQ(ParseMemorySize("4096"), 4096);
  EXPECT_EQ(ParseMemorySize("512M"), 512 * 1048576.0);
  EXPECT_EQ(ParseMemorySize("12GiB"), 12 * kGiB);
  EXPECT_EQ(ParseMemorySize("1.5TB"), 1536 * kGiB);
  for (const char* text : {"", "G", "12X", "12GG", "-1", "0", "nan", "1e999"})
    EXPECT_THAT(ErrorOf([&] { ParseMemorySize(text); }), HasSubstr("expected a size such as 512M"))
        << text;
}

TEST(MemoryLimit, WhatIsMoreThanThereIsIsSaidPartByPart) {
  const std::vector<MemoryPart> parts = {
      {"tables", 38 * kGiB, "a 20.0 GiB, b 18.0 GiB"}, {"states", 0}, {"a batch", 2 * kGiB}};
  CheckMemory("the training", parts, {40 * kGiB, "here"}, "");
  EXPECT_EQ(ErrorOf([&] {
              CheckMemory("the training", parts, {39 * kGiB, "here"}, "Buy some");
            }),
            "the training takes about 40.0 GiB of memory: tables 38.0 GiB (a 20.0 GiB, b 18.0 "
            "GiB), a batch 2.0 GiB; there are 39.0 GiB (here). Buy some");
  EXPECT_THAT(ErrorOf([&] {
                CheckMemory("the training", parts, {40 * kGiB, "here", kGiB}, "");
              }),
              HasSubstr("takes about 41.0 GiB of memory: tables 38.0 GiB (a 20.0 GiB, b 18.0 GiB), "
                        "a batch 2.0 GiB, the process itself 1.0 GiB; there are 40.0 GiB"));
}

}  // namespace
}  // namespace tessera
