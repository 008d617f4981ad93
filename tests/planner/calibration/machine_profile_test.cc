#include "planner/step_model/machine_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/calibration/machine_profile_json.h"
#include "runtime/base/check.h"
#include "tests/planner/testing/made_up_profile.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using testing::MadeUpProfile;

std::string MessageOf(const std::string& json) {
  try {
    MachineProfileFromJson(json, "topology.json: profile");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string With(const std::string& from, const std::string& to) {
  std::string json = MachineProfileToJson(MadeUpProfile());
  const size_t at = json.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << json;
  return json.replace(at, from.size(), to);
}

TEST(MachineProfileJson, GoesRound) {
  const MachineProfile profile = MadeUpProfile();
  EXPECT_EQ(MachineProfileFromJson(MachineProfileToJson(profile), ""), profile);
  EXPECT_EQ(MachineProfileFromJson(MachineProfileToJson(MachineProfile{}), ""), MachineProfile{});
}

TEST(MachineProfileJson, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(MessageOf("{"), HasSubstr("topology.json: profile: "));
  EXPECT_THAT(MessageOf(With("\"tessera_profile\":1", "\"tessera_profile\":9")),
              HasSubstr("reads version 1, got 9"));
  EXPECT_THAT(MessageOf(With("\"ranks\":4", "\"ranks\":0")), HasSubstr("ranks: expected"));
  EXPECT_THAT(MessageOf(With("\"call\":1e-06", "\"call\":-1")), HasSubstr("lookup.call: expected"));
  EXPECT_THAT(MessageOf(With("\"table\":0.0001", "\"table\":-1")),
              HasSubstr("tiers.fused_uvm_caching.table: expected a number, at least 0"));
  const std::string older = R"("kernels":{},"disk_row":1e-06)";
  const std::string text = MachineProfileToJson(MadeUpProfile());
  const size_t begin = text.find("\"tiers\""), end = text.find("}}", begin) + 2;
  const std::string old_profile = text.substr(0, begin) + older + text.substr(end);
  EXPECT_EQ(MachineProfileFromJson(old_profile, "").tiers.at(ComputeKernel::kKeyValue).row, 1e-6);
  EXPECT_THAT(
      MessageOf(std::string(old_profile).replace(old_profile.find("\"cpu\""), 5, "\"cuda\"")),
      HasSubstr("tiers: expected prices of tables in host memory and on disk"));
  EXPECT_THAT(MessageOf(With("[64.0,4e-09]", "[64.0]")), HasSubstr("lookup.bag[0]: expected"));
  EXPECT_THAT(MessageOf(With("[256.0,6e-09]", "[64.0,6e-09]")),
              HasSubstr("lookup.bag[1][0]: expected a number above 64"));
  EXPECT_THAT(MessageOf(With("\"f16\"", "\"f15\"")), HasSubstr("lookup.rows.f15"));
  EXPECT_THAT(MessageOf(With("\"all_gather\"", "\"gather\"")),
              HasSubstr("expected one of numbers, all_to_all, all_gather, all_reduce"));
  EXPECT_THAT(MessageOf(With("\"moved_id\"", "\"moved\"")), HasSubstr("input_dist"));
  EXPECT_THAT(MessageOf(With("\"dense\"", "\"desne\"")), HasSubstr("dense"));
}

TEST(CollectiveSeconds, TakesTheNearestNumberOfRanks) {
  const MachineProfile p = MadeUpProfile();
  const auto seconds = [&](int ranks, double bytes) {
    return CollectiveSeconds(p, CollectiveOp::kAllToAll, ranks, bytes);
  };
  EXPECT_EQ(seconds(1, 1e6), 0);
  EXPECT_DOUBLE_EQ(seconds(2, 0), 2e-5);
  EXPECT_DOUBLE_EQ(seconds(2, 1e6), 2e-5 + 1e-3);
  EXPECT_DOUBLE_EQ(seconds(4, 0), 4e-5);
  // Ten ranks have nine others, not three.
  EXPECT_DOUBLE_EQ(seconds(10, 0), 3 * 4e-5);
  EXPECT_GT(CollectiveSlope(p, CollectiveOp::kAllToAll, 10), 0);
  EXPECT_EQ(CollectiveSeconds({}, CollectiveOp::kAllToAll, 4, 1e6), 0);
}

TEST(CollectiveSeconds, LinksOfNodesTakeAsLongAsAnyWhereTheyWereNotMeasured) {
  MachineProfile p = MadeUpProfile();
  EXPECT_DOUBLE_EQ(CollectiveSeconds(p, CollectiveOp::kAllToAllInside, 2, 1e6), 2e-5 + 1e-3);
  p.collectives.push_back({CollectiveOp::kAllToAllInside, 2, {{4096, 1e-6}, {1e6, 1e-5}}});
  EXPECT_DOUBLE_EQ(CollectiveSeconds(p, CollectiveOp::kAllToAllInside, 2, 1e6), 1e-5);
  EXPECT_DOUBLE_EQ(CollectiveSeconds(p, CollectiveOp::kAllToAllBetween, 2, 1e6), 2e-5 + 1e-3);
  EXPECT_EQ(MachineProfileFromJson(MachineProfileToJson(p), "").collectives, p.collectives);
}

TEST(OverheadOf, TakesTheNearestNumberOfRanks) {
  EXPECT_EQ(OverheadOf(MadeUpProfile(), 8).factor, 1.2);
  EXPECT_EQ(OverheadOf(MadeUpProfile(), 1).factor, 1.1);
  EXPECT_EQ(OverheadOf({}, 2).factor, 1);
}

TEST(OverheadOf, OlderProfilesHaveOneFactorForTablesAndLayers) {
  std::string json = MachineProfileToJson(MadeUpProfile());
  EXPECT_EQ(MachineProfileFromJson(json, "").steps, MadeUpProfile().steps);
  const std::string newer = "\"dense_factor\":1.05";
  const size_t at = json.find(newer);
  ASSERT_NE(at, std::string::npos) << json;
  json.erase(at - 1, newer.size() + 1);
  EXPECT_EQ(OverheadOf(MachineProfileFromJson(json, ""), 2).dense_factor, 1.1);
  EXPECT_EQ(OverheadOf(MachineProfileFromJson(json, ""), 4).dense_factor, 1.1);
}

}  // namespace
}  // namespace tessera
