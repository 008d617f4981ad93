// Updates that are refused.
#include <gtest/gtest.h>

#include <vector>

#include "embedding/update/update.h"
#include "runtime/base/check.h"
#include "tests/testing/random_batch.h"
#include "tests/testing/update_tables.h"

namespace tessera {
namespace {

using testing::BatchShape;
using testing::RandomBatch;
using testing::UpdateTables;

TEST(UpdateRefusals, GradientsOfSeveralTypesForOneTable) {
  const BatchShape shape{.dims = {4}, .features_per_table = 2};
  const std::vector<AnyRule> rules = {Sgd{0.1f}};
  Context ctx;
  RandomBatch batch(ctx, shape);
  const UpdateTables tables(ctx, batch, shape, rules);
  LookupArgs gradient = batch.Gradient();
  std::vector<LookupFeature> features(gradient.features.begin(), gradient.features.end());
  gradient.features = features;
  features[1].output_type = DType::kF16;
  EXPECT_THROW(Update(ctx, {gradient, tables.tables(), 1}), Error);
  features[0].output_type = features[1].output_type = DType::kI32;
  EXPECT_THROW(Update(ctx, {gradient, tables.tables(), 1}), Error);
}

TEST(UpdateRefusals, RulesThatUpdateNothing) {
  Context ctx;
  RandomBatch batch(ctx, {});
  for (const AnyRule& rule : {AnyRule(Dense{}), AnyRule(None{})}) {
    const std::vector<AnyRule> rules = {rule};
    const UpdateTables tables(ctx, batch, {}, rules);
    EXPECT_THROW(Update(ctx, {batch.Gradient(), tables.tables(), 1}), Error);
  }
}

}  // namespace
}  // namespace tessera
