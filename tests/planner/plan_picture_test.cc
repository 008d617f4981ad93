#include "planner/plan_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::HasSubstr;

int Count(const std::string& text, const std::string& what) {
  int count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

PlannerModel Model() {
  PlannerModel model;
  model.modules = {{.path = "sparse<ebc>"}};
  model.tables = {{.name = "users", .rows = 1000, .dim = 16},
                  {.name = "items", .rows = 10, .dim = 8}};
  return model;
}

PlacedOption Placed(int table, ShardingType type, std::vector<int> ranks, double ms) {
  PlacedOption placed;
  placed.option.table = table;
  placed.option.type = type;
  placed.option.shards = {{.count = static_cast<int64_t>(ranks.size()),
                           .rows = 500,
                           .columns = 16,
                           .perf = {.fwd_compute = ms, .bwd_comms = ms / 2},
                           .storage = {.hbm = int64_t{3} << 30}}};
  placed.ranks = std::move(ranks);
  return placed;
}

// With 1 GiB of dense parameters and half a GiB of batches on each rank.
std::string Picture(const Topology& topology, const std::vector<PlacedOption>& plan,
                    const PlanPictureOptions& options) {
  const ReservedMemory reserved{
      .capacity = {}, .dense_bytes = int64_t{1} << 30, .kjt_bytes = int64_t{1} << 29};
  return PlanPicture(topology, Model(), plan, ComputeStats(topology, Model(), plan, reserved),
                     options);
}

TEST(PlanPictureTest, ShowsRanksAndTables) {
  const Topology topology{.world_size = 3, .local_world_size = 3, .hbm_cap = int64_t{5} << 30};
  const std::string html = Picture(topology,
                                   {Placed(0, ShardingType::kRowWise, {0, 1, 2}, 2),
                                    Placed(1, ShardingType::kTableWise, {1}, 4)},
                                   {.title = "of <two> tables", .lower_bound = 5});
  EXPECT_THAT(html, HasSubstr("<h1>of &lt;two&gt; tables</h1>"));
  EXPECT_THAT(
      html,
      HasSubstr("<td>sparse&lt;ebc&gt;.users<td>1000<td>16<td>row_wise<td>fused<td>3<td>0-2"));
  EXPECT_THAT(html, HasSubstr("<td>table_wise<td>fused<td>1<td>1<td>6<td>3</tr>"));
  EXPECT_THAT(html, HasSubstr("<title>rank 1\nforward compute: 6 ms"));
  EXPECT_THAT(html, HasSubstr("lower bound (5 ms)"));
  EXPECT_THAT(html, HasSubstr("<h2>Memory, with the dense part and batches of ids, GiB</h2>"));
  EXPECT_THAT(html, HasSubstr("<title>rank 0\nHBM: 4.5 GiB</title>"));
  EXPECT_THAT(html, HasSubstr("<title>rank 1\nHBM: 7.5 GiB"));
  EXPECT_THAT(html, HasSubstr("HBM of a rank (5 GiB)"));
  EXPECT_EQ(Count(html, "class=limit"), 2);
  EXPECT_EQ(Count(html, "<svg"), Count(html, "</svg>"));
}

TEST(PlanPictureTest, ManyRanksShareBarsAndADistantCapIsOnlyNamed) {
  const Topology topology{.world_size = 1000, .local_world_size = 8};
  std::vector<int> ranks(1000);
  for (int r = 0; r < 1000; ++r) ranks[static_cast<size_t>(r)] = r;
  const std::string html = Picture(
      topology,
      {Placed(0, ShardingType::kRowWise, ranks, 1), Placed(1, ShardingType::kTableWise, {777}, 4)},
      {});
  EXPECT_LE(Count(html, "<g>"), 2 * kMaxBars);
  EXPECT_THAT(html, HasSubstr("rank 999"));
  EXPECT_THAT(html, HasSubstr("HBM of a rank (32 GiB)"));
  EXPECT_EQ(Count(html, "class=limit"), 0);
}

}  // namespace
}  // namespace tessera
