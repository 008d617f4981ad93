// A backward that is given gradients of 16 bits, the type of the outputs, has the bits of one that
// is given the same numbers in f32: beside every option of tables.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <optional>

#include "embedding/table_batched_embedding.h"
#include "runtime/fill_uniform.h"
#include "runtime/graph.h"
#include "tests/embedding/small_tables.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using testing::Filled;
using testing::SmallTable;

using Options = TableBatchedEmbeddingOptions;

// A case: tables "t" and "u", read by keys "a" and "b", and what is special about it.
struct Case {
  AnyRule rule = RowwiseAdagrad{0.1f};
  PoolingType pooling = PoolingType::kSum;  // of u; t's is MEAN
  Options options = {};
  std::function<void(BaseEmbeddingConfig&)> change = nullptr;  // of t
  bool inverse = false;                                        // the batch has inverse indices
  int micro_batches = 1;                                       // of a step
  bool some_missing = false;  // no gradient comes for the first output
};

class NarrowGradientsTest : public testing::DeviceTest {
 protected:
  static constexpr int64_t kBags = 6;

  TableBatchedEmbedding Tables(const Case& c, DType type) {
    Options options = c.options;
    options.output_type = type;
    options.rounding_seed = 3;
    std::vector<BaseEmbeddingConfig> configs = {Filled(SmallTable("t", 40, 16, c.rule), 0.5f),
                                                Filled(SmallTable("u", 40, 5, c.rule), 0.25f)};
    if (c.change) c.change(configs[0]);
    return TableBatchedEmbedding(ctx(), configs, {PoolingType::kMean, c.pooling},
                                 {{"a", 0, "a"}, {"b", 1, "b"}}, options);
  }

  // Long bags and short ones; `weights`: or undefined.
  KeyedJaggedTensor Kjt(const Case& c, const Variable& weights, int64_t seed) {
    std::vector<int64_t> ids(static_cast<size_t>(kIds));
    for (size_t i = 0; i < ids.size(); ++i)
      ids[i] = (static_cast<int64_t>(i * i) + seed) % (i % 3 ? 40 : 2);
    const std::vector<int64_t> lengths = {300, 1, 0, 2, 1, 46, 1, 1, 140, 0, 7, 1};
    KeyedJaggedTensorArgs args{.keys = {"a", "b"}, .values = Tensor::From(ctx(), ids)};
    args.lengths = Tensor::From(ctx(), lengths);
    args.weights = weights;
    if (c.inverse) {
      args.stride_per_key_per_rank = {{kBags}, {kBags}};
      args.inverse_indices = {{"a", "b"},
                              Tensor::From<int64_t>(ctx(), {2, 4}, {0, 5, 5, 1, 3, 3, 0, 2})};
    }
    return KeyedJaggedTensor(std::move(args)).Sync(ctx());
  }

  // Returns the same numbers for each output of a shape, rounded to `narrow`, in `type`.
  Tensor Gradient(const Shape& shape, DType narrow, DType type) {
    Context cpu;
    Tensor numbers = Tensor::Empty(cpu, shape);
    FillUniform(cpu, numbers, -2, 2);
    return numbers.To(cpu, narrow).To(ctx(), ctx().device()).To(ctx(), type);
  }

  void Step(const Case& c, TableBatchedEmbedding& tables, const KeyedJaggedTensor& kjt,
            DType narrow, DType type) {
    Tape tape(ctx());
    const EmbeddingOutputs out = tables.ForwardAll(ctx(), kjt);
    std::vector<Variable> outputs = {out.pooled};
    outputs.insert(outputs.end(), out.sequences.begin(), out.sequences.end());
    std::vector<Tensor> gradients;
    for (const Variable& output : outputs)
      gradients.push_back(Gradient(output.shape(), narrow, type));
    if (c.some_missing) {
      outputs.erase(outputs.begin());
      gradients.erase(gradients.begin());
    }
    tape.Backward(outputs, gradients);
  }

  // All that some steps leave: rows, states, gradients of weights, dense tables and rows.
  std::vector<Tensor> After(const Case& c, DType narrow, DType type) {
    TableBatchedEmbedding tables = Tables(c, narrow);
    std::vector<Tensor> left;
    for (int64_t step = 0; step < 2; ++step) {
      if (c.micro_batches > 1) tables.AccumulateForwards(c.micro_batches);
      for (int m = 0; m < c.micro_batches; ++m) {
        const Variable weights =
            c.options.weighted ? Variable(Tensor::Full(ctx(), {kIds}, 0.75), true) : Variable();
        Step(c, tables, Kjt(c, weights, 3 * step + m), narrow, type);
        if (weights.defined()) left.push_back(weights.grad());
      }
    }
    for (int t = 0; t < 2; ++t) {
      if (tables.table(t).location != EmbeddingLocation::kDevice) tables.caches().Flush(ctx());
      left.push_back(tables.weight(t).Clone(ctx()));
      for (const OptimizerState& state : tables.optimizer_states(t)) left.push_back(state.tensor);
      if (std::holds_alternative<Dense>(c.rule)) left.push_back(tables.weight_variable(t).grad());
      if (std::holds_alternative<None>(c.rule)) left.push_back(tables.row_gradients(t).grads);
    }
    return left;
  }

  void ExpectSame(const Case& c) {
    for (const DType narrow : {DType::kF16, DType::kBF16}) {
      const std::vector<Tensor> expected = After(c, narrow, DType::kF32),
                                got = After(c, narrow, narrow);
      ASSERT_EQ(got.size(), expected.size());
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_TRUE(SameBits(got[i], expected[i])) << ToString(narrow) << ", tensor " << i;
    }
  }

  static constexpr int64_t kIds = 500;
};

TEST_P(NarrowGradientsTest, Pooled) {
  const std::vector<AnyRule> rules = {
      Sgd{0.1f}, Adam{0.1f}, RowwiseAdagrad{0.1f}, PartialRowwiseLamb{0.1f}, Dense{}, None{}};
  for (const AnyRule& rule : rules) ExpectSame({.rule = rule});
}

TEST_P(NarrowGradientsTest, Sequences) {
  ExpectSame({.pooling = PoolingType::kNone});
  ExpectSame({.pooling = PoolingType::kNone, .some_missing = true});
}

TEST_P(NarrowGradientsTest, WeightsAndTheirGradients) {
  ExpectSame({.options = {.weighted = true}});
  ExpectSame({.rule = GlobalDecayRowwiseAdagrad{0.1f}, .options = {.weighted = true}});
}

TEST_P(NarrowGradientsTest, Clipped) { ExpectSame({.options = {.max_gradient = 0.3f}}); }

TEST_P(NarrowGradientsTest, BatchesWithInverseIndices) {
  ExpectSame({.inverse = true});
  ExpectSame({.options = {.weighted = true}, .inverse = true});
}

TEST_P(NarrowGradientsTest, MicroBatches) {
  ExpectSame({.micro_batches = 2});
  ExpectSame({.pooling = PoolingType::kNone, .micro_batches = 2});
}

TEST_P(NarrowGradientsTest, RowsOf16BitsRoundedByChance) {
  ExpectSame({.rule = Adam{0.1f}, .change = [](BaseEmbeddingConfig& t) {
                t.data_type = t.state_type = DType::kBF16;
                t.stochastic_rounding = true;
              }});
}

TEST_P(NarrowGradientsTest, RowsThroughACache) {
  ExpectSame({.change = [](BaseEmbeddingConfig& t) {
    t.location = EmbeddingLocation::kManagedCaching;
    t.cache = {.ways = 2, .load_factor = 0.5};
  }});
}

TEST_P(NarrowGradientsTest, RecordedSteps) {
  if (on_cpu()) GTEST_SKIP() << "SKIPPED: a CPU has no graphs";
  Case c = {.rule = Adam{0.1f}};
  c.options.bounds_check = BoundsCheckMode::kWarning;
  for (const DType narrow : {DType::kF16, DType::kBF16}) {
    TableBatchedEmbedding plain = Tables(c, narrow), launched = Tables(c, narrow);
    const KeyedJaggedTensor kjt = Kjt(c, {}, 1);
    const Tensor gradient = Gradient({kBags, 21}, narrow, narrow),
                 wide = gradient.To(ctx(), DType::kF32);
    const auto step = [&](TableBatchedEmbedding& tables, const Tensor& given) {
      Tape tape(ctx());
      tape.Backward(tables.Forward(ctx(), kjt), given);
    };
    const CudaGraph graph = CudaGraph::Capture(ctx(), [&] { step(launched, gradient); });
    for (int i = 0; i < 5; ++i) {
      step(plain, wide);
      graph.Launch(ctx());
    }
    for (int t = 0; t < 2; ++t) EXPECT_TRUE(SameBits(plain.weight(t), launched.weight(t)));
  }
}

TESSERA_INSTANTIATE_DEVICES(NarrowGradientsTest);

}  // namespace
}  // namespace tessera
