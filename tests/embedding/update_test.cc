#include "embedding/update/update.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <tuple>

#include "embedding/custom_rule.h"
#include "embedding/lookup/element.h"
#include "runtime/numbers/lanes.h"
#include "tests/testing/isa_levels.h"
#include "tests/testing/random_batch.h"
#include "tests/testing/rules.h"
#include "tests/testing/update_tables.h"

namespace tessera {
namespace {

using internal::LoadElement;
using internal::StoreElement;
using testing::BatchShape;
using testing::RandomBatch;
using testing::UpdateTables;

// Σ_d fn(d, terms) in the order that every machine keeps (runtime/numbers/lanes.h).
template <int kTerms, typename Fn>
void SumInLaneOrder(int64_t dim, float* sums, Fn&& fn) {
  float lane[kTerms][kLanes] = {};
  for (int64_t d = 0; d < dim; ++d) {
    float terms[kTerms];
    fn(d, terms);
    for (int k = 0; k < kTerms; ++k) lane[k][d % kLanes] += terms[k];
  }
  for (int k = 0; k < kTerms; ++k) sums[k] = FoldLanes(lane[k]);
}

// Every occurrence of every row of table t in the order of the batch: (gradient row, coefficient).
using Occurrences = std::map<int64_t, std::vector<std::pair<const float*, float>>>;
Occurrences OccurrencesOf(const RandomBatch& batch, const std::vector<int64_t>& ids,
                          const BatchShape& shape, size_t t) {
  Occurrences all;
  for (int f = 0; f < batch.num_features(); ++f) {
    if (batch.table_of(f) != t) continue;
    const auto first = static_cast<size_t>(f * shape.batch);
    for (size_t b = 0; b < static_cast<size_t>(shape.batch); ++b) {
      const int64_t begin = batch.offsets()[first + b], end = batch.offsets()[first + b + 1];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t id = ids[static_cast<size_t>(i)];
        if (id < 0) continue;
        const bool none = shape.pooling == PoolingType::kNone;
        const float scale =
            shape.pooling == PoolingType::kMean ? 1.0f / static_cast<float>(end - begin) : 1.0f;
        all[id].emplace_back(
            batch.Grad(f, none ? i - batch.offsets()[first] : static_cast<int64_t>(b)),
            batch.weight(i) * scale);
      }
    }
  }
  return all;
}

// The summed gradient of a row, in chunks, in order.
std::vector<float> SumByTheBook(const std::vector<std::pair<const float*, float>>& list,
                                int64_t dim) {
  std::vector<float> g(static_cast<size_t>(dim));
  for (int64_t d = 0; d < dim; ++d) {
    float total = 0;
    for (size_t chunk = 0; chunk < list.size(); chunk += kChunk) {
      float part = 0;
      for (size_t i = chunk; i < std::min(list.size(), chunk + kChunk); ++i)
        part += list[i].second * list[i].first[d];
      total = chunk == 0 ? part : total + part;
    }
    g[static_cast<size_t>(d)] = total;
  }
  return g;
}

// A table whose numbers are read and written one at a time.
struct ScalarTable {
  const UpdateTable& table;
  int64_t step;
  std::vector<std::pair<void*, DType>> by_row = {}, by_element = {};

  ScalarTable(const UpdateTable& of, int64_t at) : table(of), step(at) {
    const StateSpecs specs = RuleStates(*of.rule);
    for (size_t s = 0; s < specs.size(); ++s)
      (specs[s].per_row ? by_row : by_element)
          .emplace_back(of.states[s], specs[s].counts ? DType::kF32 : of.state_type);
  }
  float Weight(int64_t i) const { return LoadElement(table.weights, table.row_type, i); }
  void SetWeight(int64_t row, int64_t d, float value) const {
    const int64_t i = row * table.dim + d;
    const RowRounding& r = table.rounding;
    if (!r.stochastic || table.row_type == DType::kF32)
      return StoreElement(table.weights, table.row_type, i, value);
    const int64_t column = r.first_column + d,
                  number = r.row_ids ? r.row_ids[row] : r.first_row + row;
    const uint32_t bits =
        internal::RoundingBitsOf(internal::RoundingBits(r.seed, step, number, column), column);
    if (table.row_type == DType::kF16)
      static_cast<Half*>(table.weights)[i] = internal::RoundedByChance(Half{}, value, bits);
    else
      static_cast<BFloat16*>(table.weights)[i] = internal::RoundedByChance(BFloat16{}, value, bits);
  }
};

// The scalar reference: one row at a time, in float, in the documented order.
template <typename Step>
void UpdateRowByTheBook(const Step& r, const ScalarTable& at, int64_t row,
                        const std::vector<float>& gradient) {
  const int64_t dim = at.table.dim;
  const auto g = [&](int64_t d) { return gradient[static_cast<size_t>(d)]; };
  const auto w = [&](int64_t d) { return at.Weight(row * dim + d); };
  const auto load = [&](int64_t d, float* state) {
    for (size_t s = 0; s < at.by_element.size(); ++s)
      state[s] = LoadElement(at.by_element[s].first, at.by_element[s].second, row * dim + d);
  };
  float sums[kMaxStatistics] = {}, row_state[kMaxRowStates] = {};
  if constexpr (Step::kStatistics > 0)
    SumInLaneOrder<Step::kStatistics>(dim, sums, [&](int64_t d, float* terms) {
      r.Statistics(RowElement<float>{w(d), g(d)}, terms);
    });
  for (size_t s = 0; s < at.by_row.size(); ++s)
    row_state[s] = LoadElement(at.by_row[s].first, at.by_row[s].second, row);
  auto begun = r.BeginRow(sums, dim, row_state);
  for (size_t s = 0; s < at.by_row.size(); ++s)
    StoreElement(at.by_row[s].first, at.by_row[s].second, row, row_state[s]);
  if constexpr (requires { Step::kLateStatistics; }) {
    SumInLaneOrder<Step::kLateStatistics>(dim, sums, [&](int64_t d, float* terms) {
      float state[kMaxElementStates] = {};
      load(d, state);
      r.LateStatistics(begun, RowElement<float>{w(d), g(d)}, static_cast<const float*>(state),
                       terms);
    });
    r.FinishRow(begun, sums);
  }
  for (int64_t d = 0; d < dim; ++d) {
    float state[kMaxElementStates] = {};
    RowElement<float> x = {w(d), g(d)};
    load(d, state);
    r.Update(begun, x, state);
    at.SetWeight(row, d, x.w);
    for (size_t s = 0; s < at.by_element.size(); ++s)
      StoreElement(at.by_element[s].first, at.by_element[s].second, row * dim + d, state[s]);
  }
  if constexpr (requires { r.max_norm; }) {
    float square = 0;
    SumInLaneOrder<1>(dim, &square, [&](int64_t d, float* term) { *term = w(d) * w(d); });
    const float norm = Sqrt(square);
    if (r.max_norm > 0 && norm > r.max_norm)
      for (int64_t d = 0; d < dim; ++d) at.SetWeight(row, d, w(d) * (r.max_norm / norm));
  }
}

template <typename Rule>
void UpdateByTheBook(const Rule& rule, int64_t step, const Occurrences& occurrences,
                     const UpdateTable& table) {
  const auto r = rule.AtStep(step);
  const ScalarTable at(table, step);
  for (const auto& [row, list] : occurrences)
    UpdateRowByTheBook(r, at, row, SumByTheBook(list, table.dim));
}

// Updates all tables of a batch by the book, if their rules are the library's.
void UpdateAllByTheBook(const RandomBatch& batch, const std::vector<int64_t>& ids,
                        const BatchShape& shape, int64_t step, const UpdateTables& tables) {
  for (size_t t = 0; t < tables.tables().size(); ++t)
    std::visit(
        [&](const auto& r) {
          if constexpr (requires { r.AtStep(1); })
            UpdateByTheBook(r, step, OccurrencesOf(batch, ids, shape, t), tables.tables()[t]);
        },
        *tables.tables()[t].rule);
}

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
