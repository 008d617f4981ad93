#include "planner/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/model/planner_error.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ErrorOf(const std::string& text) {
  try {
    ParseWhatIf(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

WhatIfAxis Axis(const std::string& text, const std::string& current) {
  WhatIfAxis axis = ParseWhatIf(text);
  SetCurrent(axis, current);
  return axis;
}

int64_t NumberIn(const WhatIfAxis& axis, size_t value) { return std::stoll(axis.values[value]); }

// A plan whose step takes 8 / ranks + ranks milliseconds and one more for 100 examples.
WhatIfPlan MadeUp(int64_t ranks, int64_t batch) {
  WhatIfPlan plan;
  plan.ranks = static_cast<int>(ranks);
  plan.batch = batch;
  plan.step_ms = 8.0 / plan.ranks + plan.ranks + static_cast<double>(batch) / 100;
  plan.bound_by = "compute";
  plan.most_hbm = int64_t{3} << 30;
  return plan;
}

WhatIf Explored(const std::vector<WhatIfAxis>& axes) {
  return ExploreWhatIf(axes, [&](const std::vector<size_t>& values) {
    const int64_t ranks = NumberIn(axes[0], values[0]), batch = NumberIn(axes[1], values[1]);
    if (ranks == 1)
      throw PlannerError(PlannerErrorKind::kInsufficientStorage, "no plan: <too> little; more");
    return MadeUp(ranks, batch);
  });
}

TEST(WhatIfTest, ReadsValuesInOneWayOfWriting) {
  EXPECT_THAT(ParseWhatIf("ranks=16,2,008").values, ElementsAre("2", "8", "16"));
  EXPECT_THAT(ParseWhatIf("hbm=80,0.50,40.0,1e2").values, ElementsAre("0.5", "40", "80", "100"));
  EXPECT_THAT(ParseWhatIf("codec=int8,fp16,fp16/bf16").values,
              ElementsAre("int8", "fp16", "fp16/bf16"));
  for (const char* key : {"ranks", "hbm", "ddr", "batch", "intra_bw", "inter_bw"})
    EXPECT_EQ(ToString(ParseWhatIf(std::string(key) + "=4").key), key);
}

TEST(WhatIfTest, SaysWhatIsWrongWithAFlag) {
  EXPECT_THAT(ErrorOf("ranks"), HasSubstr("ranks: expected KEY=V1,V2,…"));
  EXPECT_THAT(ErrorOf("cores=2"),
              HasSubstr("key 'cores': expected ranks, hbm, ddr, disk, batch, codec"));
  EXPECT_THAT(ErrorOf("ranks=2,4,hbm=40"), HasSubstr("'hbm=40': one flag is of one key"));
  EXPECT_THAT(ErrorOf("ranks=2,two"), HasSubstr("'two': expected a whole number from 1"));
  for (const char* text : {"ranks=0", "ranks=2.5", "ranks=-4", "ranks=", "ranks=2,,4", "batch=0",
                           "hbm=-1", "hbm=nan", "hbm=inf", "hbm=4GB", "inter_bw=0", "batch= 4"})
    EXPECT_THAT(ErrorOf(text), HasSubstr(": expected a")) << text;
  EXPECT_THAT(ErrorOf("codec=fp17"), HasSubstr("codec: "));
  EXPECT_THAT(ErrorOf("hbm=40,80,40.0"), HasSubstr("hbm: 40 is given twice"));
}

TEST(WhatIfTest, TheCurrentValueIsOneOfAnAxis) {
  WhatIfAxis axis = Axis("ranks=2,16", "4");
  EXPECT_THAT(axis.values, ElementsAre("2", "4", "16"));
  EXPECT_EQ(axis.current, 1u);
  SetCurrent(axis, "16");
  EXPECT_THAT(axis.values, ElementsAre("2", "4", "16"));
  EXPECT_EQ(axis.current, 2u);
  axis = Axis("codec=int8,fp16", "fp32");
  EXPECT_THAT(axis.values, ElementsAre("fp32", "int8", "fp16"));
  EXPECT_EQ(axis.current, 0u);
  EXPECT_EQ(WhatIfNumber(31.304123), "31.3041");
}

TEST(WhatIfTest, ExploresEveryCombinationAndMarksTheCurrentOne) {
  std::vector<std::string> names;
  const std::vector<WhatIfAxis> axes = {Axis("ranks=1,4", "2"), Axis("batch=50", "100")};
  const WhatIf what_if = ExploreWhatIf(
      axes,
      [&](const std::vector<size_t>& values) {
        return MadeUp(NumberIn(axes[0], values[0]), NumberIn(axes[1], values[1]));
      },
      [&](const std::string& name, double) { names.push_back(name); });
  EXPECT_THAT(names, ElementsAre("ranks=1, batch=50", "ranks=1, batch=100", "ranks=2, batch=50",
                                 "ranks=2, batch=100", "ranks=4, batch=50", "ranks=4, batch=100"));
  EXPECT_EQ(what_if.current, 3u);
  EXPECT_EQ(what_if.points[4].plan->ranks, 4);
  EXPECT_EQ(what_if.points[4].plan->batch, 50);
}

TEST(WhatIfTest, CountsRowsAndCost) {
  const WhatIfPlan plan = MadeUp(4, 100);  // 7 ms
  EXPECT_DOUBLE_EQ(plan.rows_per_second(), 400 / 7e-3);
  EXPECT_NEAR(plan.rank_hours(), 1e9 / plan.rows_per_second() / 3600 * 4, 1e-9);
  EXPECT_EQ(WhatIfPlan().rows_per_second(), 0);
  EXPECT_EQ(WhatIfPlan().rank_hours(), 0);
}

TEST(WhatIfTest, NamesTheSingleChangeThatHelpsTheMost) {
  const WhatIf what_if = Explored({Axis("ranks=1,4,8", "2"), Axis("batch=50,200", "100")});
  const std::optional<size_t> change = BestChange(what_if);
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(NameOfPoint(what_if.axes, what_if.points[*change].values), "ranks=8, batch=100");
  EXPECT_EQ(ChangedAxis(what_if, *change), 0u);
  EXPECT_TRUE(Helps(what_if, *change));
  EXPECT_EQ(NameOfPoint(what_if.axes, what_if.points[*BestPoint(what_if)].values),
            "ranks=8, batch=200");
  // Two ranks with batches of 200 take 8 ms; four do, too.
  EXPECT_EQ(NameOfPoint(what_if.axes, what_if.points[*CheapestPoint(what_if)].values),
            "ranks=2, batch=200");
  EXPECT_FALSE(what_if.points[0].plan.has_value());
  EXPECT_EQ(what_if.points[0].why, "no plan: <too> little; more");
}

TEST(WhatIfTest, WhereNothingHelpsOrNothingFits) {
  const WhatIf best = Explored({Axis("ranks=2", "8"), Axis("batch=50", "200")});
  EXPECT_FALSE(Helps(best, *BestChange(best)));
  EXPECT_EQ(*BestPoint(best), best.current);
  const WhatIf none = Explored({Axis("ranks=1", "1"), Axis("batch=50", "200")});
  EXPECT_FALSE(BestChange(none).has_value());
  EXPECT_FALSE(BestPoint(none).has_value());
  // From where no plan fits, any plan helps.
  const WhatIf rescued = Explored({Axis("ranks=2", "1"), Axis("batch=50", "200")});
  ASSERT_TRUE(BestChange(rescued).has_value());
  EXPECT_TRUE(Helps(rescued, *BestChange(rescued)));
}

TEST(WhatIfTest, RefusesGridsThatAreNone) {
  std::string many = "ranks=1";
  for (int r = 2; r <= 130; ++r) many += "," + std::to_string(r);
  const auto check = [](const std::vector<std::string>& texts) -> std::string {
    std::vector<WhatIfAxis> axes;
    for (const std::string& text : texts) axes.push_back(ParseWhatIf(text));
    try {
      CheckWhatIf(axes);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(check({many}), "no error");
  EXPECT_THAT(check({many, "hbm=1,2"}), HasSubstr("the grid has 260 points, and at most 256"));
  EXPECT_THAT(check({"ranks=2", "hbm=1", "ranks=3"}), HasSubstr("ranks is given twice"));
}

TEST(WhatIfTest, OtherErrorsEndIt) {
  const auto fails = [](const std::vector<size_t>&) -> WhatIfPlan { throw Error("no such file"); };
  EXPECT_THROW(ExploreWhatIf({Axis("ranks=2", "4")}, fails), Error);
}

TEST(WhatIfTest, APictureHasABarForEachPoint) {
  const WhatIf what_if = Explored({Axis("ranks=1,4", "2"), Axis("batch=50", "100")});
  const std::string html = WhatIfPicture(what_if, "of <two> tables");
  EXPECT_THAT(html, HasSubstr("<h1>of &lt;two&gt; tables</h1>"));
  for (const char* title : {"Time of a step, ms", "Throughput of all ranks, rows/s",
                            "Memory of the fullest rank, GiB", "Cost of 10⁹ rows, rank-hours"})
    EXPECT_THAT(html, HasSubstr(title));
  EXPECT_THAT(html, HasSubstr("<title>1: ranks=1, batch=50\nno plan fits"));
  EXPECT_THAT(html, HasSubstr("<title>3: ranks=2, batch=50\nwhat if: 6.5 ms</title>"));
  EXPECT_THAT(html, HasSubstr("<title>4: ranks=2, batch=100\nnow: 7 ms</title>"));
  EXPECT_THAT(html, HasSubstr("<title>4: ranks=2, batch=100\nnow: 28,571 rows/s</title>"));
  EXPECT_THAT(html, HasSubstr("<td>4 (now)<td>2<td>100<td>100<td>7<td>"));
  EXPECT_THAT(html, HasSubstr("<td colspan=7>no plan: &lt;too&gt; little; more"));
  EXPECT_THAT(html, HasSubstr(">6</text>"));
  EXPECT_EQ(html, WhatIfPicture(what_if, "of <two> tables"));
}

}  // namespace
}  // namespace tessera
