#include "planner/model/placement_rules_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/check.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(PlacementRulesJsonTest, ReadsEveryField) {
  const PlacementRules rules = PlacementRulesFromJson(
      R"({"tessera_placement_rules": 1, "together": [["a", "b"], ["c", "d", "e"]],
          "apart": [["a", "c"]], "rank_caps": [{"rank": 3, "hbm": 5}, {"rank": 0, "ddr": 7}]})",
      "rules.json");
  EXPECT_THAT(rules.together, ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "d", "e")));
  EXPECT_THAT(rules.apart, ElementsAre(ElementsAre("a", "c")));
  ASSERT_EQ(rules.rank_caps.size(), 2u);
  EXPECT_EQ(rules.rank_caps[0].rank, 3);
  EXPECT_EQ(rules.rank_caps[0].hbm, 5);
  EXPECT_EQ(rules.rank_caps[1].ddr, 7);
  EXPECT_TRUE(PlacementRulesFromJson(R"({"tessera_placement_rules": 1})", "r").empty());
}

TEST(PlacementRulesJsonTest, NamesFileAndField) {
  const auto expect = [](const std::string& text, const std::string& said) {
    EXPECT_THAT([&] { PlacementRulesFromJson(text, "rules.json"); },
                ThrowsMessage<Error>(AllOf(HasSubstr("rules.json"), HasSubstr(said))))
        << text;
  };
  expect("{}", "tessera_placement_rules");
  expect(R"({"tessera_placement_rules": 2})", "tessera_placement_rules");
  expect(R"({"tessera_placement_rules": 1, "together": "a"})", "together");
  expect(R"({"tessera_placement_rules": 1, "apart": [["a"], [1]]})", "apart[1]");
  expect(R"({"tessera_placement_rules": 1, "rank_caps": [{"hbm": 1}]})", "rank_caps[0].rank");
  expect(R"({"tessera_placement_rules": 1, "rank_caps": [{"rank": -1}]})", "rank_caps[0].rank");
  expect(R"({"tessera_placement_rules": 1, "near": []})", "near");
  expect("[", "rules.json");
}

}  // namespace
}  // namespace tessera
