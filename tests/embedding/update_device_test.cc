// An update on a GPU gives the CPU's bits: every rule × pooling × weighted × dim × skew, runs of
// every length class, any mix of rules and dims in one call, rules from outside the library.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "embedding/update/update.h"
#include "runtime/device/dispatch.h"
#include "tests/embedding/custom_rule_on_cuda.h"
#include "tests/testing/devices.h"
#include "tests/testing/random_batch.h"
#include "tests/testing/rules.h"
#include "tests/testing/update_tables.h"

namespace tessera {
namespace {

using testing::AllRules;
using testing::BatchShape;
using testing::RandomBatch;
using testing::UpdateTables;

// Tables may be said to have more rows than there is memory for.
struct Options {
  int64_t more_rows = 0;
  DType state_type = DType::kF32;
  RowRounding rounding = {};
};

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

  // One rule a table, in turn.
  static std::vector<Tensor> Run(Context& ctx, const BatchShape& shape,
                                 const std::vector<AnyRule>& rules, const Options& options = {}) {
    RandomBatch batch(ctx, shape);
    LookupArgs gradient = batch.Gradient();
    std::vector<LookupFeature> features(gradient.features.begin(), gradient.features.end());
    for (LookupFeature& f : features) f.num_rows += options.more_rows;
    gradient.features = features;
    const UpdateTables tables(ctx, batch, shape, rules, options.state_type, options.rounding,
                              options.more_rows);
    Update(ctx, {gradient, tables.tables(), 3});
    return tables.Results();
  }

  void ExpectCpuBits(const BatchShape& shape, const std::vector<AnyRule>& rules,
                     const std::vector<AnyRule>& rules_on_cpu = {}, const Options& options = {}) {
    ++cases_;
    const std::vector<Tensor> expected =
        Run(cpu_, shape, rules_on_cpu.empty() ? rules : rules_on_cpu, options);
    const std::vector<Tensor> got = Run(ctx(), shape, rules, options);
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

constexpr PoolingType kPoolings[] = {PoolingType::kSum, PoolingType::kMean, PoolingType::kNone};

TEST_P(UpdateDeviceTest, EveryRulePoolingWeightDimAndSkew) {
  unsigned seed = 1;
  for (const AnyRule& rule : AllRules())
    for (const PoolingType pooling : kPoolings)
      for (const bool weighted : {false, true})
        for (const double skew : {0.0, 6.0}) {
          const std::vector<int64_t> all_dims[] = {{1, 4}, {16, 20}, {33, 128}};
          for (const std::vector<int64_t>& dims : all_dims) {
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
}

// Runs of one chunk, of several, and of so many that blocks share them; sorted by one block or by
// all.
TEST_P(UpdateDeviceTest, EveryRuleAndLengthOfRun) {
  unsigned seed = 1000;
  for (const AnyRule& rule : AllRules())
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

// Rows and states of 16 bits, rounded to nearest and by chance; parts of tables.
TEST_P(UpdateDeviceTest, EveryRuleAndRowType) {
  unsigned seed = 5000;
  for (const AnyRule& rule : AllRules())
    for (const DType row : {DType::kF16, DType::kBF16})
      for (const bool stochastic : {false, true}) {
        const DType state = seed % 3 == 0 ? row : DType::kF32;
        const RowRounding rounding = {stochastic, seed, 3, seed % 2 ? 8 : 2, nullptr};
        ExpectCpuBits({.dims = {1, 4, 20, 36},
                       .rows = 12,
                       .batch = 6,
                       .mean_length = 3,
                       .row_type = row,
                       .seed = seed++},
                      {rule}, {}, {.state_type = state, .rounding = rounding});
      }
}

// Gradients of 16 bits: rows in registers and in shared memory, runs of each length class.
TEST_P(UpdateDeviceTest, EveryRuleAndGradientType) {
  unsigned seed = 7000;
  for (const AnyRule& rule : AllRules())
    for (const DType gradient : {DType::kF16, DType::kBF16})
      for (const PoolingType pooling : kPoolings)
        ExpectCpuBits({.dims = {3, 4, 20, 64, 132},
                       .rows = seed % 2 ? 30 : 5,
                       .batch = seed % 2 ? 9 : 400,
                       .mean_length = 2,
                       .weighted = pooling == PoolingType::kSum,
                       .pooling = pooling,
                       .skew = 3,
                       .features_per_table = 2,
                       .row_type = seed % 3 ? DType::kF32 : DType::kBF16,
                       .gradient_type = gradient,
                       .seed = seed++},
                      {rule});
}

TEST_P(UpdateDeviceTest, TablesWithGradientsOfSeveralTypesInOneCall) {
  const BatchShape shape = {.dims = {8, 8, 16, 8}, .rows = 12, .batch = 30};
  const std::vector<AnyRule> rules = {RowwiseAdagrad{0.1f}};
  const auto run = [&](Context& on) {
    BatchShape narrow_shape = shape;
    narrow_shape.gradient_type = DType::kF16;
    RandomBatch wide(on, shape), narrow(on, narrow_shape);
    LookupArgs gradient = wide.Gradient();
    std::vector<LookupFeature> features(gradient.features.begin(), gradient.features.end());
    features[1] = narrow.Gradient().features[1];
    features[2] = narrow.Gradient().features[2];
    gradient.features = features;
    const UpdateTables tables(on, wide, shape, rules);
    Update(on, {gradient, tables.tables(), 3});
    return tables.Results();
  };
  const std::vector<Tensor> expected = run(cpu_), got = run(ctx());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(SameBits(expected[i], got[i].To(ctx(), Device::Cpu()))) << "tensor " << i;
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
                  {RowwiseAdagrad{0.1f}}, {}, {.more_rows = int64_t{1} << 33});
}

TEST_P(UpdateDeviceTest, WideRows) {
  unsigned seed = 2000;
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{129, 132}, {260, 512}, {7000}})
    for (const AnyRule& rule : std::initializer_list<AnyRule>{
             RowwiseAdagrad{0.1f, 1e-6f},
             RowwiseAdagrad{0.1f, 1e-6f, 0.02f, WeightDecayMode::kDecouple, 2.0f},
             Adam{0.1f, 1e-6f, 0.9, 0.99, 0.01f},
             PartialRowwiseLamb{0.1f, 1e-6f, 0.9, 0.99, 0.01f}})
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
                  AllRules());
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
    const auto first = static_cast<size_t>(random() % AllRules().size());
    ExpectCpuBits(shape, {AllRules()[first], AllRules()[(first + 1) % AllRules().size()]});
  }
}

TESSERA_INSTANTIATE_DEVICES(UpdateDeviceTest);

}  // namespace
}  // namespace tessera
