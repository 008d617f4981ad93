// An update on a GPU gives the CPU's bits: every rule × pooling × weighted × dim × skew, runs of
// every length class, any mix of rules and dims in one call, rules from outside the library.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "embedding/update.h"
#include "tests/embedding/custom_rule_on_cuda.h"
#include "tests/testing/devices.h"
#include "tests/testing/random_batch.h"

namespace tessera {
namespace {

using testing::BatchShape;
using testing::RandomBatch;

// Weights, states and gradients after one update, on the host.
class UpdateDeviceTest : public testing::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (on_cpu()) GTEST_SKIP() << "SKIPPED: the CPU is what the others are compared with";
  }
  ~UpdateDeviceTest() override {
    if (cases_ > 0) std::printf("%d updates compared bit by bit\n", cases_);
  }

  // One rule a table, in turn. Tables may be said to have more rows than there is memory for.
  static std::vector<Tensor> Run(Context& ctx, const BatchShape& shape,
                                 const std::vector<AnyRule>& rules, int64_t more_rows = 0) {
    RandomBatch batch(ctx, shape);
    LookupArgs gradient = batch.Gradient();
    std::vector<LookupFeature> features(gradient.features.begin(), gradient.features.end());
    for (LookupFeature& f : features) f.num_rows += more_rows;
    gradient.features = features;
    std::vector<UpdateTable> updates;
    std::vector<Tensor> results = batch.tables();
    for (size_t t = 0; t < shape.dims.size(); ++t) {
      const AnyRule& rule = rules[t % rules.size()];
      UpdateTable update{
          batch.tables()[t].data<float>(), shape.rows + more_rows, shape.dims[t], {}, &rule, {}};
      for (int f = 0; f < batch.num_features(); ++f)
        if (batch.table_of(f) == t) update.features.push_back(f);
      for (const StateSpec& spec : RuleStates(rule)) {
        results.push_back(Tensor::Full(
            ctx, spec.per_row ? Shape{shape.rows} : Shape{shape.rows, shape.dims[t]}, 0.5));
        update.states.push_back(results.back().data<float>());
      }
      updates.push_back(update);
    }
    Update(ctx, {gradient, updates, 3});
    return results;
  }

  void ExpectCpuBits(const BatchShape& shape, const std::vector<AnyRule>& rules,
                     const std::vector<AnyRule>& rules_on_cpu = {}, int64_t more_rows = 0) {
    ++cases_;
    const std::vector<Tensor> expected =
        Run(cpu_, shape, rules_on_cpu.empty() ? rules : rules_on_cpu, more_rows);
    const std::vector<Tensor> got = Run(ctx(), shape, rules, more_rows);
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_TRUE(SameBits(expected[i], got[i].To(ctx(), Device::Cpu())))
          << "tensor " << i << " of " << Describe(shape) << ", rule " << RuleName(rules[0]);
  }

  static std::string Describe(const BatchShape& s) {
    std::string dims;
    for (const int64_t dim : s.dims) dims += " " + std::to_string(dim);
    return Format("dims{}, batch {}, rows {}, mean length {}, weighted {}, pooling {}, skew {}",
                  dims, s.batch, s.rows, s.mean_length, s.weighted, static_cast<int>(s.pooling),
                  s.skew);
  }

  Context cpu_{{.threads = 2}};
  int cases_ = 0;
};

const std::vector<AnyRule>& Rules() {
  static const std::vector<AnyRule> rules = {
      Sgd{0.1f},
      Adagrad{0.1f},
      RowwiseAdagrad{0.1f},
      RowwiseAdagrad{0.1f, 1e-8f, 0.01f, WeightDecayMode::kL2, 1.5f},
      Adam{0.1f, 1e-8f, 0.9, 0.999, 0.01f, false},
      PartialRowwiseAdam{0.1f, 1e-8f, 0.9, 0.999, 0.01f}};
  return rules;
}

constexpr PoolingType kPoolings[] = {PoolingType::kSum, PoolingType::kMean, PoolingType::kNone};

TEST_P(UpdateDeviceTest, EveryRulePoolingWeightDimAndSkew) {
  unsigned seed = 1;
  for (const AnyRule& rule : Rules())
    for (const PoolingType pooling : kPoolings)
      for (const bool weighted : {false, true})
        for (const std::vector<int64_t>& dims : {std::vector<int64_t>{1, 4}, {16, 20}, {33, 128}})
          for (const double skew : {0.0, 6.0}) {
            if (weighted && pooling == PoolingType::kNone) continue;
            ExpectCpuBits({.dims = dims,
                           .rows = 40,
                           .batch = 9,
                           .mean_length = 3,
                           .weighted = weighted,
                           .wide_ids = seed % 2 == 0,
                           .pooling = pooling,
                           .skew = skew,
                           .pruned_ids = seed % 3 == 0,
                           .features_per_table = 2,
                           .seed = seed++},
                          {rule});
          }
}

// Runs of one chunk, of several, of so many that blocks share them; sorted by one block or by all.
TEST_P(UpdateDeviceTest, EveryRuleAndLengthOfRun) {
  unsigned seed = 1000;
  for (const AnyRule& rule : Rules())
    for (const int64_t rows : {1, 3, 30})
      for (const int64_t batch : {30, 150, 400})
        for (const std::vector<int64_t>& dims : {std::vector<int64_t>{4, 8}, {5, 36}})
          ExpectCpuBits({.dims = dims,
                         .rows = rows,
                         .batch = batch,
                         .mean_length = 4,
                         .weighted = seed % 2 == 0,
                         .pooling = kPoolings[seed % 3 % 2],
                         .seed = seed++},
                        {rule});
}

// Tables of so many rows that keys take 64 bits: sorted by one block, and by all.
TEST_P(UpdateDeviceTest, KeysOf64Bits) {
  for (const int64_t batch : {10, 400})
    ExpectCpuBits({.dims = {4, 7},
                   .rows = 30,
                   .batch = batch,
                   .skew = 4,
                   .pruned_ids = true,
                   .features_per_table = 2,
                   .seed = 8},
                  {RowwiseAdagrad{0.1f}}, {}, int64_t{1} << 33);
}

TEST_P(UpdateDeviceTest, WideRows) {
  unsigned seed = 2000;
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{129, 132}, {260, 512}, {7000}})
    for (const AnyRule& rule : {Rules()[2], Rules()[3], Rules()[4]})
      ExpectCpuBits({.dims = dims, .rows = 6, .batch = 4, .mean_length = 2, .seed = seed++},
                    {rule});
}

TEST_P(UpdateDeviceTest, AnyMixOfRulesAndDimsInOneCall) {
  std::vector<int64_t> dims;
  for (int t = 0; t < 20; ++t) dims.push_back(std::vector<int64_t>{4, 16, 3, 64}[t % 4]);
  for (const int64_t batch : {3, 60})
    ExpectCpuBits({.dims = dims,
                   .rows = 12,
                   .batch = batch,
                   .mean_length = 3,
                   .weighted = true,
                   .skew = 3,
                   .pruned_ids = true,
                   .features_per_table = 3,
                   .seed = 9},
                  Rules());
}

// More tables and features than one launch takes.
TEST_P(UpdateDeviceTest, ManyTables) {
  ExpectCpuBits({.dims = std::vector<int64_t>(150, 4),
                 .rows = 5,
                 .batch = 2,
                 .mean_length = 1,
                 .features_per_table = 2,
                 .seed = 4},
                {Sgd{0.1f}});
}

TEST_P(UpdateDeviceTest, NothingToUpdate) {
  ExpectCpuBits({.dims = {8}, .batch = 4, .mean_length = 0}, {Adagrad{0.1f}});
  ExpectCpuBits({.dims = {8}, .batch = 0}, {Adagrad{0.1f}});
}

TEST_P(UpdateDeviceTest, GradientsOfRowsAndDenseOnes) {
  unsigned seed = 3000;
  for (const int64_t batch : {3, 200})
    for (const int64_t dim : {3, 16}) {
      const BatchShape shape = {.dims = {dim, dim},
                                .rows = 7,
                                .batch = batch,
                                .skew = 2,
                                .pruned_ids = true,
                                .features_per_table = 2,
                                .seed = seed++};
      RandomBatch here(cpu_, shape), there(ctx(), shape);
      const auto table = [&](const RandomBatch& batch_of) {
        return UpdateTable{
            batch_of.tables()[1].data<float>(), shape.rows, dim, {1, 3}, nullptr, {}};
      };
      const RowGradients expected = ComputeRowGradients(cpu_, here.Gradient(), table(here)),
                         got = ComputeRowGradients(ctx(), there.Gradient(), table(there));
      EXPECT_TRUE(SameBits(expected.rows, got.rows.To(ctx(), Device::Cpu())));
      EXPECT_TRUE(SameBits(expected.grads, got.grads.To(ctx(), Device::Cpu())));
      EXPECT_TRUE(SameBits(ComputeDenseGradient(cpu_, here.Gradient(), table(here)),
                           ComputeDenseGradient(ctx(), there.Gradient(), table(there))));
    }
}

TEST_P(UpdateDeviceTest, RulesFromOutsideTheLibrary) {
  if constexpr (kWithCuda)
    ExpectCpuBits({.dims = {16, 5}, .rows = 20, .batch = 20, .seed = 6},
                  {testing::SignRuleOnCuda(0.1f)}, {testing::SignRuleOnCpu(0.1f)});
  const BatchShape shape = {.dims = {4}};
  EXPECT_THROW(Run(ctx(), shape, {testing::SignRuleOnCpu(0.1f)}), Error);
}

// Random shapes and rules: a seeded tenth, or all under tools/test --all.
TEST_P(UpdateDeviceTest, RandomShapes) {
  const int cases = std::getenv("TESSERA_TEST_ALL") ? 200 : 20;
  std::mt19937 random(20261121);
  for (int c = 0; c < cases; ++c) {
    const BatchShape shape = testing::RandomShape(random, {.rows = 60, .batch = 60});
    const auto first = static_cast<size_t>(random() % 6);
    ExpectCpuBits(shape, {Rules()[first], Rules()[(first + 1) % 6]});
  }
}

TESSERA_INSTANTIATE_DEVICES(UpdateDeviceTest);

}  // namespace
}  // namespace tessera
