// Every variant of the lab gives the library's bits on every shape that it takes, and each
// contender can be timed. Every second combination of flags is tried, or all of them where
// TESSERA_TEST_ALL is set.
#include "bench/lab/lab_topic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iterator>
#include <map>
#include <utility>

#include "bench/lab/lookup_variant.h"
#include "bench/lab/update_variant.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"

namespace tessera::bench {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

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

bool IsTried(size_t combination) {
  return combination % 2 == 0 || std::getenv("TESSERA_TEST_ALL") != nullptr;
}

TEST(LabTopic, VariantsAreKnownByTheirFilesAlone) {
  std::vector<std::string> names;
  for (const auto& variant : RegisteredVariants<LookupVariant>()) names.push_back(variant.name);
  for (const auto& variant : RegisteredVariants<UpdateVariant>()) names.push_back(variant.name);
  for (const char* name :
       {"plain", "policies", "stable_sort", "sort_keys", "hash_map", "four_bytes"})
    EXPECT_THAT(names, Contains(name));
}

TEST(LabTopic, EveryLookupVariantIsRight) {
  const size_t contenders = 1 + RegisteredVariants<LookupVariant>().size();
  for (const std::string dim : {"16", "32", "64", "128", "256"})
    CheckAndRun({{"dim", dim}, {"pooling", "range:0-9"}}, contenders);
  for (const std::string pooling : {"1", "70"}) CheckAndRun({{"pooling", pooling}}, contenders);
}

TEST(LabTopic, EveryParameterIsRight) {
  for (const std::string ahead : {"0", "3", "1000"})
    for (const std::string into : {"l1", "l2"})
      CheckAndRun({{"variants", "policies"}, {"ahead", ahead}, {"into", into}}, 2);
  for (const std::string stores : {"past", "through"})
    for (const std::string bags : {"1", "2"})
      CheckAndRun({{"variants", "policies"}, {"stores", stores}, {"bags", bags}}, 2);
}

TEST(LabTopic, EveryUpdateVariantIsRight) {
  const std::pair<const char*, const char*> cases[] = {{"sgd", "zipf:1.2"},
                                                       {"sgd", "uniform"},
                                                       {"rowwise_adagrad", "uniform"},
                                                       {"rowwise_adagrad", "zipf:1.2"}};
  for (size_t i = 0; i < std::size(cases); ++i)
    if (IsTried(i))
      CheckAndRun({{"kernel", "update"},
                   {"rule", cases[i].first},
                   {"dim", "32"},
                   {"skew", cases[i].second}},
                  1 + RegisteredVariants<UpdateVariant>().size());
}

TEST(LabTopic, TakesEveryTypeDimAndPooling) {
  struct Case {
    std::string mode, weighted, rows, others, dim;
  };
  size_t combination = 0;
  for (const Case& c : {Case{"sum", "no", "f16", "bf16", "48"},
                        {"mean", "no", "bf16", "f16", "100"},
                        {"sum", "yes", "f32", "f32", "100"},
                        {"mean", "yes", "f16", "f32", "7"},
                        {"none", "no", "bf16", "bf16", "48"},
                        {"none", "no", "f32", "f16", "100"}}) {
    for (const std::string kernel : {"lookup", "update"})
      if (IsTried(combination++))
        CheckAndRun({{"kernel", kernel},
                     {"variants", kernel == "lookup" ? "plain" : "stable_sort"},
                     {"mode", c.mode},
                     {"weighted", c.weighted},
                     {"dim", c.dim},
                     {"row-type", c.rows},
                     {kernel == "lookup" ? "output-type" : "state-type", c.others}},
                    2);
    ++combination;  // the next case is tried with the other kernel
  }
}

TEST(LabTopic, VariantsAreChosenByName) {
  CheckAndRun({{"variants", "plain+policies"}}, 3);
  EXPECT_THAT(
      [] {
        LabPoint({{"variants", "plain+none_such"}});
      },
      ThrowsMessage<Error>(HasSubstr("none_such")));
}

TEST(LabTopic, AVariantThatDoesNotTakeAShapeIsSaidToBeLeftOut) {
  Context ctx({.threads = 1});
  const Work work = LabTopic().make(ctx, LabPoint({{"dim", "20"}}));
  EXPECT_THAT(work.notes, Contains("variant policies does not take --dim 20"));
  EXPECT_THAT(
      [&] {
        LabTopic().make(ctx, LabPoint({{"dim", "20"}, {"variants", "policies"}}));
      },
      ThrowsMessage<Error>(HasSubstr("policies does not take --dim 20")));
}

TEST(LabTopic, TakesTablesOfSeveralDims) {
  const auto with = [](const char* name, const char* text) {
    const std::string path = ::testing::TempDir() + "/" + name;
    ReplaceTextFile(path, text);
    return path;
  };
  const std::string tables = with("t.csv", "rows,dim\n300,16\n50,128\n7,64\n"),
                    odd = with("odd.csv", "rows,dim\n300,16\n50,20\n");
  CheckAndRun({{"tables", tables}}, 1 + RegisteredVariants<LookupVariant>().size());
  CheckAndRun({{"tables", odd}, {"kernel", "update"}},
              1 + RegisteredVariants<UpdateVariant>().size());
  Context ctx({.threads = 1});
  EXPECT_THAT(LabTopic().make(ctx, LabPoint({{"tables", odd}})).notes,
              Contains("variant policies does not take --dim 20"));
}

TEST(LabTopic, OptionsOfTheOtherKernelOrOfNoTimedVariantAreErrors) {
  Context ctx({.threads = 1});
  const auto refuses = [&](const std::map<std::string, std::string>& values, const char* text) {
    EXPECT_THAT([&] { LabTopic().make(ctx, LabPoint(values)); },
                ThrowsMessage<Error>(HasSubstr(text)));
  };
  refuses({{"variants", "hash_map"}}, "--variants hash_map with --kernel lookup");
  refuses({{"rule", "sgd"}}, "--rule sgd with --kernel lookup");
  refuses({{"variants", "plain"}, {"ahead", "3"}}, "--ahead 3: a parameter of variant policies");
  refuses({{"kernel", "update"}, {"ahead", "3"}}, "--ahead 3: a parameter of variant policies");
  EXPECT_THAT(
      [&] {
        LabTopic().make(ctx, LabPoint({{"state-type", "f16"}}));
      },
      ThrowsMessage<Error>(HasSubstr("--state-type f16 with --kernel lookup")));
  EXPECT_THAT(
      [&] {
        LabTopic().make(ctx, LabPoint({{"kernel", "update"}, {"output-type", "f16"}}));
      },
      ThrowsMessage<Error>(HasSubstr("--output-type f16 with --kernel update")));
}

}  // namespace
}  // namespace tessera::bench
