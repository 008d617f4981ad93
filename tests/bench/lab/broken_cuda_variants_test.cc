// The lab refuses a kernel for a GPU that does one thing wrong, on the emulated GPU and on compiled
// kernels, whose threads run in a random order here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/sweep.h"
#include "bench/lab/cuda/lab_case.h"
#include "runtime/base/check.h"
#include "runtime/context.h"
#include "tests/bench/lab/broken_grouping.h"
#include "tests/bench/lab/broken_lookup.h"
#include "tests/bench/lab/broken_product.h"

namespace tessera::bench {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Before anything is launched.
const bool kInRandomOrder =
    setenv("TESSERA_EMULATION_SHUFFLE", "1", 1) == 0 && setenv("TESSERA_PTX_SEED", "1", 1) == 0;
const bool kInterpreted = std::getenv("COMPILED_KERNELS") != nullptr;

// The check of the lab at one point of a kind of kernels, for functions that no variant registers.
class Checker {
 public:
  // kernel: any of the kind.
  Checker(const CudaKernel& kernel, const AxisValues& flags,
          const std::vector<Axis>& parameters = {}) {
    const CudaVariant variant = {
        .name = "broken", .about = "", .takes = kTakesAll, .run = kernel, .parameters = parameters};
    Topic topic;
    topic.axes = KindOf(variant).axes;
    topic.axes.insert(topic.axes.end(), parameters.begin(), parameters.end());
    own_ = MakeLabCase(ctx_, variant, PointsOf(topic, "", flags).at(0));
  }
  // Returns what the check says: "" where it finds nothing.
  std::string operator()(const CudaKernel& kernel, bool other_sums = false) const {
    try {
      own_.check(kernel, other_sums);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }
  void ExpectThatOursIsRight() const { EXPECT_EQ((*this)(own_.ours), ""); }

 private:
  Context ctx_{LabContext()};
  LabCase own_;
};

// In a context of its own, as a launch that broke a rule stays on its stream.
std::string ErrorOf(const CudaFaults& faults) {
  return Checker(BrokenLookup({}), {{"dim", {"32"}}, {"weighted", {"yes"}}})(BrokenLookup(faults));
}

class BrokenCudaLookups : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(kInRandomOrder); }
};

TEST_F(BrokenCudaLookups, WrongNumbersAreRefusedAndRightOnesAreNot) {
  const Checker check(BrokenLookup({}), {{"dim", {"32"}}, {"weighted", {"yes"}}});
  check.ExpectThatOursIsRight();
  EXPECT_EQ(check(BrokenLookup({})), "");
  const std::vector<std::pair<const char*, CudaFaults>> all = {
      {"a lane", {.lane = true}},          {"a stride", {.stride = true}},
      {"a boundary", {.boundary = true}},  {"-1", {.negative = true}},
      {"an empty bag", {.empty = true}},   {"the order", {.order = true}},
      {"a weight", {.weight = true}},      {"a type", {.type = true}},
      {"the last row", {.last_row = true}}};
  for (const auto& [what, faults] : all)
    EXPECT_THAT(check(BrokenLookup(faults)), HasSubstr("feature 0, output ")) << what;
}

TEST_F(BrokenCudaLookups, WhatIsWrittenBesideTheOutputIsSeen) {
  EXPECT_THAT(ErrorOf({.beside = true}), HasSubstr("behind the last column of row 599"));
}

TEST_F(BrokenCudaLookups, RacesAreSeen) {
  EXPECT_NE(ErrorOf({.no_barrier = true}), "");
  EXPECT_NE(ErrorOf({.warps_share = true}), "");
}

TEST_F(BrokenCudaLookups, CompiledOnesShowMore) {
  if (!kInterpreted) GTEST_SKIP() << "SKIPPED: blocks run one after another on the emulated GPU";
  EXPECT_NE(ErrorOf({.blocks_share = true}), "");
}

// The library's lookup without the last row.
TEST(BrokenCudaQuantizedLookups, AreRefused) {
  const CudaQuantizedLookup kernel = [](Context& ctx, const QuantizedLookupArgs& args) {
    std::vector<QuantizedLookupFeature> features(args.features.begin(), args.features.end());
    for (QuantizedLookupFeature& f : features) --f.num_rows;
    QuantizedLookupArgs fewer = args;
    fewer.features = features;
    QuantizedLookup(ctx, fewer);
  };
  const Checker check(kernel, {{"dim", {"32"}}}, {{"codec", {"int8"}, "", nullptr}});
  check.ExpectThatOursIsRight();
  EXPECT_THAT(check(kernel), HasSubstr("feature 0, output "));
}

// An update that takes its arguments for others.
CudaUpdate Misread(const std::function<void(LookupArgs&, std::vector<LookupFeature>&)>& misread) {
  return [misread](Context& ctx, const UpdateArgs& args) {
    UpdateArgs wrong = args;
    std::vector<LookupFeature> features(args.lookup.features.begin(), args.lookup.features.end());
    misread(wrong.lookup, features);
    wrong.lookup.features = features;
    Update(ctx, wrong);
  };
}

TEST(BrokenCudaUpdates, AreRefused) {
  const auto twice = [](Context& ctx, const UpdateArgs& args) {
    Update(ctx, args);
    Update(ctx, args);
  };
  const auto last_row = Misread([](LookupArgs&, std::vector<LookupFeature>& features) {
    for (LookupFeature& f : features) --f.num_rows;
  });
  const auto weights = Misread([](LookupArgs& lookup, const auto&) { lookup.weights = nullptr; });
  const auto mean = Misread([](LookupArgs&, std::vector<LookupFeature>& features) {
    for (LookupFeature& f : features) f.pooling = PoolingType::kSum;
  });
  const std::map<std::string, std::vector<CudaUpdate>> wrong_by_rule = {
      {"rowwise_adagrad", {twice}}, {"sgd", {twice, last_row, weights, mean}}};
  for (const auto& [rule, all] : wrong_by_rule) {
    const Checker check(all[0], {{"dim", {"32"}}, {"weighted", {"yes"}}, {"mode", {"mean"}}},
                        {{"rule", {rule}, "", nullptr}});
    check.ExpectThatOursIsRight();
    for (const CudaUpdate& wrong : all)
      EXPECT_THAT(check(wrong), ContainsRegex("table 0: the weights of row 0, column [0-9]+: "
                                              "expected -?[0-9.e-]+, got -?[0-9.e-]+"));
  }
}

TEST(BrokenCudaUpdates, NeedARule) {
  const CudaVariant variant = {.name = "mine", .about = "", .run = CudaUpdate(Update)};
  Topic topic;
  topic.axes = KindOf(variant).axes;
  Context ctx(LabContext());
  EXPECT_THAT(
      [&] { MakeLabCase(ctx, variant, PointsOf(topic, "", {}).at(0)); },
      ThrowsMessage<Error>(HasSubstr("variant mine: an update has the parameter \"rule\"")));
}

TEST(BrokenCudaGroupings, AreRefusedAndTheRightOneIsNot) {
  using Fault = CudaGroupingFault;
  const Checker check(BrokenGrouping(Fault::kNone), {});
  check.ExpectThatOursIsRight();
  EXPECT_EQ(check(BrokenGrouping(Fault::kNone)), "");
  const std::vector<std::pair<Fault, const char*>> all = {
      {Fault::kUnsorted, "is expected, got"},
      {Fault::kOrder, "is expected, got"},
      {Fault::kLast, "is expected, got"},
      {Fault::kPayload, "is expected, got"},
      {Fault::kLastRow, "is expected, got"},
      {Fault::kHighBit, "no occurrence names row "},
      {Fault::kFewerBits, "is expected, got"},
      {Fault::kBeside, "keys_scratch: byte 0 behind it was written to"},
      {Fault::kOtherArray, ""}};
  for (const auto& [fault, reason] : all) {
    SCOPED_TRACE(static_cast<int>(fault));
    const std::string error = check(BrokenGrouping(fault));
    EXPECT_THAT(error, HasSubstr(reason));
    EXPECT_NE(error, "");
  }
}

TEST(BrokenCudaProducts, AreRefusedAndTheRightOneIsNot) {
  const Checker check(BrokenProduct({}), {});
  check.ExpectThatOursIsRight();
  EXPECT_EQ(check(BrokenProduct({})), "");
  const std::vector<std::pair<const char*, CudaProductFaults>> all = {
      {"a lane", {.lane = true}},           {"the last row", {.last_row = true}},
      {"no terms", {.no_terms = true}},     {"the order of sums", {.order = true}},
      {"rounding", {.rounding = true}},     {"the last term", {.last_term = true}},
      {"transposed", {.transposed = true}}, {"a small error", {.factor = 1.0001f}}};
  for (const auto& [what, faults] : all)
    EXPECT_THAT(check(BrokenProduct(faults)), HasSubstr("C[")) << what;
  EXPECT_THAT(check(BrokenProduct({.beside = true})),
              HasSubstr("C: byte 0 behind the last column of row 0 was written to"));
}

TEST(BrokenCudaProducts, OtherSumsAreTakenWithinTheToleranceAlone) {
  const Checker check(BrokenProduct({}), {});
  EXPECT_EQ(check(BrokenProduct({.order = true}), /*other_sums=*/true), "");
  EXPECT_THAT(check(BrokenProduct({.factor = 1.0001f}), /*other_sums=*/true), HasSubstr("±"));
}

TEST(BrokenCudaProducts, RacesAreSeen) {
  EXPECT_NE(Checker(BrokenProduct({}), {})(BrokenProduct({.no_barrier = true})), "");
}

TEST(CudaKindsTest, KindsOfWhichNoToleranceIsKnownHaveOurSums) {
  const CudaVariant variant = {
      .name = "halves", .about = "", .run = CudaLookup(Lookup), .other_sums = true};
  Topic topic;
  topic.axes = KindOf(variant).axes;
  Context ctx(LabContext());
  EXPECT_THAT([&] { MakeLabCase(ctx, variant, PointsOf(topic, "", {}).at(0)); },
              ThrowsMessage<Error>(HasSubstr("have every bit of ours")));
}

// The last: a launch that broke a rule stays on its stream.
TEST(BrokenCudaReads, BesideATableAreSeen) {
  if (!kInterpreted) GTEST_SKIP() << "SKIPPED: the emulated GPU does not see reads beside a table";
  EXPECT_THAT(ErrorOf({.past_table = true}), HasSubstr("an access out of bounds"));
}

}  // namespace
}  // namespace tessera::bench
