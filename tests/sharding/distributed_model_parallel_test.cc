#include "sharding/distributed_model_parallel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "comm/local_communicator.h"
#include "embedding/deltas/model_delta_tracker.h"
#include "runtime/ops/arithmetic.h"
#include "sharding/plan/plan_makers.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

std::vector<float> Values(const Tensor& t) { return t.ToHost().ToVector<float>(); }

class DistributedModelParallelTest : public testing::DeviceTest {
 protected:
  void OnRanks(int ranks, const std::function<void(Context&, Communicator&)>& fn) {
    RunLocalRanks(ranks, [&](Communicator& comm) {
      Context own({.device = device(), .threads = 1, .seed = 4});
      fn(own, comm);
      own.Sync();
    });
  }
};

std::vector<NamedParameter> MakeParameters(Context& ctx, int rank) {
  std::vector<NamedParameter> parameters;
  for (int p = 0; p < 3; ++p)
    parameters.push_back(
        {"p" + std::to_string(p), Variable(Tensor::Full(ctx, {p + 1, 2}, 10 * rank + p), true)});
  return parameters;
}

TEST_P(DistributedModelParallelTest, ParametersStartAsRankZeros) {
  OnRanks(3, [](Context& ctx, Communicator& comm) {
    const std::vector<NamedParameter> parameters = MakeParameters(ctx, comm.rank());
    DistributedModelParallel parallel(ctx, comm, parameters);
    for (int p = 0; p < 3; ++p)
      for (const float x : Values(parameters[static_cast<size_t>(p)].variable.value()))
        EXPECT_EQ(x, static_cast<float>(p));
  });
}

TEST_P(DistributedModelParallelTest, GradientsAreAveragedOrSummed) {
  for (const int64_t bucket_bytes : {1, 20, 1 << 20})
    for (const bool average : {true, false})
      OnRanks(3, [&](Context& ctx, Communicator& comm) {
        std::vector<NamedParameter> parameters = MakeParameters(ctx, comm.rank());
        DistributedModelParallel parallel(ctx, comm, parameters,
                                          {.bucket_bytes = bucket_bytes, .average = average});
        // Rank r has gradient r + 1; none arrives for p1 on rank 0.
        for (int p = 0; p < 3; ++p)
          if (p != 1 || comm.rank() != 0)
            parameters[static_cast<size_t>(p)].variable.AccumulateGrad(
                ctx, Tensor::Full(ctx, {p + 1, 2}, comm.rank() + 1));
        parallel.AverageGradients(ctx);
        for (int p = 0; p < 3; ++p) {
          const float sum = p == 1 ? 5 : 6;
          for (const float x : Values(parameters[static_cast<size_t>(p)].variable.grad()))
            EXPECT_FLOAT_EQ(x, average ? sum / 3 : sum);
        }
      });
}

// Optimizers leave a parameter without a gradient as it is, on ranks as in one process.
TEST_P(DistributedModelParallelTest, WhatNoRankUsedStaysWithoutAGradient) {
  for (const int ranks : {1, 2})
    OnRanks(ranks, [](Context& ctx, Communicator& comm) {
      std::vector<NamedParameter> parameters = MakeParameters(ctx, comm.rank());
      DistributedModelParallel parallel(ctx, comm, parameters);
      for (int step = 0; step < 2; ++step) {
        for (NamedParameter& parameter : parameters) parameter.variable.ZeroGrad();
        parameters[0].variable.AccumulateGrad(ctx, Tensor::Full(ctx, {1, 2}, 1));
        if (step == 0 && comm.rank() == 0)
          parameters[2].variable.AccumulateGrad(ctx, Tensor::Full(ctx, {3, 2}, 1));
        parallel.AverageGradients(ctx);
        EXPECT_TRUE(parameters[0].variable.grad().defined());
        EXPECT_FALSE(parameters[1].variable.grad().defined());
        EXPECT_EQ(parameters[2].variable.grad().defined(), step == 0);
      }
    });
}

// Gradients of 2,000 numbers, the last 208 of which are no whole row of a codec.
TEST_P(DistributedModelParallelTest, CodecsRoundGradientsAlikeOnAllRanks) {
  constexpr int64_t kNumbers = 2000;
  for (const char* codec : {"fp32", "fp16", "bf16", "int8", "fp8_rows"}) {
    SCOPED_TRACE(codec);
    std::vector<std::vector<float>> means(3);
    std::vector<int64_t> bytes(3);
    OnRanks(3, [&](Context& ctx, Communicator& comm) {
      std::vector<float> mine;
      for (int64_t i = 0; i < kNumbers; ++i)
        mine.push_back(std::sin(static_cast<float>(i + 700 * comm.rank())));
      std::vector<NamedParameter> parameters = {
          {"p", Variable(Tensor::Zeros(ctx, {kNumbers}), true)}};
      DistributedModelParallel parallel(ctx, comm, parameters, {.codec = ParseWireCodec(codec)});
      parameters[0].variable.AccumulateGrad(ctx, Tensor::From(ctx, mine));
      const int64_t before = comm.bytes_sent();
      parallel.AverageGradients(ctx);
      const auto r = static_cast<size_t>(comm.rank());
      means[r] = Values(parameters[0].variable.grad());
      bytes[r] = comm.bytes_sent() - before;
    });
    const bool exact = std::string(codec) == "fp32";
    EXPECT_EQ(means[1], means[0]);
    EXPECT_EQ(means[2], means[0]);
    for (int64_t i = 0; i < kNumbers; ++i) {
      float mean = 0;
      for (int r = 0; r < 3; ++r) mean += std::sin(static_cast<float>(i + 700 * r)) / 3;
      ASSERT_NEAR(means[0][static_cast<size_t>(i)], mean, exact ? 1e-6 : 0.1);
    }
    const auto sent = static_cast<double>(bytes[0] + bytes[1] + bytes[2]);
    const double of_floats = 2 * 2 * kNumbers * sizeof(float);
    if (exact)
      EXPECT_GE(sent, of_floats);
    else
      EXPECT_LT(sent, 0.51 * of_floats);
  }
}

// y = ((x·p0)·p1)·p2, elementwise: backward meets p2 first. Gradients are those of the plain way,
// and all but the last bucket have left before AverageGradients.
TEST_P(DistributedModelParallelTest, BucketsLeaveInsideBackward) {
  for (const int64_t bucket_bytes : {int64_t{1}, int64_t{8}, int64_t{1} << 20})
    OnRanks(2, [&](Context& ctx, Communicator& comm) {
      std::vector<std::vector<float>> expected;
      for (const bool overlap : {false, true}) {
        std::vector<NamedParameter> parameters;
        for (int p = 0; p < 3; ++p)
          parameters.push_back(
              {"p" + std::to_string(p), Variable(Tensor::Full(ctx, {1, 2}, p + 2), true)});
        DistributedModelParallel parallel(
            ctx, comm, parameters,
            {.bucket_bytes = bucket_bytes, .first_bucket_bytes = bucket_bytes});
        for (int step = 0; step < 2; ++step) {
          Tape tape(ctx);
          Variable y = Tensor::Full(ctx, {1, 2}, comm.rank() + 1);
          for (const NamedParameter& p : parameters) y = Mul(ctx, y, p.variable);
          if (overlap) parallel.Overlap(ctx, tape);
          const int64_t before = comm.bytes_sent();
          tape.Backward(y, Tensor::Full(ctx, {1, 2}, 1));
          EXPECT_EQ(comm.bytes_sent() > before, overlap);
          parallel.AverageGradients(ctx);
          for (size_t p = 0; p < 3; ++p) {
            const std::vector<float> got = Values(parameters[p].variable.grad());
            EXPECT_FLOAT_EQ(got[0], 1.5f * 24 / static_cast<float>(p + 2));
            if (!overlap && step == 0) expected.push_back(got);
            EXPECT_EQ(got, expected[p]);
            parameters[p].variable.ZeroGrad();
          }
        }
      }
    });
}

TEST_P(DistributedModelParallelTest, DifferentParametersAreNamed) {
  try {
    OnRanks(2, [](Context& ctx, Communicator& comm) {
      std::vector<NamedParameter> parameters = MakeParameters(ctx, 0);
      if (comm.rank() == 1) parameters.pop_back();
      DistributedModelParallel parallel(ctx, comm, parameters);
    });
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("dense parameters"), std::string::npos)
        << error.what();
  }
}

// 2 x 2 ranks: each sharding group trains on its own batches, then replicas are averaged.
TEST_P(DistributedModelParallelTest, TwoDimensionsFollowTheFormula) {
  constexpr int64_t kRows = 6, kDim = 4;
  constexpr float kRate = 0.5f;
  BaseEmbeddingConfig config;
  config.name = "t";
  config.num_embeddings = kRows;
  config.embedding_dim = kDim;
  config.feature_names = {"f"};
  config.optimizer = Adagrad{.lr = kRate, .eps = 1e-3f};
  config.init_range = std::pair(1.0f, 1.0f);
  std::mutex mutex;
  std::map<int, std::vector<float>> rows_of, states_of;
  for (const bool states : {false, true}) {
    OnRanks(4, [&](Context& ctx, Communicator& world) {
      const TwoDimensionalGroups groups = MakeTwoDimensionalGroups(world, 2);
      EXPECT_EQ(groups.sharding->size(), 2);
      EXPECT_EQ(groups.sharding->rank(), world.rank() / 2);
      EXPECT_EQ(groups.replicas->rank(), world.rank() % 2);
      const TableShape shape{"t", kRows, kDim};
      ShardedTables tables(
          ctx, *groups.sharding, {config}, {PoolingType::kSum}, {{"f", 0, "f"}},
          MakeShardingPlan({.world_size = 2, .local_size = 2}, {&shape, 1}, RowWise()));
      // World rank r names row r and row 5, with gradient r + 1.
      const KeyedJaggedTensor kjt = KeyedJaggedTensor::FromLengthsSync(
          {"f"}, Tensor::From(ctx, std::vector<int64_t>{world.rank(), 5}),
          Tensor::From(ctx, std::vector<int64_t>{2}));
      Tape tape(ctx);
      const Variable out = tables.Forward(ctx, kjt)[0];
      tape.Backward(out, Tensor::Full(ctx, {1, kDim}, world.rank() + 1));
      AverageReplicas(ctx, *groups.replicas, tables, states);
      const HeldShard held = tables.shards()[0];
      const std::lock_guard lock(mutex);
      rows_of[world.rank()] = Values(held.tables->weight(held.index));
      states_of[world.rank()] = Values(held.tables->optimizer_states(held.index)[0].tensor);
    });
    // Group 0 is ranks 0 and 2, group 1 ranks 1 and 3. A row's gradient is the mean over its group.
    const float gradient[2][kRows] = {{0.5f, 0, 1.5f, 0, 0, 2}, {0, 1, 0, 2, 0, 3}};
    for (int rank = 0; rank < 4; ++rank)
      for (int64_t r = 0; r < 3; ++r) {
        const int64_t row = rank / 2 * 3 + r;
        float weight = 0, state = 0;
        for (int g = 0; g < 2; ++g) {
          const float grad = gradient[g][row];
          weight += (1 - (grad != 0 ? kRate * grad / (grad + 1e-3f) : 0)) / 2;
          state += grad * grad / 2;
        }
        if (!states) state = gradient[rank % 2][row] * gradient[rank % 2][row];
        for (int64_t d = 0; d < kDim; ++d) {
          const auto i = static_cast<size_t>(r * kDim + d);
          EXPECT_NEAR(rows_of[rank][i], weight, 1e-6) << "rank " << rank << " row " << row;
          EXPECT_NEAR(states_of[rank][i], state, 1e-6) << "rank " << rank << " row " << row;
        }
      }
  }
}

// Rows that no group has changed keep their bits, also where three equal numbers have a sum that,
// divided by 3, is another number; tables are larger than what travels at a time.
TEST_P(DistributedModelParallelTest, EqualReplicasKeepTheirBits) {
  constexpr int64_t kRows = 270'000, kDim = 4;
  for (const DType type : {DType::kF32, DType::kBF16})
    OnRanks(3, [&](Context& ctx, Communicator& world) {
      const TwoDimensionalGroups groups = MakeTwoDimensionalGroups(world, 1);
      BaseEmbeddingConfig config;
      config.name = "t";
      config.num_embeddings = kRows;
      config.embedding_dim = kDim;
      config.feature_names = {"f"};
      config.data_type = type;
      config.optimizer = MomentumSgd{};
      const TableShape shape{"t", kRows, kDim};
      ShardedTables tables(ctx, *groups.sharding, {config}, {PoolingType::kSum}, {{"f", 0, "f"}},
                           MakeShardingPlan({1, 1}, {&shape, 1}, TableWise(0)));
      const HeldShard held = tables.shards()[0];
      ModelDeltaTracker tracker(ctx, *held.tables);
      const Tensor weight = held.tables->weight(held.index), before = weight.Clone(ctx);
      const Tensor last = weight.Rows(kRows - 1, kRows);
      last.Fill(ctx, world.rank() + 1);
      AverageReplicas(ctx, *groups.replicas, tables, /*states=*/true);
      EXPECT_TRUE(SameBits(weight.Rows(0, kRows - 1).ToHost(), before.Rows(0, kRows - 1).ToHost()));
      EXPECT_EQ(Values(last.To(ctx, DType::kF32)), std::vector<float>(kDim, 2));
      EXPECT_EQ(tracker.GetUnique(ctx)[0].ids.numel(), kRows);
    });
}

TESSERA_INSTANTIATE_DEVICES(DistributedModelParallelTest);

}  // namespace
}  // namespace tessera
