#include "bench/facts/perf_events.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

namespace tessera::bench {
namespace {

namespace fs = std::filesystem;

void WriteText(const fs::path& path, const char* text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text << "\n";
}

TEST(PerfEventsTest, GroupsFitACoresCounters) {
  for (const CpuVendor vendor :
       {CpuVendor::kIntel, CpuVendor::kAmd, CpuVendor::kArm, CpuVendor::kOther}) {
    std::set<std::string> names;
    for (const PerfGroup& group : CoreGroups(vendor)) {
      EXPECT_LE(group.size(), 4u);
      for (const PerfEvent& event : group) EXPECT_TRUE(names.insert(event.name).second);
    }
    EXPECT_TRUE(names.count("cycles") && names.count("dtlb_misses"));
    EXPECT_EQ(names.count("l3_misses") > 0,
              vendor == CpuVendor::kIntel || vendor == CpuVendor::kArm)
        << "the kernel's cache misses of others are not those of an L3";
  }
}

TEST(PerfEventsTest, FindsMemoryControllers) {
  const fs::path devices = fs::path(testing::TempDir()) / "devices";
  for (const char* name : {"uncore_imc_0", "uncore_imc_1", "uncore_imc_free_running_0"}) {
    const fs::path device = devices / name;
    WriteText(device / "type", "14");
    WriteText(device / "cpumask", "0,28-29");
    WriteText(device / "format/event", "config:0-7");
    WriteText(device / "format/umask", "config:8-15");
    WriteText(device / "events/cas_count_read", "event=0x04,umask=0x03");
    WriteText(device / "events/cas_count_read.scale", "6.103515625e-5");
    WriteText(device / "events/cas_count_read.unit", "MiB");
  }
  const PerfGroup events = DramEvents(devices);
  ASSERT_EQ(events.size(), 6u) << "two controllers on three cpus, and no writes";
  EXPECT_EQ(events[0].name, "dram_read_bytes");
  EXPECT_EQ(events[0].type, 14u);
  EXPECT_EQ(events[0].config, 0x304u);
  EXPECT_EQ(events[0].scale, 64) << "a line each";
  EXPECT_EQ(events[2].cpu, 29);
  fs::remove_all(devices);
  EXPECT_TRUE(DramEvents(devices).empty());
}

}  // namespace
}  // namespace tessera::bench
