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
    const BatchShape shape = testing::RandomShape(random, {.rows = 5000, .batch = 400});
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
