// Random shapes, rules and data: lookup and update give the same bits on every instruction set and
// number of threads. Runs a seeded tenth of the sweep, or all of it where TESSERA_TEST_ALL is set
// (tools/test --all).
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "embedding/update.h"
#include "tests/testing/isa_levels.h"
#include "tests/testing/random_batch.h"

namespace tessera {
namespace {

using testing::BatchShape;
using testing::RandomBatch;

BatchShape RandomShape(std::mt19937& random) {
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  BatchShape shape;
  shape.dims.clear();
  for (int64_t t = pick(1, 4); t > 0; --t)
    shape.dims.push_back(pick(0, 1) ? pick(1, 40) : pick(1, 20) * 16);
  shape.rows = pick(0, 1) ? pick(1, 50) : pick(100, 5000);
  shape.batch = pick(0, 400);
  shape.mean_length = static_cast<double>(pick(1, 12));
  shape.pooling = static_cast<PoolingType>(pick(0, 2));
  shape.weighted = shape.pooling != PoolingType::kNone && pick(0, 1);
  shape.wide_ids = pick(0, 1);
  shape.pruned_ids = pick(0, 3) == 0;
  shape.skew = pick(0, 1) ? 0 : static_cast<double>(pick(1, 20));
  shape.features_per_table = static_cast<int>(pick(1, 3));
  shape.seed = random();
  return shape;
}

AnyRule RandomRule(std::mt19937& random) {
  const float decay = random() % 2 ? 0.01f : 0.0f;
  switch (random() % 5) {
    case 0:
      return Sgd{0.1f};
    case 1:
      return Adagrad{0.1f};
    case 2:
      return RowwiseAdagrad{0.1f, 1e-8f, decay, static_cast<WeightDecayMode>(random() % 3),
                            random() % 2 ? 1.5f : 0.0f};
    case 3:
      return Adam{0.1f, 1e-8f, 0.9, 0.999, decay, random() % 2 == 0};
    default:
      return PartialRowwiseAdam{0.1f, 1e-8f, 0.9, 0.999, decay};
  }
}

// Outputs of a lookup, then weights and states after an update.
std::vector<std::vector<float>> RunOn(const BatchShape& shape, const AnyRule& rule, IsaLevel level,
                                      int threads) {
  const testing::ScopedIsa isa(level);
  Context ctx({.threads = threads});
  RandomBatch batch(ctx, shape);
  Lookup(ctx, batch.Lookup());
  std::vector<std::vector<float>> results;
  for (const Tensor& output : batch.Outputs()) results.push_back(output.ToVector<float>());

  std::vector<UpdateTable> updates;
  std::vector<Tensor> states;
  for (size_t t = 0; t < shape.dims.size(); ++t) {
    UpdateTable update{batch.tables()[t].data<float>(), shape.rows, shape.dims[t], {}, &rule, {}};
    for (int f = 0; f < batch.num_features(); ++f)
      if (batch.table_of(f) == t) update.features.push_back(f);
    for (const StateSpec& spec : RuleStates(rule)) {
      states.push_back(Tensor::Full(
          ctx, spec.per_row ? Shape{shape.rows} : Shape{shape.rows, shape.dims[t]}, 0.5));
      update.states.push_back(states.back().data<float>());
    }
    updates.push_back(update);
  }
  Update(ctx, {batch.Gradient(), updates, 7});
  for (const Tensor& table : batch.tables()) results.push_back(table.ToVector<float>());
  for (const Tensor& state : states) results.push_back(state.ToVector<float>());
  return results;
}

TEST(UpdateSweep, SameBitsEverywhere) {
  const int cases = std::getenv("TESSERA_TEST_ALL") ? 400 : 40;
  std::mt19937 random(20261121);
  for (int c = 0; c < cases; ++c) {
    const BatchShape shape = RandomShape(random);
    const AnyRule rule = RandomRule(random);
    const auto expected = RunOn(shape, rule, IsaLevel::kBaseline, 1);
    for (const IsaLevel level : testing::IsaLevels())
      ASSERT_EQ(expected, RunOn(shape, rule, level, 1 + static_cast<int>(random() % 4)))
          << "case " << c << ": " << RuleName(rule) << ", " << ToString(level) << ", seed "
          << shape.seed;
  }
  std::printf("%d random cases\n", cases);
}

}  // namespace
}  // namespace tessera
