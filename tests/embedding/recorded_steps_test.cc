// A step of tables that is recorded in a CudaGraph and launched many times has the bits of as many
// plain steps: rules that count steps, rounding by chance and changes of learning rates go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "embedding/table_batched_embedding.h"
#include "runtime/device/dispatch.h"
#include "runtime/graph.h"
#include "runtime/ops/arithmetic.h"
#include "tests/embedding/custom_rule_on_cuda.h"
#include "tests/testing/devices.h"
#include "tests/testing/rules.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class RecordedTableStepsTest : public testing::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    if (on_cpu()) GTEST_SKIP() << "SKIPPED: a CPU has no graphs";
    const Tensor lengths = Tensor::Full(ctx(), {4}, 2, DType::kI64);
    kjt_ = KeyedJaggedTensor::FromLengthsSync(
               {"a", "b"}, Tensor::From<int64_t>(ctx(), {8}, {0, 3, 3, 1, 2, 0, 0, 4}), lengths)
               .Sync(ctx());
  }
  TableBatchedEmbedding Tables(const AnyRule& rule, DType type = DType::kF32,
                               BoundsCheckMode mode = BoundsCheckMode::kWarning) {
    const auto table = [&](const char* name, int64_t dim) {
      BaseEmbeddingConfig config;
      config.name = name;
      config.num_embeddings = 5;
      config.embedding_dim = dim;
      config.optimizer = rule;
      config.data_type = type;
      config.stochastic_rounding = type != DType::kF32;
      config.init_fn = [](Context& ctx, const Tensor& weight) { weight.Fill(ctx, 0.5); };
      return config;
    };
    // The seed of chance is drawn when tables are made.
    ctx().random() = Random(7);
    return TableBatchedEmbedding(ctx(), {table("t", 8), table("u", 4)},
                                 {PoolingType::kSum, PoolingType::kMean},
                                 {{"a", 0, "a"}, {"b", 1, "b"}}, {.bounds_check = mode});
  }
  void Step(TableBatchedEmbedding& tables) {
    Tape tape(ctx());
    const Variable out = tables.Forward(ctx(), *kjt_);
    tape.Backward(Sum(ctx(), Mul(ctx(), out, out)));
  }
  void ExpectSame(const TableBatchedEmbedding& plain, const TableBatchedEmbedding& launched) {
    for (int t = 0; t < 2; ++t) {
      EXPECT_TRUE(SameBits(plain.weight(t), launched.weight(t))) << "table " << t;
      EXPECT_EQ(plain.iter(t), launched.iter(t));
      const auto expected = plain.optimizer_states(t), states = launched.optimizer_states(t);
      for (size_t s = 0; s < states.size(); ++s)
        EXPECT_TRUE(SameBits(expected[s].tensor, states[s].tensor)) << states[s].name;
    }
  }
  // Steps by launches beside plain steps; the rate falls on the way.
  void ExpectLaunchesAreSteps(const AnyRule& rule, int steps, DType type = DType::kF32) {
    TableBatchedEmbedding plain = Tables(rule, type), launched = Tables(rule, type);
    const CudaGraph graph = CudaGraph::Capture(ctx(), [&] { Step(launched); });
    EXPECT_EQ(launched.iter(), 0);
    for (int step = 0; step < steps; ++step) {
      if (step == steps / 2)
        for (TableBatchedEmbedding* tables : {&plain, &launched}) tables->SetLearningRate(0.003f);
      graph.Launch(ctx());
      Step(plain);
    }
    ExpectSame(plain, launched);
  }

  std::optional<KeyedJaggedTensor> kjt_;
};

TEST_P(RecordedTableStepsTest, AThousandLaunchesWithAdamAreAThousandSteps) {
  ExpectLaunchesAreSteps(Adam{0.01f}, 1000);
}

TEST_P(RecordedTableStepsTest, AThousandLaunchesWithStochasticRoundingAreAThousandSteps) {
  ExpectLaunchesAreSteps(Adam{0.01f}, 1000, DType::kBF16);
}

TEST_P(RecordedTableStepsTest, EveryRuleThatStepsAlikeGoesOn) {
  std::vector<AnyRule> rules = testing::AllRules();
  if constexpr (kWithCuda) rules.push_back(testing::SignRuleOnCuda(0.1f));
  for (AnyRule& rule : rules) {
    if (auto* counter = std::get_if<CounterRowwiseAdagrad>(&rule)) {
      counter->max_counter_update_freq = 0;
      counter->adjustment_iter = 3;
    }
    if (std::holds_alternative<EnsembleRowwiseAdagrad>(rule) ||
        std::holds_alternative<EmaInPlaceRowwiseAdagrad>(rule) ||
        std::holds_alternative<GlobalDecayRowwiseAdagrad>(rule))
      continue;  // below
    SCOPED_TRACE(RuleName(rule));
    ExpectLaunchesAreSteps(rule, 8);
    ExpectLaunchesAreSteps(rule, 8, DType::kF16);
  }
}

TEST_P(RecordedTableStepsTest, TwoStepsOfAGraphCountTwo) {
  TableBatchedEmbedding plain = Tables(Adam{0.1f}), launched = Tables(Adam{0.1f});
  const CudaGraph graph = CudaGraph::Capture(ctx(), [&] {
    Step(launched);
    Step(launched);
  });
  for (int i = 0; i < 3; ++i) graph.Launch(ctx());
  Step(launched);  // without the graph
  graph.Launch(ctx());
  for (int i = 0; i < 9; ++i) Step(plain);
  ExpectSame(plain, launched);
}

TEST_P(RecordedTableStepsTest, CountsAreThoseBeforeWhenARecordingFails) {
  TableBatchedEmbedding tables = Tables(Adam{0.1f});
  EXPECT_THAT(
      [&] {
        CudaGraph::Capture(ctx(), [&] {
          Step(tables);
          ctx().Sync();
        });
      },
      ThrowsMessage<Error>(HasSubstr("while a CUDA graph was recorded")));
  EXPECT_EQ(tables.iter(), 0);
  EXPECT_EQ(tables.iter(1), 0);
}

TEST_P(RecordedTableStepsTest, RulesThatActInSomeStepsAreRefused) {
  for (const AnyRule& rule :
       {AnyRule(EnsembleRowwiseAdagrad{0.1f}), AnyRule(EmaInPlaceRowwiseAdagrad{0.1f}),
        AnyRule(GlobalDecayRowwiseAdagrad{0.1f}), AnyRule(CounterRowwiseAdagrad{0.1f})}) {
    TableBatchedEmbedding tables = Tables(rule);
    EXPECT_THAT([&] { CudaGraph::Capture(ctx(), [&] { Step(tables); }); },
                ThrowsMessage<Error>(AllOf(HasSubstr(RuleName(rule)),
                                           HasSubstr("cannot be recorded in a CUDA graph"))));
    EXPECT_EQ(tables.iter(), 0);
  }
}

TEST_P(RecordedTableStepsTest, ABoundsCheckThatThrowsIsRefused) {
  TableBatchedEmbedding tables = Tables(Adam{0.1f}, DType::kF32, BoundsCheckMode::kFatal);
  EXPECT_THAT([&] { CudaGraph::Capture(ctx(), [&] { Step(tables); }); },
              ThrowsMessage<Error>(HasSubstr("a bounds check in mode FATAL cannot be recorded")));
  EXPECT_EQ(tables.iter(), 0);
}

TEST_P(RecordedTableStepsTest, ALaunchRefusesTablesThatHaveChanged) {
  TableBatchedEmbedding tables = Tables(Adam{0.1f});
  const CudaGraph graph = CudaGraph::Capture(ctx(), [&] { Step(tables); });
  tables.SetFrozen(0, true);
  EXPECT_THAT([&] { graph.Launch(ctx()); }, ThrowsMessage<Error>(HasSubstr("table t was frozen")));
  tables.SetFrozen(0, false);
  tables.set_iter(1, 5);
  EXPECT_THAT([&] { graph.Launch(ctx()); },
              ThrowsMessage<Error>(AllOf(HasSubstr("tables t and u"), HasSubstr("1 and 6"))));
}

TESSERA_INSTANTIATE_DEVICES(RecordedTableStepsTest);

}  // namespace
}  // namespace tessera
