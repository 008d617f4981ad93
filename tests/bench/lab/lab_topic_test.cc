// Every variant of the lab is right on every shape that it takes, and each contender can be timed.
// A part of the combinations of flags is tried, or all of them where TESSERA_TEST_ALL is set.
#include "bench/lab/lab_topic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <utility>

#include "bench/lab/kernel.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "tests/bench/lab/lab_point.h"

namespace tessera::bench {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

std::vector<std::string> ContenderNames(const Work& work) {
  std::vector<std::string> names;
  for (const Contender& contender : work.contenders) names.push_back(contender.name);
  return names;
}

// Returns the names of contenders.
std::vector<std::string> CheckAndRun(const Values& values) {
  Context ctx({.threads = 2, .seed = 3});
  const Work work = LabTopic().make(ctx, LabPoint(values));
  EXPECT_EQ(work.contenders[0].name, "tessera");
  for (const Contender& contender : work.contenders) {
    contender.check();
    if (contender.before) contender.before(1);
    contender.run(1);
  }
  if (work.limit.run) work.limit.run(1);
  EXPECT_GT(work.bytes, 0);
  EXPECT_GT(work.items, 0);
  return ContenderNames(work);
}

// Every fourth.
bool IsTried(size_t combination) {
  return combination % 4 == 0 || std::getenv("TESSERA_TEST_ALL") != nullptr;
}

TEST(LabTopic, KernelsAndVariantsAreKnownByTheirFilesAlone) {
  std::map<std::string, std::vector<std::string>> names;
  for (const Kernel& kernel : Kernels())
    for (const Variant& variant : kernel.variants()) names[kernel.name].push_back(variant.name);
  EXPECT_THAT(names["lookup"], IsSupersetOf({"plain", "policies"}));
  EXPECT_THAT(names["update"], IsSupersetOf({"grouped", "batch_order"}));
  EXPECT_THAT(names["quantized"], IsSupersetOf({"plain", "ask_ahead"}));
  EXPECT_THAT(names["grouping"],
              IsSupersetOf({"stable_sort", "sort_keys", "hash_map", "four_bytes"}));
  EXPECT_THAT(names["product"], IsSupersetOf({"blocked", "eigen"}));
}

TEST(LabTopic, EveryLookupVariantIsRight) {
  for (const std::string dim : {"16", "32", "64", "128", "256"})
    EXPECT_THAT(CheckAndRun({{"dim", dim}, {"pooling", "range:0-9"}}),
                IsSupersetOf({"plain", "policies"}));
  for (const std::string pooling : {"1", "70"}) CheckAndRun({{"pooling", pooling}});
}

TEST(LabTopic, EveryParameterIsRight) {
  for (const std::string ahead : {"0", "3", "1000"})
    for (const std::string into : {"l1", "l2"})
      CheckAndRun({{"variants", "policies"}, {"ahead", ahead}, {"into", into}});
  for (const std::string stores : {"past", "through"})
    for (const std::string bags : {"1", "2"})
      CheckAndRun({{"variants", "policies"}, {"stores", stores}, {"bags", bags}});
}

TEST(LabTopic, EveryUpdateVariantIsRight) {
  const std::pair<const char*, const char*> cases[] = {{"sgd", "zipf:1.2"},
                                                       {"sgd", "uniform"},
                                                       {"rowwise_adagrad", "uniform"},
                                                       {"rowwise_adagrad", "zipf:1.2"}};
  for (size_t i = 0; i < std::size(cases); ++i)
    if (IsTried(2 * i)) {
      EXPECT_THAT(CheckAndRun({{"kernel", "update"},
                               {"rule", cases[i].first},
                               {"dim", "32"},
                               {"skew", cases[i].second}}),
                  IsSupersetOf({"grouped", "batch_order"}));
    }
}

TEST(LabTopic, EveryGroupingVariantIsRight) {
  for (const std::string skew : {"uniform", "zipf:1.2"})
    EXPECT_THAT(CheckAndRun({{"kernel", "grouping"}, {"skew", skew}}),
                IsSupersetOf({"stable_sort", "sort_keys", "hash_map", "four_bytes"}));
}

TEST(LabTopic, EveryQuantizedVariantIsRightFromEveryKindOfRow) {
  const char* const modes[] = {"sum", "mean", "none"};
  size_t at = 0;
  for (const std::string codec : {"int8", "int4", "int2", "hfp8", "e4m3", "e5m2", "f16", "bf16",
                                  "f32", "int8_f32_tail", "int4_tail", "mx4"}) {
    const size_t i = at++;
    if (!IsTried(2 * i)) continue;
    EXPECT_THAT(CheckAndRun({{"kernel", "quantized"},
                             {"codec", codec},
                             {"mode", modes[i % 3]},
                             {"dim", i % 4 < 2 ? "16" : "48"},
                             {"output-type", i % 4 < 2 ? "f32" : "f16"}}),
                ElementsAre("tessera", "ask_ahead", "plain"));
  }
  CheckAndRun({{"kernel", "quantized"}, {"weighted", "yes"}, {"ahead", "0"}});
}

TEST(LabTopic, EveryProductVariantIsRight) {
  size_t combination = 0;
  for (const std::string product : {"forward", "inputs", "weights"})
    for (const std::string rows : {"1", "4", "8"}) {
      if (!IsTried(2 * combination++)) continue;
      EXPECT_THAT(CheckAndRun({{"kernel", "product"}, {"product", product}, {"block-rows", rows}}),
                  ElementsAre("tessera", "blocked", StartsWith("eigen (")));
    }
}

TEST(LabTopic, SaysByHowMuchOtherSumsMayDiffer) {
  Context ctx({.threads = 1});
  const Work work = LabTopic().make(ctx, LabPoint({{"kernel", "product"}}));
  EXPECT_THAT(work.notes,  // of 130 terms
              Contains("eigen (2e-05): sums in another order than ours, within 1.5e-05 of their "
                       "terms' magnitudes"));
  EXPECT_THAT(ContenderNames(work), Contains("eigen (2e-05)"));
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
                     {"variants", kernel == "lookup" ? "plain" : "grouped+batch_order"},
                     {"mode", c.mode},
                     {"weighted", c.weighted},
                     {"dim", c.dim},
                     {"row-type", c.rows},
                     {kernel == "lookup" ? "output-type" : "state-type", c.others}});
    ++combination;  // the next case is tried with the other kernel
  }
}

TEST(LabTopic, VariantsAreChosenByName) {
  EXPECT_THAT(CheckAndRun({{"variants", "policies+plain"}}),
              ElementsAre("tessera", "plain", "policies"));
  EXPECT_THAT(
      [] {
        LabPoint({{"variants", "plain+none_such"}});
      },
      ThrowsMessage<Error>(HasSubstr("none_such")));
}

TEST(LabTopic, AVariantThatDoesNotTakeAShapeIsSaidToBeLeftOut) {
  Context ctx({.threads = 1});
  const Work work = LabTopic().make(ctx, LabPoint({{"dim", "20"}}));
  EXPECT_THAT(work.notes,
              Contains("variant policies does not take --dim 20 (it takes 16, 32, 64, 128, 256)"));
  EXPECT_THAT(ContenderNames(work), Not(Contains("policies")));
  const auto refuses = [&](Values values, const char* text) {
    values["variants"] = "policies";
    EXPECT_THAT([&] { LabTopic().make(ctx, LabPoint(values)); },
                ThrowsMessage<Error>(HasSubstr(text)));
  };
  refuses({{"dim", "20"}}, "policies does not take --dim 20");
  refuses({{"weighted", "yes"}}, "policies does not take --weighted yes");
  refuses({{"mode", "mean"}}, "policies does not take --mode mean");
  refuses({{"mode", "none"}}, "policies does not take --mode none (it takes sum)");
  refuses({{"row-type", "f16"}}, "policies does not take --row-type f16");
}

TEST(LabTopic, TakesTablesOfSeveralDims) {
  const auto with = [](const char* name, const char* text) {
    const std::string path = ::testing::TempDir() + "/" + name;
    ReplaceTextFile(path, text);
    return path;
  };
  const std::string tables = with("t.csv", "rows,dim\n300,16\n50,128\n7,64\n"),
                    odd = with("odd.csv", "rows,dim\n300,16\n50,20\n");
  CheckAndRun({{"tables", tables}});
  CheckAndRun({{"tables", odd}, {"kernel", "update"}});
  Context ctx({.threads = 1});
  EXPECT_THAT(LabTopic().make(ctx, LabPoint({{"tables", odd}})).notes,
              Contains("variant policies does not take --dim 20 (it takes 16, 32, 64, 128, 256)"));
}

TEST(LabTopic, OptionsThatNothingTimedReadsAreErrors) {
  Context ctx({.threads = 1});
  const auto refuses = [&](const Values& values, const char* text) {
    EXPECT_THAT([&] { LabTopic().make(ctx, LabPoint(values)); },
                ThrowsMessage<Error>(HasSubstr(text)));
  };
  refuses({{"variants", "hash_map"}}, "--variants hash_map with --kernel lookup");
  refuses({{"rule", "sgd"}},
          "--rule sgd with --kernel lookup: nothing that is timed here reads it (of kernel update");
  refuses({{"variants", "plain"}, {"ahead", "3"}}, "--ahead 3 with --kernel lookup");
  refuses({{"variants", "plain"}, {"into", "l1"}}, "of variant policies of lookup");
  refuses({{"kernel", "update"}, {"ahead", "3"}}, "--ahead 3 with --kernel update");
  refuses({{"kernel", "grouping"}, {"mode", "mean"}}, "read are --kernel, --variants, --");
  refuses({{"state-type", "f16"}}, "--state-type f16 with --kernel lookup");
  refuses({{"kernel", "update"}, {"output-type", "f16"}}, "--output-type f16 with --kernel update");
  refuses({{"kernel", "product"}, {"dim", "64"}}, "--dim 64 with --kernel product");
  refuses({{"kernel", "quantized"}, {"row-type", "f16"}}, "--row-type f16 with --kernel quantized");
}

}  // namespace
}  // namespace tessera::bench
