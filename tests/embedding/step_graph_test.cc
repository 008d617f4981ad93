// A training step of tables, captured once in a CUDA graph and replayed with other ids, gives what
// plain steps give; and nothing in it waits for the device, since such a step could not be
// captured.
#include <gtest/gtest.h>

#include "embedding/table_batched_embedding.h"
#include "runtime/graph.h"
#include "runtime/ops/arithmetic.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

class StepGraphTest : public testing::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (on_cpu()) GTEST_SKIP() << "SKIPPED: a CPU has no graphs";
  }
  TableBatchedEmbedding Tables(BoundsCheckMode mode) {
    const auto table = [&](const char* name, int64_t dim) {
      BaseEmbeddingConfig config;
      config.name = name;
      config.num_embeddings = 20;
      config.embedding_dim = dim;
      config.optimizer = RowwiseAdagrad{0.1f};
      config.init_fn = [](Context& ctx, const Tensor& weight) { weight.Fill(ctx, 0.5); };
      return config;
    };
    return TableBatchedEmbedding(ctx(), {table("t", 8), table("u", 3)},
                                 {PoolingType::kSum, PoolingType::kMean},
                                 {{"a", 0, "a"}, {"b", 1, "b"}}, {.bounds_check = mode});
  }
  void Step(TableBatchedEmbedding& tables, const KeyedJaggedTensor& kjt) {
    Tape tape(ctx());
    const Variable out = tables.Forward(ctx(), kjt);
    tape.Backward(Sum(ctx(), Mul(ctx(), out, out)));
  }
};

TEST_P(StepGraphTest, ReplaysAStepOnOtherIds) {
  // Few ids are sorted by one block, many by all of the device.
  for (const int64_t bags : {3, 400}) {
    for (const BoundsCheckMode mode :
         {BoundsCheckMode::kNone, BoundsCheckMode::kIgnore, BoundsCheckMode::kWarning}) {
      TableBatchedEmbedding plain = Tables(mode), replayed = Tables(mode);
      const Tensor lengths = Tensor::Full(ctx(), {2 * bags}, 2, DType::kI64);
      const auto ids = [&](int64_t seed) {
        std::vector<int64_t> values;
        for (int64_t i = 0; i < 4 * bags; ++i) values.push_back((i * i + 7 * seed) % 23);
        return Tensor::From(ctx(), values);
      };
      const auto kjt_of = [&](const Tensor& values) {
        return KeyedJaggedTensor::FromLengthsSync({"a", "b"}, values, lengths).Sync(ctx());
      };
      const KeyedJaggedTensor kjt = kjt_of(ids(0));
      Step(replayed, kjt);  // outside the graph: as any other
      Step(plain, kjt);
      const CudaGraph graph = CudaGraph::Capture(ctx(), [&] { Step(replayed, kjt); });
      for (int64_t seed = 1; seed <= 3; ++seed) {
        kjt.values().CopyFrom(ctx(), ids(seed));
        graph.Launch(ctx());
        Step(plain, kjt_of(ids(seed)));
      }
      for (int t = 0; t < 2; ++t)
        EXPECT_TRUE(SameBits(plain.weight(t), replayed.weight(t))) << bags << " bags, table " << t;
      EXPECT_EQ(plain.bounds_check_warnings(), replayed.bounds_check_warnings());
    }
  }
}

TESSERA_INSTANTIATE_DEVICES(StepGraphTest);

}  // namespace
}  // namespace tessera
