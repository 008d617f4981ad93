// A lookup on a GPU gives the CPU's bits for all shapes.
#include <gtest/gtest.h>

#include "embedding/lookup/lookup.h"
#include "tests/testing/devices.h"
#include "tests/testing/random_batch.h"

namespace tessera {
namespace {

using testing::BatchShape;
using testing::RandomBatch;

class LookupDeviceTest : public testing::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (on_cpu()) GTEST_SKIP() << "SKIPPED: the CPU is what the others are compared with";
  }

  // Compares a lookup on both devices, and counts the cases.
  void ExpectCpuBits(const BatchShape& shape) {
    ++cases_;
    RandomBatch there(ctx(), shape), here(cpu_, shape);
    Lookup(cpu_, here.Lookup());
    Lookup(ctx(), there.Lookup());
    const std::vector<Tensor> expected = here.Outputs(), got = there.Outputs();
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_TRUE(SameBits(expected[i], got[i].To(ctx(), Device::Cpu())))
          << "output " << i << " of " << Describe(shape);
  }
  void ExpectCpuWeightGradients(const BatchShape& shape) {
    ++cases_;
    RandomBatch there(ctx(), shape), here(cpu_, shape);
    const Tensor expected = Tensor::Full(cpu_, {here.num_ids()}, -3),
                 got = Tensor::Full(ctx(), {here.num_ids()}, -3);
    LookupWeightGradients(cpu_, here.Gradient(), expected.data<float>());
    LookupWeightGradients(ctx(), there.Gradient(), got.data<float>());
    ASSERT_TRUE(SameBits(expected, got.To(ctx(), Device::Cpu()))) << Describe(shape);
  }
  static std::string Describe(const BatchShape& s) {
    std::string dims;
    for (const int64_t dim : s.dims) dims += " " + std::to_string(dim);
    return Format("dims{}, batch {}, mean length {}, weighted {}, pooling {}, rows {}, output {}",
                  dims, s.batch, s.mean_length, s.weighted, static_cast<int>(s.pooling), s.row_type,
                  s.output_type);
  }
  ~LookupDeviceTest() override {
    if (cases_ > 0) std::printf("%d shapes compared bit by bit\n", cases_);
  }

  Context cpu_{{.threads = 2}};
  int cases_ = 0;
};

constexpr PoolingType kPoolings[] = {PoolingType::kSum, PoolingType::kMean, PoolingType::kNone};

TEST_P(LookupDeviceTest, EveryPoolingWeightAndDim) {
  unsigned seed = 1;
  for (const PoolingType pooling : kPoolings)
    for (const bool weighted : {false, true})
      for (const std::vector<int64_t>& dims :
           {std::vector<int64_t>{1}, {3, 4}, {8, 16, 20}, {33, 32}, {64, 1, 128}, {129, 256, 132}})
        for (const bool wide : {false, true}) {
          if (weighted && pooling == PoolingType::kNone) continue;
          ExpectCpuBits({.dims = dims,
                         .batch = 5,
                         .weighted = weighted,
                         .wide_ids = wide,
                         .pooling = pooling,
                         .pruned_ids = wide,
                         .features_per_table = 2,
                         .seed = seed++});
        }
}

TEST_P(LookupDeviceTest, EveryRowAndOutputType) {
  unsigned seed = 100;
  for (const DType row : {DType::kF32, DType::kF16, DType::kBF16})
    for (const DType output : {DType::kF32, DType::kF16, DType::kBF16})
      for (const PoolingType pooling : kPoolings)
        ExpectCpuBits({.dims = {3, 16, 36},
                       .batch = 6,
                       .pooling = pooling,
                       .row_type = row,
                       .output_type = output,
                       .seed = seed++});
}

// Bags that a whole block sums, among short ones.
TEST_P(LookupDeviceTest, LongBags) {
  unsigned seed = 200;
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{4, 3}, {16, 128}, {260}})
    for (const bool weighted : {false, true})
      for (const double length : {255.0, 700.0})
        ExpectCpuBits({.dims = dims,
                       .batch = 3,
                       .mean_length = length,
                       .weighted = weighted,
                       .pooling = weighted ? PoolingType::kMean : PoolingType::kSum,
                       .pruned_ids = true,
                       .seed = seed++});
}

TEST_P(LookupDeviceTest, NothingToLookUp) {
  for (const PoolingType pooling : kPoolings) {
    ExpectCpuBits({.dims = {8, 5}, .batch = 4, .mean_length = 0, .pooling = pooling});
    ExpectCpuBits({.dims = {8, 5}, .batch = 0, .pooling = pooling});
  }
}

// More features than one launch takes.
TEST_P(LookupDeviceTest, ManyFeatures) {
  for (const int features : {17, 65, 300})
    ExpectCpuBits({.dims = {4, 2},
                   .batch = 2,
                   .mean_length = 1,
                   .features_per_table = (features + 1) / 2,
                   .seed = 5});
}

TEST_P(LookupDeviceTest, GradientsOfTheWeights) {
  unsigned seed = 300;
  for (const PoolingType pooling : {PoolingType::kSum, PoolingType::kMean})
    for (const std::vector<int64_t>& dims : {std::vector<int64_t>{1, 4}, {31, 128}, {129}})
      for (const DType row : {DType::kF32, DType::kBF16})
        for (const DType gradient : {DType::kF32, DType::kF16, DType::kBF16})
          ExpectCpuWeightGradients({.dims = dims,
                                    .batch = 4,
                                    .weighted = true,
                                    .pooling = pooling,
                                    .pruned_ids = true,
                                    .row_type = row,
                                    .gradient_type = gradient,
                                    .seed = seed++});
}

TESSERA_INSTANTIATE_DEVICES(LookupDeviceTest);

}  // namespace
}  // namespace tessera
