#include "runtime/json/json_fields.h"

#include <gtest/gtest.h>

#include "tests/testing/error_of.h"

namespace tessera::internal {
namespace {

using tessera::testing::ErrorOf;

TEST(Lists, AreWhatTheErrorSaysWhereAndWhatCame) {
  const Json json = ParseJson(R"({"list": [1, 2], "word": "x", "null": null})");
  JsonObject object(json, "runs[3]");
  EXPECT_EQ(RequireList(object, "list").size(), 2u);
  EXPECT_EQ(ErrorOf([&] { RequireList(object, "word"); }),
            "runs[3].word: expected a list, got \"x\"");
  EXPECT_EQ(ErrorOf([&] { RequireList(object, "absent"); }),
            ErrorOf([&] { object.Require("absent"); }));
  EXPECT_EQ(ErrorOf([&] { RequireList(json["word"], "at", "a list of pairs"); }),
            "at: expected a list of pairs, got \"x\"");
  EXPECT_EQ(FindList(object, "absent"), nullptr);
  EXPECT_EQ(FindList(object, "null"), nullptr);
  EXPECT_EQ(FindList(object, "list"), &json["list"]);
  EXPECT_EQ(ErrorOf([&] { FindList(object, "word"); }), "runs[3].word: expected a list, got \"x\"");
}

TEST(Lists, GiveTheirElementsWithTheirPlaces) {
  const Json json = ParseJson(R"({"list": [1, 2], "word": 7})");
  JsonObject object(json, "");
  std::string seen;
  const auto see = [&](const Json& element, const std::string& where) {
    seen += Format("{}={} ", where, element.get<int>());
  };
  ForEachElement(object, "list", see);
  ForEachElement(json["list"], "other", see);
  EXPECT_EQ(seen, "list[0]=1 list[1]=2 other[0]=1 other[1]=2 ");
  EXPECT_EQ(ErrorOf([&] { ForEachElement(object, "word", see); }), "word: expected a list, got 7");
}

}  // namespace
}  // namespace tessera::internal
