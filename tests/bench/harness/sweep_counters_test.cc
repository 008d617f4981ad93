#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "tests/bench/harness/fake_topic.h"

namespace tessera::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A kernel of one thread, one event and seven counts between two reads.
class SevenCounts : public PerfSystem {
 public:
  int error = 0;

  int Open(const perf_event_attr&, int, int, int) override { return -error; }
  int64_t Read(int, void* to, size_t bytes) override {
    ++reads_;
    const uint64_t values[] = {1, reads_, reads_, 7 * reads_};
    std::memcpy(to, values, bytes);
    return static_cast<int64_t>(bytes);
  }
  void Close(int) override {}
  std::vector<int> Threads() override { return {1}; }
  std::string Paranoid() override { return "2"; }

 private:
  uint64_t reads_ = 0;
};

TEST(RunPointsCountersTest, AreFactsOfCallsBesideTheTimedOnes) {
  Fake fake;
  SevenCounts system;
  CallCounters counters(system, {{{"cycles"}}});
  const std::vector<Measurement> rows =
      fake.Run({.rounds = 1, .counters = &counters}, {{"threads", {"1"}}});
  for (const Measurement& row : rows) {
    EXPECT_EQ(row.facts.back(), std::pair(std::string("cycles"), 7.0));
    EXPECT_EQ(row.seconds.size(), 1u);
  }
}

TEST(RunPointsCountersTest, ThatThereAreNotAreANote) {
  Fake fake;
  SevenCounts system;
  system.error = ENOENT;
  CallCounters counters(system, {{{"cycles"}}});
  std::vector<std::string> notes;
  const auto note = [&](const std::string& name, const std::string& text) {
    notes.push_back(name + ": " + text);
  };
  const auto rows = fake.Run({.rounds = 1, .counters = &counters, .note = note},
                             {{"dim", {"1", "2"}}, {"threads", {"1"}}});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].facts.back().first, "calls") << "no invented zeros";
  EXPECT_THAT(notes, ElementsAre(HasSubstr("counters: not counted: cycles: ENOENT")));
}

}  // namespace
}  // namespace tessera::bench
