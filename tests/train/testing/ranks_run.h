#ifndef TESSERA_TESTS_TRAIN_TESTING_RANKS_RUN_H_
#define TESSERA_TESTS_TRAIN_TESTING_RANKS_RUN_H_
// Small trainings, of ranks or none, and what they came to.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "comm/local_communicator.h"
#include "tests/train/testing/small_run.h"
#include "train/checkpoint/whole_tables.h"
#include "train/ranks_plan.h"
#include "train/run/training_run.h"

namespace tessera::testing {

struct RunCurve {
  std::vector<double> losses;  // one a step
  MetricValues evaluation;     // the last one
};

// Trains as configured; this rank's part. Begins from the folder `from`, ends in `checkpoint`,
// where they are given.
inline RunCurve CurveOf(const TrainConfig& config, std::optional<TrainingRanks> ranks = {},
                        const std::string& checkpoint = "", const std::string& from = "",
                        Device device = Device::Cpu()) {
  Context ctx({.device = device, .threads = 1, .seed = config.seed});
  Trainer trainer(ctx, config, std::move(ranks));
  if (!from.empty()) {
    ShardedCheckpoint saved(from);
    trainer.Load(saved);
  }
  RunCurve curve;
  TrainingRunOptions options{.checkpoint = checkpoint};
  options.on_step = [&](const StepReport& step) { curve.losses.push_back(step.loss); };
  curve.evaluation = *RunTraining(trainer, DataSets(config, {}), options).evaluation;
  return curve;
}

inline std::vector<TableShape> ShapesOf(const TrainConfig& config) {
  std::vector<TableShape> shapes;
  for (const EmbeddingBagConfig& t : config.tables)
    shapes.push_back({t.name, t.num_embeddings, t.embedding_dim});
  return shapes;
}

inline ShardingPlan PlanFor(const TrainConfig& config, int ranks, const std::string& choice) {
  return MakeRanksPlan(choice, {ranks, ranks}, ShapesOf(config), config.managed_collision);
}

// Runs on ranks that are threads.
inline RunCurve CurveOfRanks(const TrainConfig& config, int ranks, const ShardingPlan& plan,
                             const std::string& folder = "", const WireCodecs& codecs = {}) {
  RunCurve curve;
  RunLocalRanks(ranks, [&](Communicator& comm) {
    RunCurve mine = CurveOf(config, TrainingRanks{&comm, plan, codecs}, folder);
    if (comm.rank() == 0) curve = std::move(mine);
  });
  return curve;
}

// The folder of ranks as a file, whose path is returned.
inline std::string Exported(const std::string& folder) {
  ShardedCheckpoint checkpoint(folder);
  const std::string path = folder + ".safetensors";
  WriteWhole(WholeTables(checkpoint), path);
  return path;
}

// All that a checkpoint's file holds.
inline std::vector<NamedTensor> TensorsOf(const std::string& path) {
  Context ctx({.threads = 1});
  const Checkpoint checkpoint = ReadCheckpoint(path);
  std::vector<NamedTensor> tensors;
  for (const CheckpointEntry& entry : checkpoint.tensors)
    tensors.push_back({entry.name, checkpoint.Read(ctx, entry)});
  return tensors;
}

inline void ExpectNear(const RunCurve& curve, const RunCurve& expected, double tolerance) {
  ASSERT_EQ(curve.losses.size(), expected.losses.size());
  for (size_t i = 0; i < curve.losses.size(); ++i)
    EXPECT_NEAR(curve.losses[i], expected.losses[i], tolerance * expected.losses[i]) << i;
  EXPECT_NEAR(curve.evaluation.log_loss, expected.evaluation.log_loss, tolerance);
  EXPECT_NEAR(curve.evaluation.auc, expected.evaluation.auc, 1e-3);
  EXPECT_EQ(curve.evaluation.examples, expected.evaluation.examples);
}

// A plan of SmallConfig's tables: by rows, on the last rank, on all.
inline ShardingPlan MixedPlan(const TrainConfig& config, int ranks) {
  return MakeShardingPlan({ranks, ranks}, ShapesOf(config),
                          {{"a", RowWise()}, {"b", TableWise(ranks - 1)}, {"c", DataParallel()}});
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TRAIN_TESTING_RANKS_RUN_H_
