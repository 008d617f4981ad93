#include "train/checkpoint/whole_tables.h"

#include <gtest/gtest.h>

#include "tests/sharding/checkpoint_for_tests.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::EmptyFolder;
using testing::ErrorOf;
using testing::Model;
using testing::RoomFor;
using testing::SameShard;
using testing::TempPath;

class WholeTablesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    model_ = {testing::WholeTable(ctx_, {"a", 9, 16}, 1),
              testing::WholeTable(ctx_, {"b", 4, 8}, 2, DType::kBF16)};
    dense_ = {{"over.bias", Tensor::Full(ctx_, {3}, 7)},
              {OptimizerStateName("over.bias", "sum"), Tensor::Full(ctx_, {3}, 8)}};
    const ShardingPlan plan =
        MakeShardingPlan({.world_size = 4, .local_size = 2}, testing::ShapesOf(model_),
                         {{"a", RowWise()}, {"b", ColumnWise({3, 0})}});
    RunLocalRanks(4, [&](Communicator& comm) {
      Context own({.threads = 1});
      CheckpointInfo info = testing::InfoOf(model_, plan);
      info.metadata = CheckpointMetadata(progress_, "{}");
      SaveShardedCheckpoint(own, comm, folder_, info,
                            testing::ShardsOf(own, model_, plan, comm.rank()), dense_);
    });
  }

  // The state of an unsharded model, under its names.
  std::vector<NamedTensor> StateOf(const Model& model, const std::vector<NamedTensor>& dense) {
    std::vector<NamedTensor> state = dense;
    for (const ShardTensors& table : model) {
      const std::string parameter = "bags." + table.table + ".weight";
      state.push_back({parameter, table.weights});
      for (const OptimizerState& s : table.states)
        state.push_back({OptimizerStateName(parameter, s.name), s.tensor});
    }
    return state;
  }

  Context ctx_{{.threads = 1}};
  const TrainingProgress progress_{.epoch = 1, .row = 2, .step = 3, .iter = 4, .seed = 5};
  const std::string folder_ = EmptyFolder("exported"), path_ = TempPath("exported.safetensors");
  Model model_;
  std::vector<NamedTensor> dense_;
};

TEST_F(WholeTablesTest, AnUnshardedModelLoadsIt) {
  ShardedCheckpoint from(folder_);
  WriteWhole(WholeTables(from), path_);
  const Checkpoint file = ReadCheckpoint(path_);
  EXPECT_EQ(file.progress, progress_);
  EXPECT_EQ(file.config, "{}");
  Model room;
  for (const ShardTensors& table : model_) room.push_back(RoomFor(ctx_, table, table.shard));
  const std::vector<NamedTensor> dense = {{dense_[0].name, Tensor::Zeros(ctx_, {3})},
                                          {dense_[1].name, Tensor::Zeros(ctx_, {3})}};
  Restore(ctx_, file, StateOf(room, dense));
  for (size_t t = 0; t < room.size(); ++t) EXPECT_TRUE(SameShard(room[t], model_[t]));
  for (size_t i = 0; i < dense.size(); ++i)
    EXPECT_TRUE(SameBits(dense[i].tensor, dense_[i].tensor));
}

TEST_F(WholeTablesTest, WeightsMayGoAlone) {
  ShardedCheckpoint from(folder_);
  int64_t last = 0, all = 0;
  WriteWhole(WholeTables(from), path_,
             {.run_state = false, .progress = [&](int64_t done, int64_t total) {
                last = done;
                all = total;
              }});
  const Checkpoint file = ReadCheckpoint(path_);
  EXPECT_FALSE(file.has_optimizer_state());
  EXPECT_FALSE(file.progress.has_value());
  EXPECT_EQ(file.tensors.size(), 3u);
  EXPECT_EQ(last, all);
  EXPECT_EQ(last, 9 * 16 * 4 + 4 * 8 * 2 + 3 * 4);
}

TEST_F(WholeTablesTest, CorruptionIsNamedAndNothingIsWritten) {
  ShardedCheckpoint from(folder_);
  const std::string part = folder_ + "/save-1-rank-2.safetensors";
  std::string bytes = testing::ReadFile(part);
  bytes.back() ^= 1;
  std::ofstream(part, std::ios::binary) << bytes;
  std::filesystem::remove(path_);
  EXPECT_NE(ErrorOf([&] { WriteWhole(WholeTables(from), path_); }).find("it is corrupt"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace tessera
