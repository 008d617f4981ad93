// The lab refuses a kernel for a GPU that does one thing wrong, on the emulated GPU and on compiled
// kernels, whose threads run in a random order here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "bench/harness/sweep.h"
#include "bench/lab/cuda/lab_case.h"
#include "runtime/context.h"
#include "tests/bench/lab/broken_lookup.h"

namespace tessera::bench {
namespace {

using ::testing::HasSubstr;

// Before anything is launched.
const bool kInRandomOrder =
    setenv("TESSERA_EMULATION_SHUFFLE", "1", 1) == 0 && setenv("TESSERA_PTX_SEED", "1", 1) == 0;
const bool kInterpreted = std::getenv("COMPILED_KERNELS") != nullptr;

// Returns what the check of a kernel says: "" where it finds nothing.
std::string ErrorOf(const CudaKernel& kernel, AxisValues flags,
                    const std::vector<Axis>& parameters = {}) {
  Topic topic;
  topic.axes = LabCaseAxes();
  topic.axes.insert(topic.axes.end(), parameters.begin(), parameters.end());
  Context ctx({.device = Device::Cuda()});
  const CudaVariant variant = {.name = "broken",
                               .about = "",
                               .takes = {.weights = true},
                               .run = kernel,
                               .parameters = parameters};
  const LabCase own = MakeLabCase(ctx, variant, PointsOf(topic, "", flags).at(0));
  try {
    own.check(own.ours);
  } catch (const std::exception& error) {
    ADD_FAILURE() << "ours: " << error.what();
  }
  try {
    own.check(kernel);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

std::string ErrorOf(const CudaFaults& faults) {
  return ErrorOf(CudaKernel(BrokenLookup(faults)), {{"dim", {"32"}}, {"weighted", {"yes"}}});
}

class BrokenCudaLookups : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(kInRandomOrder); }
};

TEST_F(BrokenCudaLookups, TheRightOneIsTaken) { EXPECT_EQ(ErrorOf(CudaFaults{}), ""); }

TEST_F(BrokenCudaLookups, WrongNumbersAreRefused) {
  const std::vector<std::pair<const char*, CudaFaults>> all = {
      {"a lane", {.lane = true}},          {"a stride", {.stride = true}},
      {"a boundary", {.boundary = true}},  {"-1", {.negative = true}},
      {"an empty bag", {.empty = true}},   {"the order", {.order = true}},
      {"a weight", {.weight = true}},      {"a type", {.type = true}},
      {"the last row", {.last_row = true}}};
  for (const auto& [what, faults] : all)
    EXPECT_THAT(ErrorOf(faults), HasSubstr("feature 0, output ")) << what;
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
  EXPECT_THAT(ErrorOf(kernel, {{"dim", {"32"}}}, {{"codec", {"int8"}, "", nullptr}}),
              HasSubstr("feature 0, output "));
}

TEST(BrokenCudaUpdates, AreRefused) {
  const CudaUpdate twice = [](Context& ctx, const UpdateArgs& args) {
    Update(ctx, args);
    Update(ctx, args);
  };
  for (const char* rule : {"sgd", "rowwise_adagrad"})
    EXPECT_THAT(ErrorOf(twice, {{"dim", {"32"}}}, {{"rule", {rule}, "", nullptr}}),
                HasSubstr("table 0: the weights of row 0: not the bits of the CPU"));
}

// The last: a launch that broke a rule stays on its stream.
TEST(BrokenCudaReads, BesideATableAreSeen) {
  if (!kInterpreted) GTEST_SKIP() << "SKIPPED: the emulated GPU does not see reads beside a table";
  EXPECT_THAT(ErrorOf({.past_table = true}), HasSubstr("an access out of bounds"));
}

}  // namespace
}  // namespace tessera::bench
