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

TEST(VersionPolicy, ReadsSharesAndSpreadsThem) {
  const TrafficShare share = ParseTrafficShare("12:7", "--canary");
  EXPECT_EQ(share.version, 12);
  EXPECT_EQ(share.percent, 7);
  for (const char* text : {"", "5", "5:", ":5", "5:0", "5:101", "0:5", "5:5x", "x:5", "5:5:5"})
    EXPECT_EQ(ErrorOf([&] { ParseTrafficShare(text, "--canary"); }),
              "--canary " + std::string(text) +
                  ": expected a version and 1 to 100 percent, such as 5:10 for 10 percent");
  for (const int percent : {1, 7, 50, 99, 100}) {
    ShareCounter counter(percent);
    std::vector<int> of_tenth(10);
    for (int i = 0; i < 1000; ++i) of_tenth[static_cast<size_t>(i / 10 % 10)] += counter.Next();
    int all = 0;
    for (const int tenth : of_tenth) {
      EXPECT_NEAR(tenth, percent, 10) << percent;
      all += tenth;
    }
    EXPECT_EQ(all, 10 * percent);
  }
}

TEST(VersionPolicy, SharesAreOfVersionsThatAreNamed) {
  const auto error = [](const std::string& versions, TrafficShare canary, TrafficShare shadow) {
    VersionPolicy policy = ParseVersionPolicy(versions);
    policy.canary = canary;
    policy.shadow = shadow;
    return ErrorOf([&] { CheckShares(policy, kThere, "m"); });
  };
  EXPECT_EQ(error("3,5", {5, 10}, {}), "");
  EXPECT_EQ(error("2,3,5", {5, 10}, {3, 100}), "");
  constexpr char kNumbers[] =
      "--canary 5:10: expected --versions with the numbers of this version and of one that answers "
      "the other requests, such as --versions 3,5";
  EXPECT_EQ(error("latest:2", {5, 10}, {}), kNumbers);
  EXPECT_EQ(error("3,4", {5, 10}, {}), kNumbers);
  EXPECT_EQ(error("5", {5, 10}, {}), kNumbers);
  EXPECT_EQ(error("2,3", {4, 10}, {}), "--canary 4:10: m: there is no version 4, but 2, 3, 5");
  EXPECT_EQ(error("3,5", {5, 10}, {3, 100}),
            "--canary 5:10 beside --shadow 3:100: no version of --versions 3,5 answers the other "
            "requests: name a third one, or leave one of these flags out");
  EXPECT_EQ(error("3,5", {5, 10}, {5, 100}),
            "version 5 is the --canary and the --shadow; expected two versions");
}

TEST(VersionPolicy, SaysWhichVersionsAreThere) {
  EXPECT_EQ(ErrorOf([] { CheckAreThere(ParseVersionPolicy("3,4"), kThere, "m"); }),
            "m: there is no version 4, but 2, 3, 5");
  CheckAreThere(ParseVersionPolicy("3,5"), kThere, "m");
  EXPECT_EQ(ErrorOf([] { Chosen("4"); }),
            "m: none of the versions that --versions names is there any more, but 2, 3, 5");
  EXPECT_EQ(ErrorOf([] { Chosen("latest", {}); }), "m: no version is in this folder any more");
}

TEST(VersionPolicy, AVersionGoesByTheNumbersOfItsDeltas) {
  const std::vector<VersionFolder> there = {{1, "m/1"}, {2, "m/2", 4}, {5, "m/5", 6}};
  VersionPolicy given = ParseVersionPolicy("4,6");
  given.canary = {.version = 6, .percent = 10};
  const VersionPolicy found = ByFolders(given, there);
  EXPECT_THAT(found.numbers, ElementsAre(2, 5));
  EXPECT_EQ(found.canary.version, 5);
  CheckShares(given, there, "m");
  CheckAreThere(given, there, "m");
  EXPECT_EQ(ErrorOf([&] { CheckAreThere(ParseVersionPolicy("2,7"), there, "m"); }),
            "m: there is no version 7, but 1, 2 with deltas to 4, 5 with deltas to 6");
  EXPECT_EQ(ErrorOf([&] { CheckAreThere(ParseVersionPolicy("2,3"), there, "m"); }),
            "m: 2 and 3 are one version, 2 with deltas to 4: name it once");
}

TEST(VersionPolicy, AShareOfTheOnlyVersionIsRefused) {
  VersionPolicy policy = ParseVersionPolicy("1");
  policy.canary = {.version = 1, .percent = 10};
  EXPECT_EQ(ErrorOf([&] {
              CheckShares(policy, {{1, "m/1"}}, "m");
            }),
            "--canary 1:10: m has no other version, which would answer the other requests: leave "
            "this flag out until tessera quantize has written one");
  EXPECT_EQ(ErrorOf([&] { CheckShares(policy, {}, "m"); }),
            "--canary 1:10: m is no folder of versions (tessera quantize --keep makes one)");
}

}  // namespace
}  // namespace tessera::serve
