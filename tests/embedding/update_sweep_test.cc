// Random shapes, rules and data: lookup and update give the same bits on every instruction set and
// number of threads. Runs a seeded tenth of the sweep, or all of it where TESSERA_TEST_ALL is set
// (tools/test --all).
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "embedding/update/update.h"
#include "tests/testing/isa_levels.h"
#include "tests/testing/random_batch.h"
#include "tests/testing/rules.h"
#include "tests/testing/update_tables.h"

namespace tessera {
namespace {

using testing::BatchShape;
using testing::RandomBatch;
using testing::UpdateTables;

// Outputs of a lookup, then weights and states after an update.
std::vector<Tensor> RunOn(const BatchShape& shape, const std::vector<AnyRule>& rules,
                          bool stochastic, IsaLevel level, int threads) {
  const testing::ScopedIsa isa(level);
  Context ctx({.threads = threads});
  RandomBatch batch(ctx, shape);
  Lookup(ctx, batch.Lookup());
  std::vector<Tensor> results = batch.Outputs();
  const UpdateTables tables(ctx, batch, shape, rules, DType::kF32, {stochastic, shape.seed});
  Update(ctx, {batch.Gradient(), tables.tables(), 7});
  for (const Tensor& result : tables.Results()) results.push_back(result);
  return results;
}

TEST(UpdateSweep, SameBitsEverywhere) {
  const int cases = std::getenv("TESSERA_TEST_ALL") ? 400 : 40;
  std::mt19937 random(20261121);
  for (int c = 0; c < cases; ++c) {
    BatchShape shape = testing::RandomShape(random, {.rows = 5000, .batch = 400});
    shape.row_type = std::array{DType::kF32, DType::kF16, DType::kBF16}[random() % 3];
    shape.gradient_type = std::array{DType::kF32, DType::kF16, DType::kBF16}[random() % 3];
    const std::vector<AnyRule> rules = {testing::AllRules()[random() % testing::AllRules().size()]};
    const bool stochastic = random() % 2 == 0;
    const auto expected = RunOn(shape, rules, stochastic, IsaLevel::kBaseline, 1);
    for (const IsaLevel level : testing::IsaLevels()) {
      const auto got = RunOn(shape, rules, stochastic, level, 1 + static_cast<int>(random() % 4));
      for (size_t i = 0; i < expected.size(); ++i)
        ASSERT_TRUE(SameBits(expected[i], got[i]))
            << "case " << c << ", tensor " << i << ": " << RuleName(rules[0]) << ", "
            << ToString(level) << ", seed " << shape.seed;
    }
  }
  std::printf("%d random cases\n", cases);
}

}  // namespace
}  // namespace tessera
