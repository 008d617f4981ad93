#include "serve/versions/version_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/testing/error_of.h"

namespace tessera::serve {
namespace {

using tessera::testing::ErrorOf;
using ::testing::ElementsAre;

const std::vector<VersionFolder> kThere = {{2, "m/2"}, {3, "m/3"}, {5, "m/5"}};

std::vector<int64_t> Chosen(const std::string& policy,
                            const std::vector<VersionFolder>& there = kThere) {
  std::vector<int64_t> numbers;
  for (const VersionFolder& version : ChosenVersions(ParseVersionPolicy(policy), there, "m"))
    numbers.push_back(version.number);
  return numbers;
}

TEST(VersionPolicy, NamesTheNewestOrNumbers) {
  EXPECT_THAT(Chosen("latest"), ElementsAre(5));
  EXPECT_THAT(Chosen("latest:2"), ElementsAre(3, 5));
  EXPECT_THAT(Chosen("latest:9"), ElementsAre(2, 3, 5));
  EXPECT_THAT(Chosen("3"), ElementsAre(3));
  EXPECT_THAT(Chosen("5,2"), ElementsAre(2, 5));
  EXPECT_THAT(Chosen("4,2"), ElementsAre(2));  // 4 is not there any more
}

TEST(VersionPolicy, OtherTextsAreRefused) {
  for (const char* text : {"", "latest:", "latest:0", "latestx", "newest", "0", "-1", "3,", ",3",
                           "3,3", "3 ", "latest,3"})
    EXPECT_EQ(
        ErrorOf([&] { ParseVersionPolicy(text); }),
        "versions '" + std::string(text) + "': expected latest, latest:N or numbers such as 3,4");
}

TEST(VersionPolicy, SaysWhichVersionsAreThere) {
  EXPECT_EQ(ErrorOf([] { CheckAreThere(ParseVersionPolicy("3,4"), kThere, "m"); }),
            "m: there is no version 4, but 2, 3, 5");
  CheckAreThere(ParseVersionPolicy("3,5"), kThere, "m");
  EXPECT_EQ(ErrorOf([] { Chosen("4"); }), "m: no version is left to answer: there is 2, 3, 5");
  EXPECT_EQ(ErrorOf([] { Chosen("latest", {}); }),
            "m: no version is left to answer: there is none at all");
}

}  // namespace
}  // namespace tessera::serve
