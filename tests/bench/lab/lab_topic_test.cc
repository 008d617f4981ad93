// Every variant of the lab gives the reference's result, on shapes with empty, short and long bags
// and with hot rows, and each contender can be timed.
#include "bench/lab/lab_topic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "bench/lab/lookup_variants.h"
#include "bench/lab/update_variants.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

// The topic's point with these values; the others are small.
Point LabPoint(std::map<std::string, std::string> values) {
  values.insert({{"rows", "3k"}, {"tables", "3"}, {"batch", "300"}});
  std::vector<std::pair<std::string, std::string>> all;
  for (const Axis& axis : LabTopic().axes) {
    const auto found = values.find(axis.name);
    all.emplace_back(axis.name, found == values.end() ? axis.values[0] : found->second);
    if (axis.check) axis.check(all.back().second);
  }
  return Point("", all);
}

void CheckAndRun(const std::map<std::string, std::string>& values, size_t contenders) {
  Context ctx({.threads = 2, .seed = 3});
  const Work work = LabTopic().make(ctx, LabPoint(values));
  ASSERT_EQ(work.contenders.size(), contenders);
  EXPECT_EQ(work.contenders[0].name, "tessera");
  work.check();
  for (const Contender& contender : work.contenders) contender.run(1);
  work.limit.run(1);
}

TEST(LabTopic, EveryLookupVariantIsRight) {
  for (const std::string dim : {"16", "32", "64", "128", "256"})
    for (const std::string pooling : {"1", "range:0-9", "70"})
      CheckAndRun({{"dim", dim}, {"pooling", pooling}}, 1 + LookupVariants().size());
}

TEST(LabTopic, EveryUpdateVariantIsRight) {
  for (const std::string rule : {"sgd", "rowwise_adagrad"})
    for (const std::string skew : {"uniform", "zipf:1.2"})
      CheckAndRun({{"kernel", "update"}, {"rule", rule}, {"dim", "32"}, {"skew", skew}},
                  1 + UpdateVariants().size());
}

TEST(LabTopic, VariantsAreChosenByName) {
  CheckAndRun({{"variants", "plain+two_bags"}}, 3);
  EXPECT_THAT(
      [] {
        LabPoint({{"variants", "plain+none_such"}});
      },
      testing::ThrowsMessage<Error>(testing::HasSubstr("none_such")));
}

TEST(LabTopic, ShapesThatVariantsDoNotTakeAreErrors) {
  Context ctx({.threads = 1});
  EXPECT_THAT(
      [&] {
        LabTopic().make(ctx, LabPoint({{"dim", "20"}}));
      },
      testing::ThrowsMessage<Error>(testing::HasSubstr("got 20")));
  EXPECT_THAT(
      [&] {
        LabTopic().make(ctx, LabPoint({{"mode", "mean"}}));
      },
      testing::ThrowsMessage<Error>(testing::HasSubstr("--mode sum")));
}

}  // namespace
}  // namespace tessera::bench
