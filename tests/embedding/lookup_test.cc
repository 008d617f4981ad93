#include "embedding/lookup.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "tests/testing/isa_levels.h"
#include "tests/testing/random_batch.h"

namespace tessera {
namespace {

using testing::BatchShape;
using testing::RandomBatch;

// The definition in lookup.h, in double, one number at a time.
double Expected(const RandomBatch& batch, const std::vector<int64_t>& ids, const BatchShape& shape,
                int feature, int64_t row, int64_t d) {
  const Tensor& table = batch.tables()[batch.table_of(feature)];
  const auto value = [&](int64_t i) -> double {
    const int64_t id = ids[static_cast<size_t>(i)];
    return id < 0 ? 0.0 : table.data<float>()[id * table.dim(1) + d];
  };
  const auto first = static_cast<size_t>(feature * shape.batch);
  if (shape.pooling == PoolingType::kNone) return value(batch.offsets()[first] + row);
  const int64_t begin = batch.offsets()[first + static_cast<size_t>(row)],
                end = batch.offsets()[first + static_cast<size_t>(row) + 1];
  double sum = 0;
  for (int64_t i = begin; i < end; ++i) sum += static_cast<double>(batch.weight(i)) * value(i);
  return shape.pooling == PoolingType::kMean && end > begin ? sum / static_cast<double>(end - begin)
                                                            : sum;
}

class LookupTest : public ::testing::TestWithParam<std::tuple<PoolingType, bool, bool>> {
 protected:
  BatchShape Shape() const {
    BatchShape shape;
    std::tie(shape.pooling, shape.weighted, shape.wide_ids) = GetParam();
    shape.dims = {1, 3, 4, 7, 16, 20, 64, 129, 256, 300};
    shape.pruned_ids = true;
    shape.features_per_table = 2;
    return shape;
  }
};

TEST_P(LookupTest, IsTheDefinitionForAnyDim) {
  const BatchShape shape = Shape();
  Context ctx({.threads = 2});
  RandomBatch batch(ctx, shape);
  const std::vector<int64_t> ids = batch.ids(ctx);
  Lookup(ctx, batch.Lookup());
  for (int f = 0; f < batch.num_features(); ++f) {
    const int64_t dim = batch.tables()[batch.table_of(f)].dim(1), first = f * shape.batch;
    const int64_t rows = shape.pooling == PoolingType::kNone
                             ? batch.offsets()[static_cast<size_t>(first + shape.batch)] -
                                   batch.offsets()[static_cast<size_t>(first)]
                             : shape.batch;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t d = 0; d < dim; ++d)
        ASSERT_NEAR(batch.Output(f, row)[d], Expected(batch, ids, shape, f, row, d), 2e-5)
            << "feature " << f << " row " << row;
  }
}

TEST_P(LookupTest, GivesTheSameBitsOnEveryInstructionSetAndNumberOfThreads) {
  const BatchShape shape = Shape();
  std::vector<std::vector<float>> first;
  for (const IsaLevel level : testing::IsaLevels()) {
    for (const int threads : {1, 2, 3}) {
      const testing::ScopedIsa isa(level);
      Context ctx({.threads = threads});
      RandomBatch batch(ctx, shape);
      Lookup(ctx, batch.Lookup());
      std::vector<std::vector<float>> outputs;
      for (const Tensor& output : batch.Outputs()) outputs.push_back(output.ToVector<float>());
      if (first.empty()) first = outputs;
      EXPECT_EQ(first, outputs) << ToString(level) << ", " << threads << " threads";
    }
  }
}

TEST_P(LookupTest, WeightGradientsAreDotProductsWithTheRows) {
  BatchShape shape = Shape();
  if (shape.pooling == PoolingType::kNone) return;  // sequences take no weights
  std::vector<float> first;
  for (const IsaLevel level : testing::IsaLevels()) {
    const testing::ScopedIsa isa(level);
    Context ctx({.threads = 2});
    RandomBatch batch(ctx, shape);
    const std::vector<int64_t> ids = batch.ids(ctx);
    std::vector<float> grads(static_cast<size_t>(batch.num_ids()), -9);
    LookupWeightGradients(ctx, batch.Gradient(), grads.data());
    for (int f = 0; f < batch.num_features(); ++f) {
      const Tensor& table = batch.tables()[batch.table_of(f)];
      for (int64_t b = 0; b < shape.batch; ++b) {
        const auto bag = static_cast<size_t>(f * shape.batch + b);
        const int64_t length = batch.offsets()[bag + 1] - batch.offsets()[bag];
        for (int64_t i = batch.offsets()[bag]; i < batch.offsets()[bag + 1]; ++i) {
          const int64_t id = ids[static_cast<size_t>(i)];
          double dot = 0;
          for (int64_t d = 0; id >= 0 && d < table.dim(1); ++d)
            dot += static_cast<double>(batch.Grad(f, b)[d]) *
                   static_cast<double>(table.data<float>()[id * table.dim(1) + d]);
          if (shape.pooling == PoolingType::kMean) dot /= static_cast<double>(length);
          ASSERT_NEAR(grads[static_cast<size_t>(i)], dot, 1e-5 + 1e-6 * std::abs(dot));
        }
      }
    }
    if (first.empty()) first = grads;
    EXPECT_EQ(first, grads) << ToString(level);
  }
}

INSTANTIATE_TEST_SUITE_P(Everything, LookupTest,
                         ::testing::Combine(::testing::Values(PoolingType::kSum,
                                                              PoolingType::kMean),
                                            ::testing::Bool(), ::testing::Bool()));
INSTANTIATE_TEST_SUITE_P(Sequences, LookupTest,
                         ::testing::Combine(::testing::Values(PoolingType::kNone),
                                            ::testing::Values(false), ::testing::Bool()));

TEST(Lookup, LargeOutputsThatAreWrittenPastTheCachesAreTheSame) {
  const BatchShape shape{.dims = {128, 64, 20}, .rows = 500, .batch = 6000, .mean_length = 2};
  Context ctx({.threads = 2});
  RandomBatch batch(ctx, shape);
  const std::vector<int64_t> ids = batch.ids(ctx);
  Lookup(ctx, batch.Lookup());
  for (int f = 0; f < batch.num_features(); ++f)
    for (int64_t b = 0; b < shape.batch; b += 7)
      ASSERT_NEAR(batch.Output(f, b)[3], Expected(batch, ids, shape, f, b, 3), 1e-5);
}

TEST(Lookup, EmptyInputsAreFine) {
  Context ctx;
  for (const int64_t batch_size : {0, 5}) {
    const BatchShape shape{.dims = {4, 9}, .batch = batch_size, .mean_length = 0.0001};
    RandomBatch batch(ctx, shape);
    Lookup(ctx, batch.Lookup());
    for (int64_t b = 0; b < batch_size; ++b) EXPECT_EQ(batch.Output(1, b)[2], 0.0f);
  }
  Lookup(ctx, {});
}

TEST(Lookup, RefusesWhatMakesNoSense) {
  Context ctx;
  RandomBatch batch(ctx, {.weighted = true});
  LookupArgs args = batch.Lookup();
  std::vector<LookupFeature> features(args.features.begin(), args.features.end());
  features[0].pooling = PoolingType::kNone;
  args.features = features;
  EXPECT_THROW(Lookup(ctx, args), Error);
  features[0].pooling = PoolingType::kSum;
  features[0].dim = 0;
  EXPECT_THROW(Lookup(ctx, args), Error);
}

}  // namespace
}  // namespace tessera
