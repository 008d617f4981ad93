#include "embedding/update.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <tuple>

#include "embedding/custom_rule.h"
#include "runtime/lanes.h"
#include "tests/testing/isa_levels.h"
#include "tests/testing/random_batch.h"

namespace tessera {
namespace {

using testing::BatchShape;
using testing::RandomBatch;

// Σ_d fn(d) in the order that every machine keeps (runtime/lanes.h).
template <typename Fn>
float SumInLaneOrder(int64_t dim, Fn&& fn) {
  float lane[kLanes] = {};
  for (int64_t d = 0; d < dim; ++d) lane[d % kLanes] += fn(d);
  return FoldLanes(lane);
}

// Tables with their states, and one update of all, as a test looks at them.
struct Tables {
  std::vector<std::vector<float>> weights;
  std::vector<std::vector<std::vector<float>>> states;
  friend bool operator==(const Tables&, const Tables&) = default;
};

Tables Start(const RandomBatch& batch, const AnyRule& rule, int64_t rows) {
  Tables tables;
  for (const Tensor& table : batch.tables()) {
    tables.weights.push_back(table.ToVector<float>());
    tables.states.emplace_back();
    for (const StateSpec& spec : RuleStates(rule))
      tables.states.back().emplace_back(
          static_cast<size_t>(spec.per_row ? rows : rows * table.dim(1)), 0.25f);
  }
  return tables;
}

std::vector<UpdateTable> UpdatesOf(const RandomBatch& batch, Tables& tables, const AnyRule& rule,
                                   int64_t rows) {
  std::vector<UpdateTable> updates;
  for (size_t t = 0; t < tables.weights.size(); ++t) {
    UpdateTable update{tables.weights[t].data(), rows, batch.tables()[t].dim(1), {}, &rule, {}};
    for (int f = 0; f < batch.num_features(); ++f)
      if (batch.table_of(f) == t) update.features.push_back(f);
    for (std::vector<float>& state : tables.states[t]) update.states.push_back(state.data());
    updates.push_back(update);
  }
  return updates;
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

// The scalar reference: one row at a time, in float, in the documented order.
template <typename Rule>
void UpdateByTheBook(const Rule& rule, int64_t step, const Occurrences& occurrences, int64_t dim,
                     size_t t, Tables& tables) {
  const auto r = rule.AtStep(step);
  const std::vector<StateSpec> specs = rule.States();
  for (const auto& [row, list] : occurrences) {
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
    float* w = tables.weights[t].data() + row * dim;
    float sum = 0;
    if constexpr (Rule::Step::kHasStatistic)
      sum = SumInLaneOrder(dim,
                           [&](int64_t d) { return r.Statistic(g[static_cast<size_t>(d)], w[d]); });
    float row_state[kMaxRowStates] = {};
    std::vector<float*> by_row, by_element;
    for (size_t s = 0; s < specs.size(); ++s)
      if (specs[s].per_row)
        by_row.push_back(&tables.states[t][s][static_cast<size_t>(row)]);
      else
        by_element.push_back(tables.states[t][s].data() + row * dim);
    for (size_t s = 0; s < by_row.size(); ++s) row_state[s] = *by_row[s];
    const auto begun = r.BeginRow(sum, dim, row_state);
    for (size_t s = 0; s < by_row.size(); ++s) *by_row[s] = row_state[s];
    for (int64_t d = 0; d < dim; ++d) {
      float state[kMaxElementStates] = {};
      for (size_t s = 0; s < by_element.size(); ++s) state[s] = by_element[s][d];
      r.Update(begun, w[d], g[static_cast<size_t>(d)], state);
      for (size_t s = 0; s < by_element.size(); ++s) by_element[s][d] = state[s];
    }
    if constexpr (requires { r.max_norm; }) {
      const float norm = Sqrt(SumInLaneOrder(dim, [&](int64_t d) { return w[d] * w[d]; }));
      if (r.max_norm > 0 && norm > r.max_norm)
        for (int64_t d = 0; d < dim; ++d) w[d] = w[d] * (r.max_norm / norm);
    }
  }
}

std::vector<AnyRule> AllRules() {
  return {Sgd{0.1f},
          Adagrad{0.1f, 1e-6f},
          RowwiseAdagrad{0.1f, 1e-6f},
          RowwiseAdagrad{0.1f, 1e-6f, 0.02f, WeightDecayMode::kL2},
          RowwiseAdagrad{0.1f, 1e-6f, 0.02f, WeightDecayMode::kDecouple, 2.0f},
          Adam{0.1f, 1e-6f, 0.9, 0.99, 0.01f},
          Adam{0.1f, 1e-6f, 0.9, 0.99, 0.0f, true},
          PartialRowwiseAdam{0.1f, 1e-6f, 0.9, 0.99, 0.01f}};
}

class UpdateTest : public ::testing::TestWithParam<std::tuple<size_t, PoolingType, bool, double>> {
};

TEST_P(UpdateTest, GivesTheScalarReferencesBitsOnEveryInstructionSetAndNumberOfThreads) {
  const auto [rule_index, pooling, weighted, skew] = GetParam();
  if (pooling == PoolingType::kNone && weighted) return;  // refused: see the lookup's test
  const AnyRule rule = AllRules()[rule_index];
  BatchShape shape{.dims = {1, 3, 16, 20, 64, 129, 200},
                   .rows = 40,
                   .batch = 90,
                   .weighted = weighted,
                   .pooling = pooling,
                   .skew = skew};
  shape.wide_ids = weighted;
  shape.pruned_ids = true;
  shape.features_per_table = 2;
  Context ctx({.threads = 1});
  RandomBatch batch(ctx, shape);
  const std::vector<int64_t> ids = batch.ids(ctx);
  const Tables start = Start(batch, rule, shape.rows);

  Tables expected = start;
  for (int64_t step = 3; step <= 4; ++step)
    for (size_t t = 0; t < shape.dims.size(); ++t)
      std::visit(
          [&](const auto& r) {
            if constexpr (requires { r.AtStep(1); })
              UpdateByTheBook(r, step, OccurrencesOf(batch, ids, shape, t), shape.dims[t], t,
                              expected);
          },
          rule);

  for (const IsaLevel level : testing::IsaLevels())
    for (const int threads : {1, 2, 3}) {
      const testing::ScopedIsa isa(level);
      Context threaded({.threads = threads});
      Tables got = start;
      for (int64_t step = 3; step <= 4; ++step)
        Update(threaded, {batch.Gradient(), UpdatesOf(batch, got, rule, shape.rows), step});
      EXPECT_EQ(expected, got) << RuleName(rule) << ", " << ToString(level) << ", " << threads
                               << " threads";
    }
}

INSTANTIATE_TEST_SUITE_P(Everything, UpdateTest,
                         ::testing::Combine(::testing::Range<size_t>(0, 8),
                                            ::testing::Values(PoolingType::kSum, PoolingType::kMean,
                                                              PoolingType::kNone),
                                            ::testing::Bool(), ::testing::Values(0.0, 6.0)));

// A row hit by so many ids that all threads share its sum.
TEST(Update, HotRowsAreSummedInTheSameOrderByAnyNumberOfThreads) {
  const BatchShape shape{.dims = {20}, .rows = 100, .batch = 9000, .mean_length = 6, .skew = 40};
  const AnyRule rule = RowwiseAdagrad{0.1f, 1e-6f};
  Context ctx({.threads = 1});
  RandomBatch batch(ctx, shape);
  const Occurrences occurrences = OccurrencesOf(batch, batch.ids(ctx), shape, 0);
  size_t longest = 0;
  for (const auto& [row, list] : occurrences) longest = std::max(longest, list.size());
  ASSERT_GT(longest, 20000u);
  const Tables start = Start(batch, rule, shape.rows);
  Tables expected = start;
  UpdateByTheBook(std::get<RowwiseAdagrad>(rule), 1, occurrences, 20, 0, expected);
  for (const int threads : {1, 2, 4}) {
    Context threaded({.threads = threads});
    Tables got = start;
    Update(threaded, {batch.Gradient(), UpdatesOf(batch, got, rule, shape.rows), 1});
    EXPECT_EQ(expected, got) << threads << " threads";
  }
}

TEST(Update, LeavesUntouchedRowsBitForBit) {
  const BatchShape shape{.dims = {16}, .rows = 1000, .batch = 5};
  const AnyRule rule = RowwiseAdagrad{0.1f, 1e-6f, 0.1f, WeightDecayMode::kDecouple};
  Context ctx;
  RandomBatch batch(ctx, shape);
  const Tables start = Start(batch, rule, shape.rows);
  Tables got = start;
  Update(ctx, {batch.Gradient(), UpdatesOf(batch, got, rule, shape.rows), 1});
  const Occurrences touched = OccurrencesOf(batch, batch.ids(ctx), shape, 0);
  for (int64_t row = 0; row < shape.rows; ++row) {
    const bool same =
        std::equal(start.weights[0].begin() + row * 16, start.weights[0].begin() + (row + 1) * 16,
                   got.weights[0].begin() + row * 16);
    EXPECT_EQ(same, !touched.contains(row)) << "row " << row;
    EXPECT_EQ(
        start.states[0][0][static_cast<size_t>(row)] == got.states[0][0][static_cast<size_t>(row)],
        !touched.contains(row));
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
    static constexpr bool kHasStatistic = true;
    static constexpr int kElementStates = 0, kRowStates = 1;
    float lr;
    struct Row {};
    template <typename Real>
    TESSERA_HD Real Statistic(Real g, Real) const {
      return g * g;
    }
    TESSERA_HD Row BeginRow(float sum, int64_t, float* state) const {
      state[0] += sum;
      return {};
    }
    template <typename Real>
    TESSERA_HD void Update(const Row&, Real& w, Real g, Real*) const {
      w = w - Real(lr) * (g / Sqrt(g * g));
    }
  };
  Step AtStep(int64_t) const { return {lr}; }
};

TEST(Update, TakesRulesFromOutsideTheLibrary) {
  const BatchShape shape{.dims = {7, 33}, .rows = 20, .batch = 6};
  Context ctx({.threads = 2});
  RandomBatch batch(ctx, shape);
  const SignSgd sign{0.5f};
  const AnyRule rule = MakeCustomRule(sign);
  EXPECT_STREQ(RuleName(rule), "sign_sgd");
  Tables expected = Start(batch, rule, shape.rows), got = expected;
  for (size_t t = 0; t < 2; ++t)
    UpdateByTheBook(sign, 1, OccurrencesOf(batch, batch.ids(ctx), shape, t), shape.dims[t], t,
                    expected);
  Update(ctx, {batch.Gradient(), UpdatesOf(batch, got, rule, shape.rows), 1});
  EXPECT_EQ(expected, got);
}

TEST(Update, RefusesRulesThatUpdateNothing) {
  Context ctx;
  RandomBatch batch(ctx, {});
  for (const AnyRule& rule : {AnyRule(Dense{}), AnyRule(None{})}) {
    Tables tables = Start(batch, rule, 50);
    EXPECT_THROW(Update(ctx, {batch.Gradient(), UpdatesOf(batch, tables, rule, 50), 1}), Error);
  }
}

}  // namespace
}  // namespace tessera
