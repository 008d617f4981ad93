// Rules for all topics: their flags can be told apart, and every case can be named.
#include "bench/topics.h"

#include <gtest/gtest.h>

#include <set>

#include "bench/harness/sweep.h"
#include "bench/harness/sweep_runner.h"

namespace tessera::bench {
namespace {

// Flags that the command has for every topic.
const std::set<std::string> kCommandFlags = {
    "suite", "only", "list",   "rounds",  "passes",  "cold",     "warm", "flush-mib",
    "json",  "csv",  "gbench", "details", "compare", "counters", "svg",  "plugin"};

void ExpectDistinctNames(const Topic& topic, const std::vector<Point>& points) {
  std::set<std::string> names;
  for (const Point& point : points) {
    const std::string name = topic.name + "/" + point.label() + "/" + point.Text("threads");
    EXPECT_TRUE(names.insert(name).second) << name << " comes twice";
  }
}

TEST(TopicsTest, HaveNamesOfTheirOwn) {
  std::set<std::string> names = {"show"};
  for (const Topic* topic : Topics()) {
    EXPECT_TRUE(names.insert(topic->name).second) << topic->name;
    EXPECT_FALSE(topic->help.empty()) << topic->name;
    EXPECT_TRUE(topic->make) << topic->name;
  }
}

TEST(TopicsTest, HaveAxesThatFlagsCanSet) {
  for (const Topic* topic : Topics()) {
    std::set<std::string> flags = kCommandFlags;
    for (const Axis& axis : AxesOf(*topic)) {
      EXPECT_TRUE(flags.insert(axis.name).second) << topic->name << " --" << axis.name;
      EXPECT_FALSE(axis.values.empty()) << topic->name << " --" << axis.name;
    }
  }
}

TEST(TopicsTest, HaveSweepsAndSuitesOfSoundPoints) {
  for (const Topic* topic : Topics()) {
    ExpectDistinctNames(*topic, PointsOf(*topic, "", {}));
    const bool has_files = topic->name != "read";
    if (has_files) {
      EXPECT_NO_THROW(CheckPoints(*topic, PointsOf(*topic, "", {}))) << topic->name;
    }
    for (const Suite& suite : topic->suites) {
      const std::vector<Point> points = PointsOf(*topic, suite.name, {{"threads", {"1"}}});
      ExpectDistinctNames(*topic, points);
      if (has_files) {
        EXPECT_NO_THROW(CheckPoints(*topic, points)) << topic->name << suite.name;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::bench
