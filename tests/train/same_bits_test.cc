// A configuration trains every type of model to the same bits on every machine: on each instruction
// set, with any number of threads, and on a GPU where products are portable.
#include <gtest/gtest.h>

#include <map>

#include "tests/testing/devices.h"
#include "tests/testing/isa_levels.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/model_configs.h"
#include "train/checkpoint/checkpoint.h"
#include "train/run/training_run.h"

namespace tessera {
namespace {

// CRC-32 of all tensors of the checkpoint. Whoever means to change a bit of a training writes down
// the new numbers, which the test prints.
const std::map<RankingModelType, std::string> kChecksums = {
    {RankingModelType::kDlrm, "1648498993"},          {RankingModelType::kDlrmDcn, "72026248"},
    {RankingModelType::kDlrmProjection, "978127061"}, {RankingModelType::kDeepFm, "650050515"},
    {RankingModelType::kMmoe, "3055850589"},          {RankingModelType::kPle, "95078306"},
    {RankingModelType::kTwoTower, "1734922362"}};

std::string ChecksumOfTraining(Device device, RankingModelType type, int threads) {
  const TrainConfig config = testing::ConfigOf(type);
  const std::string path = testing::TempPath(ToString(type) + ".safetensors");
  Context ctx({.device = device,
               .threads = threads,
               .seed = config.seed,
               .dense_products = DenseProducts::kPortable});
  Trainer trainer(ctx, config);
  RunTraining(trainer, DataSets(config, {}), {});
  trainer.Save(path);
  return ReadCheckpoint(path).metadata.at("crc32");
}

class SameBits : public testing::DeviceTest {};

TEST_P(SameBits, EveryTypeOfModelOnEveryInstructionSetWithAnyThreads) {
  for (const auto& [type, expected] : kChecksums)
    for (const IsaLevel level : testing::IsaLevels()) {
      const testing::ScopedIsa isa(level);
      for (const int threads : {1, 3})
        EXPECT_EQ(ChecksumOfTraining(device(), type, threads), expected)
            << ToString(type) << ", " << ToString(level) << ", threads: " << threads;
      if (!on_cpu()) break;  // its bits come from the GPU
    }
}

TESSERA_INSTANTIATE_DEVICES(SameBits);

}  // namespace
}  // namespace tessera
