#include "bench/facts/call_counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

namespace tessera::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kCycles = 1, kMisses = 2, kReads = 3;  // configs

// A kernel whose counters stand at what Work() added to them.
class FakeKernel : public PerfSystem {
 public:
  struct Opened {
    uint64_t config;
    int thread, cpu, group;
    bool user_only;
  };
  std::vector<Opened> opened;  // all, by file descriptor
  std::vector<int> threads = {10, 11};
  int refused_thread = -2;
  std::map<uint64_t, int> refuses;        // errno, by config
  std::map<int, uint64_t> count;          // what a call adds, by thread (−1: controllers)
  uint64_t enabled = 100, running = 100;  // what a call adds to the times
  int open = 0, most_open = 0, calls = 0;

  int Open(const perf_event_attr& attr, int thread, int cpu, int group) override {
    if (std::find(threads.begin(), threads.end(), thread) == threads.end() && thread >= 0)
      return -ESRCH;
    if (thread == refused_thread) return -EMFILE;
    if (refuses.count(attr.config) > 0) return -refuses[attr.config];
    opened.push_back({attr.config, thread, cpu, group, attr.exclude_kernel == 1});
    most_open = std::max(most_open, ++open);
    return static_cast<int>(opened.size()) - 1;
  }
  int64_t Read(int file, void* to, size_t bytes) override {
    const auto file_group = [&](int f) {
      return opened[size_t(f)].group < 0 ? f : opened[size_t(f)].group;
    };
    std::vector<uint64_t> values = {0, enabled * uint64_t(calls), running * uint64_t(calls)};
    for (int f = 0; f < static_cast<int>(opened.size()); ++f)
      if (file_group(f) == file)
        values.push_back(count[opened[size_t(f)].thread] * opened[size_t(f)].config *
                         uint64_t(calls));
    EXPECT_EQ(values.size() * 8, bytes);
    std::memcpy(to, values.data(), bytes);
    return static_cast<int64_t>(bytes);
  }
  void Close(int) override { --open; }
  std::vector<int> Threads() override { return threads; }
  std::string Paranoid() override { return "4"; }

  std::vector<CallCounts> Count(CallCounters& counters, int calls_a_run = 1) {
    return counters.Count({{nullptr, [this](int) { ++calls; }, calls_a_run}});
  }
};

const PerfGroup kCore = {{"cycles", 0, kCycles}, {"l3_misses", 0, kMisses}};
const PerfGroup kDram = {{"dram_read_bytes", 7, kReads, 64, /*cpu=*/0},
                         {"dram_read_bytes", 8, kReads, 64, /*cpu=*/28}};

TEST(CallCountersTest, AddsUpAllThreads) {
  FakeKernel kernel;
  kernel.count = {{10, 1000}, {11, 500}};
  CallCounters counters(kernel, {kCore});
  const std::vector<CallCounts> counts = kernel.Count(counters);
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_EQ(counts[0].samples.at("cycles"), std::vector<double>(CallCounters::kRounds, 1500));
  EXPECT_EQ(counts[0].samples.at("l3_misses")[0], 3000);
  EXPECT_EQ(counts[0].counted, 1);
  EXPECT_THAT(counters.TakeNotes(), IsEmpty());
  ASSERT_EQ(kernel.opened.size(), 4u) << "a group of two for each of two threads";
  EXPECT_EQ(kernel.opened[1].group, 0) << "the first event leads the second";
  EXPECT_EQ(kernel.opened[2].group, -1) << "of the other thread";
  EXPECT_EQ(kernel.opened[3].group, 2);
  for (const auto& opened : kernel.opened) EXPECT_TRUE(opened.user_only);
  EXPECT_EQ(kernel.open, 0) << "all are closed";
}

TEST(CallCountersTest, OneGroupAtATimeIsOpen) {
  FakeKernel kernel;
  CallCounters counters(kernel, {kCore, {{"instructions", 0, 5}}});
  kernel.Count(counters);
  EXPECT_EQ(kernel.most_open, 4);
  EXPECT_EQ(kernel.opened.size(), 6u);
  EXPECT_EQ(kernel.calls, 2 * CallCounters::kRounds) << "calls of its own for each group";
}

TEST(CallCountersTest, CountsAreOfOneCall) {
  FakeKernel kernel;
  kernel.count = {{10, 1000}};
  CallCounters counters(kernel, {kCore});
  EXPECT_EQ(kernel.Count(counters, /*calls_a_run=*/10)[0].samples.at("cycles")[0], 100);
}

TEST(CallCountersTest, MultiplexedCountsAreScaledAndSaidToBe) {
  FakeKernel kernel;
  kernel.count = {{10, 1000}};
  kernel.running = 25;
  CallCounters counters(kernel, {kCore});
  const std::vector<CallCounts> counts = kernel.Count(counters);
  EXPECT_EQ(counts[0].samples.at("cycles")[0], 4000);
  EXPECT_EQ(counts[0].counted, 0.25);
  EXPECT_THAT(counters.TakeNotes(), ElementsAre(HasSubstr("counts are scaled")));
  kernel.Count(counters);
  EXPECT_THAT(counters.TakeNotes(), IsEmpty()) << "said once";
}

TEST(CallCountersTest, WhatNeverRanIsNoZero) {
  FakeKernel kernel;
  kernel.running = 0;
  CallCounters counters(kernel, {kCore});
  EXPECT_THAT(kernel.Count(counters)[0].samples, IsEmpty());
  EXPECT_THAT(counters.TakeNotes()[0], HasSubstr("not counted: cycles, l3_misses: EBUSY"));
}

TEST(CallCountersTest, RefusalsAreSaidOnceWithTheirErrorAndARemedy) {
  for (const auto& [error, said] : std::vector<std::pair<int, std::string>>{
           {EACCES,
            "not counted: cycles, l3_misses: EACCES (Permission denied): "
            "kernel.perf_event_paranoid is 4. sysctl kernel.perf_event_paranoid=2"},
           {ENOENT, "ENOENT (No such file or directory): this machine has no counter for them"},
           {ENOSYS, "the kernel has no perf_event_open"},
           {EMFILE, "ulimit -n"}}) {
    FakeKernel kernel;
    kernel.refuses = {{kCycles, error}, {kMisses, error}};
    CallCounters counters(kernel, {kCore});
    EXPECT_THAT(kernel.Count(counters)[0].samples, IsEmpty());
    EXPECT_EQ(kernel.calls, 0) << "nothing runs for counters that there are not";
    EXPECT_THAT(counters.TakeNotes(), ElementsAre(HasSubstr(said)));
    kernel.Count(counters);
    EXPECT_THAT(counters.TakeNotes(), IsEmpty());
  }
}

TEST(CallCountersTest, OneEventMayBeRefused) {
  FakeKernel kernel;
  kernel.count = {{10, 1000}, {11, 500}};
  kernel.refuses = {{kCycles, ENOENT}};
  CallCounters counters(kernel, {kCore});
  const std::vector<CallCounts> counts = kernel.Count(counters);
  EXPECT_EQ(counts[0].samples.count("cycles"), 0u);
  EXPECT_EQ(counts[0].samples.at("l3_misses")[0], 3000);
  EXPECT_THAT(counters.TakeNotes(), ElementsAre(HasSubstr("not counted: cycles: ENOENT")));
}

// A count of some threads would say too little.
TEST(CallCountersTest, WhatIsNotCountedOfAllThreadsIsNoFact) {
  FakeKernel kernel;
  kernel.count = {{10, 1000}};
  kernel.refused_thread = 11;
  CallCounters counters(kernel, {kCore});
  EXPECT_THAT(kernel.Count(counters)[0].samples, IsEmpty());
  EXPECT_THAT(counters.TakeNotes(),
              ElementsAre(HasSubstr("not counted: cycles, l3_misses: EMFILE")));
}

TEST(CallCountersTest, AThreadMayHaveEnded) {
  class Ends : public FakeKernel {
    std::vector<int> Threads() override { return {10, 12}; }
  } kernel;
  kernel.count = {{10, 1000}};
  CallCounters counters(kernel, {kCore});
  EXPECT_EQ(kernel.Count(counters)[0].samples.at("cycles")[0], 1000);
  EXPECT_THAT(counters.TakeNotes(), IsEmpty());
}

TEST(CallCountersTest, ControllersAreCountedByThemselves) {
  FakeKernel kernel;
  kernel.count = {{-1, 10}};
  CallCounters counters(kernel, {kDram});
  EXPECT_EQ(kernel.Count(counters)[0].samples.at("dram_read_bytes")[0], 2 * 10 * kReads * 64);
  ASSERT_EQ(kernel.opened.size(), 2u);
  EXPECT_EQ(kernel.opened[1].cpu, 28);
  EXPECT_EQ(kernel.opened[1].group, -1);
  EXPECT_FALSE(kernel.opened[1].user_only) << "a controller cannot tell, and refuses";
}

}  // namespace
}  // namespace tessera::bench
