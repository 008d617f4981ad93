#include "embedding/update/update.h"

#include <gtest/gtest.h>

#include <tuple>

#include "embedding/custom_rule.h"
#include "tests/testing/isa_levels.h"
#include "tests/testing/random_batch.h"
#include "tests/testing/rules.h"
#include "tests/testing/update_by_the_book.h"
#include "tests/testing/update_tables.h"

namespace tessera {
namespace {

using testing::BatchShape;
using testing::Occurrences;
using testing::OccurrencesOf;
using testing::RandomBatch;
using testing::UpdateAllByTheBook;
using testing::UpdateByTheBook;
using testing::UpdateTables;

bool SameResults(const UpdateTables& a, const UpdateTables& b) {
  const std::vector<Tensor> of_a = a.Results(), of_b = b.Results();
  for (size_t i = 0; i < of_a.size(); ++i)
    if (!SameBits(of_a[i], of_b[i])) return false;
  return true;
}

struct Types {
  DType row, state;
  bool stochastic;
  DType gradient = DType::kF32;
};

class UpdateTest : public ::testing::TestWithParam<std::tuple<PoolingType, bool, double>> {
 protected:
  // How many combinations of rule, types, instruction set and number of threads agreed.
  int Compare(const AnyRule& rule, const Types& types) {
    const auto [pooling, weighted, skew] = GetParam();
    BatchShape shape{.dims = {1, 3, 16, 20, 32, 129, 200},
                     .rows = 40,
                     .batch = 60,
                     .weighted = weighted,
                     .pooling = pooling,
                     .skew = skew,
                     .row_type = types.row,
                     .gradient_type = types.gradient};
    shape.wide_ids = weighted;
    shape.pruned_ids = true;
    shape.features_per_table = skew > 0 ? 2 : 1;  // two features: gradients in two places
    const std::vector<AnyRule> rules = {rule};
    Context ctx({.threads = 1});
    RandomBatch batch(ctx, shape);
    const RowRounding rounding{types.stochastic, 77, 5, 3, nullptr};
    const UpdateTables start(ctx, batch, shape, rules, types.state, rounding);
    const UpdateTables expected(ctx, batch, shape, rules, types.state, rounding);
    const std::vector<int64_t> ids = batch.ids(ctx);
    for (int64_t step = 3; step <= 4; ++step) UpdateAllByTheBook(batch, ids, shape, step, expected);
    EXPECT_FALSE(SameResults(start, expected)) << RuleName(rule);
    int compared = 0;
    for (const IsaLevel level : testing::IsaLevels()) {
      const testing::ScopedIsa isa(level);
      const int threads = 1 + compared % 3;
      Context threaded({.threads = threads});
      const UpdateTables got(threaded, batch, shape, rules, types.state, rounding);
      for (int64_t step = 3; step <= 4; ++step)
        Update(threaded, {batch.Gradient(), got.tables(), step});
      EXPECT_TRUE(SameResults(expected, got))
          << RuleName(rule) << ", rows " << ToString(types.row) << ", states "
          << ToString(types.state) << ", gradients " << ToString(types.gradient) << ", "
          << ToString(level) << ", " << threads << " threads";
      ++compared;
    }
    return compared;
  }
};

TEST_P(UpdateTest, GivesTheScalarReferencesBitsOnEveryInstructionSetAndNumberOfThreads) {
  if (std::get<0>(GetParam()) == PoolingType::kNone && std::get<1>(GetParam()))
    GTEST_SKIP() << "SKIPPED: pooling NONE takes no weights, see the lookup's test";
  const std::vector<Types> all_types = {{DType::kF32, DType::kF32, false},
                                        {DType::kF16, DType::kF32, false},
                                        {DType::kBF16, DType::kBF16, false},
                                        {DType::kF16, DType::kF16, true},
                                        {DType::kBF16, DType::kF32, true},
                                        {DType::kF32, DType::kBF16, false},
                                        {DType::kF32, DType::kF32, false, DType::kF16},
                                        {DType::kF16, DType::kBF16, true, DType::kBF16}};
  int compared = 0;
  for (const AnyRule& rule : testing::AllRules())
    for (const Types& types : all_types) compared += Compare(rule, types);
  std::printf("%d combinations of rule, row and state type, and instruction set\n", compared);
}

INSTANTIATE_TEST_SUITE_P(Everything, UpdateTest,
                         ::testing::Combine(::testing::Values(PoolingType::kSum, PoolingType::kMean,
                                                              PoolingType::kNone),
                                            ::testing::Bool(), ::testing::Values(0.0, 6.0)));

// A row hit by so many ids that all threads share its sum.
void ExpectHotRows(DType gradient_type) {
  const BatchShape shape{.dims = {20},
                         .rows = 100,
                         .batch = 9000,
                         .mean_length = 6,
                         .skew = 40,
                         .gradient_type = gradient_type};
  const std::vector<AnyRule> rules = {RowwiseAdagrad{0.1f, 1e-6f}};
  Context ctx({.threads = 1});
  RandomBatch batch(ctx, shape);
  const std::vector<int64_t> ids = batch.ids(ctx);
  size_t longest = 0;
  for (const auto& [row, list] : OccurrencesOf(batch, ids, shape, 0))
    longest = std::max(longest, list.size());
  ASSERT_GT(longest, 20000u);
  const UpdateTables expected(ctx, batch, shape, rules);
  UpdateAllByTheBook(batch, ids, shape, 1, expected);
  for (const int threads : {1, 2, 4}) {
    Context threaded({.threads = threads});
    const UpdateTables got(threaded, batch, shape, rules);
    Update(threaded, {batch.Gradient(), got.tables(), 1});
    EXPECT_TRUE(SameResults(expected, got)) << threads << " threads";
  }
}

TEST(Update, HotRowsAreSummedInTheSameOrderByAnyNumberOfThreads) {
  for (const DType type : {DType::kF32, DType::kBF16}) ExpectHotRows(type);
}

TEST(Update, LeavesUntouchedRowsBitForBit) {
  const BatchShape shape{.dims = {16}, .rows = 1000, .batch = 5};
  const std::vector<AnyRule> rules = {
      RowwiseAdagrad{0.1f, 1e-6f, 0.1f, WeightDecayMode::kDecouple}};
  Context ctx;
  RandomBatch batch(ctx, shape);
  const UpdateTables start(ctx, batch, shape, rules), got(ctx, batch, shape, rules);
  Update(ctx, {batch.Gradient(), got.tables(), 1});
  const Occurrences touched = OccurrencesOf(batch, batch.ids(ctx), shape, 0);
  for (int64_t row = 0; row < shape.rows; ++row)
    for (size_t i = 0; i < 2; ++i)  // weights, momentum1
      EXPECT_EQ(
          SameBits(start.Results()[i].Rows(row, row + 1), got.Results()[i].Rows(row, row + 1)),
          !touched.contains(row))
          << "row " << row;
}

// If a step is far below a unit in the last place, stochastic rounding keeps the mean, and rounding
// to nearest loses the whole step.
TEST(Update, StochasticRoundingMovesRowsOnAverage) {
  Context ctx;
  constexpr int64_t kRows = 2000, kDim = 16;
  const std::vector<AnyRule> rules = {Sgd{1.0f}};
  for (const DType type : {DType::kF16, DType::kBF16})
    for (const bool stochastic : {false, true}) {
      const BatchShape shape{.dims = {kDim}, .rows = kRows, .batch = 4000, .row_type = type};
      RandomBatch batch(ctx, shape);
      for (const Tensor& table : batch.tables()) table.Fill(ctx, 1.0f);
      LookupArgs gradient = batch.Gradient();
      const Tensor step = Tensor::Full(ctx, {shape.batch, kDim}, -1e-5);
      std::vector<LookupFeature> features(gradient.features.begin(), gradient.features.end());
      features[0].output = step.raw_data();
      gradient.features = features;
      const UpdateTables tables(ctx, batch, shape, rules, DType::kF32, {stochastic, 3});
      const auto occurrences = static_cast<double>(batch.num_ids());
      for (int64_t t = 1; t <= 4; ++t) Update(ctx, {gradient, tables.tables(), t});
      double moved = 0;
      for (const float w : tables.weight(0).To(ctx, DType::kF32).ToVector<float>())
        moved += static_cast<double>(w) - 1;
      const double expected = 4e-5 * occurrences * kDim;
      if (stochastic)
        EXPECT_NEAR(moved, expected, 0.15 * expected) << ToString(type);
      else
        EXPECT_EQ(moved, 0) << ToString(type);
    }
}

TEST(Update, RowAndDenseGradientsAreTheSummedGradients) {
  const BatchShape shape{
      .dims = {5}, .rows = 30, .batch = 20, .weighted = true, .pooling = PoolingType::kMean};
  Context ctx({.threads = 2});
  RandomBatch batch(ctx, shape);
  const Occurrences occurrences = OccurrencesOf(batch, batch.ids(ctx), shape, 0);
  const UpdateTable table{batch.tables()[0].data<float>(), 30, 5, {0}, nullptr, {}};
  const RowGradients sparse = ComputeRowGradients(ctx, batch.Gradient(), table);
  const Tensor dense = ComputeDenseGradient(ctx, batch.Gradient(), table);
  ASSERT_EQ(sparse.rows.numel(), static_cast<int64_t>(occurrences.size()));
  std::vector<bool> seen(30);
  int64_t u = 0;
  for (const auto& [row, list] : occurrences) {
    EXPECT_EQ(sparse.rows.data<int64_t>()[u], row);
    seen[static_cast<size_t>(row)] = true;
    for (int64_t d = 0; d < 5; ++d) {
      double sum = 0;
      for (const auto& [g, c] : list) sum += static_cast<double>(g[d]) * static_cast<double>(c);
      EXPECT_NEAR(sparse.grads.data<float>()[u * 5 + d], sum, 1e-5);
      EXPECT_EQ(dense.data<float>()[row * 5 + d], sparse.grads.data<float>()[u * 5 + d]);
    }
    ++u;
  }
  for (int64_t row = 0; row < 30; ++row)
    EXPECT_TRUE(seen[static_cast<size_t>(row)] || dense.data<float>()[row * 5 + 1] == 0.0f);
}

// w −= lr·sign(g), from outside the library.
struct SignSgd {
  float lr = 0.01f;
  static constexpr const char* kName = "sign_sgd";
  std::vector<StateSpec> States() const { return {{"sum_of_squares", true}}; }
  struct Step {
    static constexpr int kStatistics = 1, kElementStates = 0, kRowStates = 1;
    float lr;
    struct Row {};
    template <typename Real>
    TESSERA_HD void Statistics(RowElement<Real> x, Real* terms) const {
      terms[0] = x.g * x.g;
    }
    TESSERA_HD Row BeginRow(const float* sums, int64_t, float* state) const {
      state[0] += sums[0];
      return {};
    }
    template <typename Real>
    TESSERA_HD void Update(const Row&, RowElement<Real>& x, Real*) const {
      x.w = x.w - Real(lr) * (x.g / Sqrt(x.g * x.g));
    }
  };
  Step AtStep(int64_t) const { return {lr}; }
};

TEST(Update, TakesRulesFromOutsideTheLibrary) {
  const BatchShape shape{.dims = {7, 33}, .rows = 20, .batch = 6};
  Context ctx({.threads = 2});
  RandomBatch batch(ctx, shape);
  const SignSgd sign{0.5f};
  const std::vector<AnyRule> rules = {MakeCustomRule(sign)};
  EXPECT_STREQ(RuleName(rules[0]), "sign_sgd");
  const UpdateTables expected(ctx, batch, shape, rules), got(ctx, batch, shape, rules);
  for (size_t t = 0; t < 2; ++t)
    UpdateByTheBook(sign, 1, OccurrencesOf(batch, batch.ids(ctx), shape, t), expected.tables()[t]);
  Update(ctx, {batch.Gradient(), got.tables(), 1});
  EXPECT_TRUE(SameResults(expected, got));
}

}  // namespace
}  // namespace tessera
