#include "train/planner_model.h"

#include <gtest/gtest.h>

#include "runtime/context.h"
#include "tests/train/testing/small_run.h"
#include "train/model_config.h"

namespace tessera {
namespace {

TEST(PlannerModelTest, SaysWhatTheTrainingHas) {
  TrainConfig config = testing::SmallConfig();
  config.tables[0].data_type = DType::kBF16;
  config.batch_size = 100;
  const PlannerModel model = PlannerModelOf(config, 3, ComputeDevice::kCpu);
  CheckModel(model);
  EXPECT_EQ(model.batch_size, 33);
  ASSERT_EQ(model.tables.size(), config.tables.size());
  for (size_t t = 0; t < config.tables.size(); ++t) {
    const PlannerTable& table = model.tables[t];
    EXPECT_EQ(table.name, config.tables[t].name);
    EXPECT_EQ(table.rows, config.tables[t].num_embeddings);
    EXPECT_EQ(table.dim, config.tables[t].embedding_dim);
    EXPECT_EQ(table.dtype, t == 0 ? RowDType::kBf16 : RowDType::kFp32);
    EXPECT_EQ(table.optimizer, RuleName(config.tables[t].optimizer));
    EXPECT_EQ(LoadOf(model, table).ids, 33.0 * static_cast<double>(table.features.size()));
  }
  Context ctx;
  const RankingModel whole(ctx, RankingModelConfigOf(config));
  int64_t bytes = 0;
  for (const NamedParameter& p : whole.Parameters()) bytes += p.variable.value().nbytes();
  EXPECT_EQ(model.dense_parameter_bytes, bytes);
}

TEST(PlannerModelTest, StatesAreOfTheConfiguredType) {
  TrainConfig config = testing::SmallConfig();
  const auto type = [&](AnyRule rule, DType state_type) {
    config.tables[0].optimizer = std::move(rule);
    config.tables[0].state_type = state_type;
    return PlannerModelOf(config, 1, ComputeDevice::kCpu).tables[0].state_dtype;
  };
  EXPECT_EQ(type(AdamW{}, DType::kF32), RowDType::kFp32);
  EXPECT_EQ(type(AdamW{}, DType::kBF16), RowDType::kBf16);
  EXPECT_EQ(type(Dense{}, DType::kF32), std::nullopt);
}

// The optimizers allocate states that options add, too, and for dense tables a gradient.
TEST(PlannerModelTest, AllThatTrainingKeepsOfARowIsCounted) {
  TrainConfig config = testing::SmallConfig();
  const auto kept = [&](AnyRule rule, DType state_type = DType::kF32) {
    config.tables[0].optimizer = std::move(rule);
    config.tables[0].state_type = state_type;
    return PlannerModelOf(config, 1, ComputeDevice::kCpu).tables[0].kept_bytes;
  };
  const auto kept_under = [&](const char* dense, bool amsgrad = false) {
    config.dense_optimizer = DenseOptimizerConfig(dense);
    config.dense_optimizer.amsgrad = amsgrad;
    return kept(Dense{});
  };
  EXPECT_EQ(kept(Sgd{}), (KeptBytes{0, 0}));
  EXPECT_EQ(kept(RowwiseAdagrad{}), (KeptBytes{0, 4}));
  EXPECT_EQ(kept(Adam{}), (KeptBytes{8, 0}));
  EXPECT_EQ(kept(Adam{.use_rowwise_bias_correction = true}), (KeptBytes{8, 4}));
  EXPECT_EQ(kept(Adam{.use_rowwise_bias_correction = true}, DType::kBF16), (KeptBytes{4, 4}))
      << "counters are f32";
  EXPECT_EQ(kept_under("sgd"), (KeptBytes{4, 0}));
  EXPECT_EQ(kept_under("adam"), (KeptBytes{12, 0}));
  EXPECT_EQ(kept_under("adam", /*amsgrad=*/true), (KeptBytes{16, 0}));
  EXPECT_EQ(kept_under("rowwise_adagrad"), (KeptBytes{4, 4}));
}

TEST(PlannerModelTest, TablesStayWhereTheirConfigurationHasThem) {
  using enum PlanKernel;
  TrainConfig config = testing::SmallConfig();
  const auto kernels = [&](EmbeddingLocation location,
                           ComputeDevice device = ComputeDevice::kCuda) {
    config.tables[0].location = location;
    return PlannerModelOf(config, 1, device).constraints.at(config.tables[0].name).compute_kernels;
  };
  EXPECT_EQ(kernels(EmbeddingLocation::kDevice), std::vector<PlanKernel>{});
  EXPECT_EQ(kernels(EmbeddingLocation::kHost), std::vector{kFusedUvm});
  EXPECT_EQ(kernels(EmbeddingLocation::kManaged), std::vector{kFusedUvm});
  EXPECT_EQ(kernels(EmbeddingLocation::kManagedCaching), std::vector{kFusedUvmCaching});
  EXPECT_EQ(kernels(EmbeddingLocation::kDisk), std::vector{kKeyValue});
  for (const EmbeddingLocation memory :
       {EmbeddingLocation::kHost, EmbeddingLocation::kManaged, EmbeddingLocation::kManagedCaching})
    EXPECT_EQ(kernels(memory, ComputeDevice::kCpu), std::vector<PlanKernel>{});
  EXPECT_EQ(kernels(EmbeddingLocation::kDisk, ComputeDevice::kCpu), std::vector{kKeyValue});
}

TEST(PlannerModelTest, CachesAreThoseOfARun) {
  TrainConfig config = testing::SmallConfig();
  EmbeddingBagConfig& table = config.tables[0];
  const auto cache = [&] {
    return PlannerModelOf(config, 2, ComputeDevice::kCpu).constraints.at(table.name).cache_params;
  };
  EXPECT_FALSE(cache());
  table.location = EmbeddingLocation::kManagedCaching;
  table.cache.load_factor = 1;
  EXPECT_EQ(cache()->load_factor, kNearlyAllRows);
  EXPECT_TRUE(cache()->always);
  EXPECT_FALSE(cache()->bytes);
  table.cache.bytes = 1 << 20;
  EXPECT_EQ(cache()->bytes, 1 << 20);
  EXPECT_FALSE(cache()->load_factor);
  table.cache.ways = 4;
  EXPECT_EQ(cache()->ways, 4);
}

TEST(PlannerModelTest, EveryRankHasAtLeastOneExample) {
  TrainConfig config = testing::SmallConfig();
  config.batch_size = 2;
  EXPECT_EQ(PlannerModelOf(config, 8, ComputeDevice::kCpu).batch_size, 1);
}

}  // namespace
}  // namespace tessera
