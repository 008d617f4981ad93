#include "bench/harness/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/error_of.h"

namespace tessera::bench {
namespace {

using tessera::testing::ErrorOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Topic FakeTopic() {
  return {.name = "fake",
          .help = "",
          .limit = "",
          .axes = {{"dim", {"16", "64"}, "", WholeFrom(1)},
                   {"skew", {"uniform"}, ""},
                   {"rows", {"1M", "2M"}, ""}},
          .suites = {{"pair", "", {Point("wide", {{"dim", "256"}}), Point("plain", {})}},
                     {"calls", "", {Point("call", {{"threads", "1"}})}}},
          .make = {}};
}

// "label/threads" of each.
std::vector<std::string> Names(const std::vector<Point>& points) {
  std::vector<std::string> names;
  for (const Point& point : points) names.push_back(point.label() + "/" + point.Text("threads"));
  return names;
}

TEST(PointsOfTest, AreTheProductOfTheAxes) {
  const std::vector<Point> points = PointsOf(FakeTopic(), "", {{"threads", {"1", "2"}}});
  EXPECT_THAT(Names(points), ElementsAre("dim=16,rows=1M/1", "dim=16,rows=1M/2", "dim=16,rows=2M/1",
                                         "dim=16,rows=2M/2", "dim=64,rows=1M/1", "dim=64,rows=1M/2",
                                         "dim=64,rows=2M/1", "dim=64,rows=2M/2"));
  EXPECT_EQ(points[3].Text("skew"), "uniform");
  EXPECT_EQ(points[3].Text("rows"), "2M");
}

TEST(PointsOfTest, LabelsNameWhatIsNotAsItWouldBe) {
  const AxisValues flags = {{"dim", {"32"}}, {"rows", {"1k"}}, {"threads", {"3"}}};
  EXPECT_THAT(Names(PointsOf(FakeTopic(), "", flags)), ElementsAre("dim=32,rows=1k/3"));
  Topic topic = FakeTopic();
  topic.axes = {{"skew", {"uniform"}, ""}};
  EXPECT_THAT(Names(PointsOf(topic, "", {{"threads", {"1"}}})), ElementsAre("default/1"));
}

TEST(PointsOfTest, FillsASuitesPointsUp) {
  const std::vector<Point> points =
      PointsOf(FakeTopic(), "pair", {{"threads", {"1", "2"}}, {"rows", {"5"}}});
  EXPECT_THAT(Names(points), ElementsAre("wide/1", "wide/2", "plain/1", "plain/2"));
  EXPECT_EQ(points[0].Int("dim"), 256);
  EXPECT_EQ(points[2].Int("dim"), 16);
  EXPECT_EQ(points[2].Int("rows"), 5);
}

TEST(PointsOfTest, ASuitesPointKeepsItsThreads) {
  EXPECT_THAT(Names(PointsOf(FakeTopic(), "calls", {{"threads", {"2"}}})), ElementsAre("call/1"));
}

TEST(PointsOfTest, ATopicMayHaveThreadsOfItsOwn) {
  Topic topic = FakeTopic();
  topic.axes = {{"threads", {"1", "3"}, "threads of a rank"}};
  EXPECT_THAT(Names(PointsOf(topic, "", {})), ElementsAre("default/1", "default/3"));
  EXPECT_EQ(AxesOf(topic).back().help, "threads of a rank");
}

TEST(PointsOfTest, CachesRepeatCasesAndAreNamedWhereTheyDiffer) {
  const AxisValues both = {{"dim", {"16"}}, {"rows", {"1M"}}, {"caches", {"cold", "warm"}}};
  EXPECT_THAT(Names(PointsOf(FakeTopic(), "calls", {{"caches", {"cold", "warm"}}})),
              ElementsAre("call,caches=cold/1", "call,caches=warm/1"));
  AxisValues flags = both;
  flags["threads"] = {"1"};
  const std::vector<Point> points = PointsOf(FakeTopic(), "", flags);
  EXPECT_THAT(Names(points), ElementsAre("dim=16,rows=1M,caches=cold/1",  //
                                         "dim=16,rows=1M,caches=warm/1"));
  EXPECT_TRUE(StartsCold(FakeTopic(), points[0]));
  EXPECT_FALSE(StartsCold(FakeTopic(), points[1]));
  EXPECT_THAT(Names(PointsOf(FakeTopic(), "calls", {{"caches", {"warm"}}})), ElementsAre("call/1"));
  EXPECT_THAT(ErrorOf([] {
                PointsOf(FakeTopic(), "", {{"caches", {"hot"}}});
              }),
              HasSubstr("--caches: expected one of auto, cold, warm; got 'hot'"));
}

TEST(CachesOfTest, SaysWhatIsKnownBeforePointsAreMade) {
  Topic topic = FakeTopic();
  const auto caches_of = [&](const std::vector<std::string>& values) {
    return CachesOf(topic, PointsOf(topic, "", {{"caches", values}}));
  };
  EXPECT_EQ(caches_of({"auto"}), "cold caches");
  EXPECT_EQ(caches_of({"cold", "warm"}), "cold and warm caches");
  topic.small_calls = "calls of at most 3 ids";
  topic.may_be_small = [](const Point& point) { return point.Text("dim") == "64"; };
  EXPECT_EQ(caches_of({"auto"}), "cold caches, warm for calls of at most 3 ids");
  EXPECT_EQ(caches_of({"cold"}), "cold caches");
  EXPECT_THAT(AxesOf(topic)[3].help, HasSubstr("auto (cold, but warm for calls of at most 3 ids)"));
  topic.may_be_small = [](const Point&) { return false; };
  EXPECT_EQ(caches_of({"auto"}), "cold caches");
}

TEST(PointsOfTest, RefusesWithOneSentence) {
  EXPECT_EQ(ErrorOf([] { PointsOf(FakeTopic(), "other", {}); }),
            "fake: no suite 'other': expected pair or calls");
  EXPECT_THAT(ErrorOf([] {
                PointsOf(FakeTopic(), "", {{"dim", {"16", "no"}}});
              }),
              HasSubstr("--dim: expected a number such as"));
  EXPECT_EQ(ErrorOf([] {
              PointsOf(FakeTopic(), "pair", {{"dim", {"32"}}});
            }),
            "--dim: wide of the suite sets it itself");
  EXPECT_EQ(ErrorOf([] {
              PointsOf(FakeTopic(), "pair", {{"rows", {"1", "2"}}});
            }),
            "--rows: a suite's cases take one value");
  EXPECT_EQ(ErrorOf([] {
              PointsOf(FakeTopic(), "", {{"dim", {"16", "64", "16"}}});
            }),
            "--dim: 16 is given twice");
  Topic topic = FakeTopic();
  topic.suites[0].points.push_back(Point("odd", {{"width", "3"}}));
  EXPECT_EQ(ErrorOf([&] { PointsOf(topic, "pair", {}); }),
            "odd of the suite: the topic has no axis 'width'");
}

TEST(OnlyMatchingTest, FindsAnywhere) {
  const std::vector<Point> points = PointsOf(FakeTopic(), "", {{"threads", {"1"}}});
  EXPECT_EQ(OnlyMatching(FakeTopic(), points, "").size(), 4u);
  EXPECT_THAT(Names(OnlyMatching(FakeTopic(), points, "rows=2M")),
              ElementsAre("dim=16,rows=2M/1", "dim=64,rows=2M/1"));
  EXPECT_THAT(Names(OnlyMatching(FakeTopic(), points, "^dim=16,rows=1M$")),
              ElementsAre("dim=16,rows=1M/1"));
  EXPECT_EQ(NameOf(FakeTopic(), points[0]), FakeTopic().name + "/dim=16,rows=1M/1t");
  EXPECT_THAT(Names(OnlyMatching(FakeTopic(), points, "^" + NameOf(FakeTopic(), points[1]) + "$")),
              ElementsAre(points[1].label() + "/1"));
  EXPECT_THAT(ErrorOf([&] { OnlyMatching(FakeTopic(), points, "nothing"); }),
              HasSubstr("'nothing' matches none of 4 cases"));
  EXPECT_THAT(ErrorOf([&] { OnlyMatching(FakeTopic(), points, "("); }),
              HasSubstr("no regular expression"));
}

TEST(ListOfNamesTest, Reads) {
  EXPECT_EQ(ListOfNames({"a"}), "a");
  EXPECT_EQ(ListOfNames({"a", "b", "c"}), "a, b or c");
}

TEST(OnlyTheseTest, MatchesThePointsOfTheseLabelsAlone) {
  std::vector<Point> points;
  for (const char* label :
       {"skew=zipf:1.05", "skew=zipf:1705", "skew=zipf:1.05,dim=16", "a(b)|c*", "a{2}^[x]\\$", "b"})
    points.push_back(Point(label, {{"threads", "1"}}));
  const std::set<std::string> labels = {"skew=zipf:1.05", "a(b)|c*", "a{2}^[x]\\$"};
  EXPECT_THAT(Names(OnlyMatching(FakeTopic(), points, OnlyThese(labels))),
              ElementsAre("skew=zipf:1.05/1", "a(b)|c*/1", "a{2}^[x]\\$/1"));
}

}  // namespace
}  // namespace tessera::bench
