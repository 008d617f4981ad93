#include "train/run/checkpoint_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/context.h"
#include "runtime/files/safetensors.h"
#include "tests/testing/error_of.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/raw_ids_config.h"
#include "tests/train/testing/small_run.h"
#include "train/run/training_run.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::SmallConfig;
using testing::TempPath;
using testing::WriteFile;

// All paths that begin with "/a" on a disk of so many free bytes, all others on another one.
auto TwoDisks(double free_a, double free_other) {
  return [=](const std::string& path) {
    const bool is_a = path.starts_with("/a");
    return DiskThere{is_a ? "/a" : "/", is_a ? 1u : 2u, is_a ? free_a : free_other};
  };
}

std::string Refused(const std::vector<SavedCheckpoints>& saved, double free_a, double free_other) {
  return ErrorOf([&] { CheckCheckpointSpace(SmallConfig(), saved, TwoDisks(free_a, free_other)); });
}

// A trained model takes the bytes that were told before, but for names and counters.
TEST(CheckpointSpace, BytesAreThoseOfTheFile) {
  for (const char* dense : {R"({"name": "adam", "lr": 0.01, "amsgrad": true})",
                            R"({"name": "sgd", "lr": 0.01})", R"({"name": "adagrad"})"}) {
    Context ctx;
    TrainConfig config = SmallConfig(dense);
    config.epochs = 1;
    Trainer trainer(ctx, config);
    const std::string path = TempPath("space.safetensors");
    RunTraining(trainer, DataSets(config, {}), {.checkpoint = path});
    double tensors = 0;
    const SafetensorsFile file(path);
    for (const auto& [name, entry] : file.entries())
      if (entry.shape.rank() > 0) tensors += static_cast<double>(entry.nbytes());
    EXPECT_EQ(BytesOfCheckpoint(config), tensors) << dense;
    EXPECT_GE(BytesAt(path), tensors) << dense;
  }
}

// A checkpoint has state of raw ids before any has come, which is told before; ids come on top.
TEST(CheckpointSpace, StateOfRawIdsAtTheStartCounts) {
  const GrowingIndexOptions growing{.admit_after = 2, .sketch_bytes = 4096};
  const std::vector<ManagedTableConfig> kinds = {
      {growing, 3},
      {MchConfig{}, 0},
      {MchConfig{.eviction = MchEviction::kLru, .mch_size = 2}, 2},
      {HashZchOptions{}, 0},
      {HashZchOptions{.eviction = HashZchEviction::kSingleTtl, .single_ttl = 2}, 2}};
  for (const auto& [module, num_parts] : kinds) {
    const TrainConfig config = testing::RawIdsConfig(module, num_parts);
    Context ctx({.threads = 1});
    const std::string path = TempPath("ids.safetensors");
    Trainer(ctx, config).Save(path);
    double bytes = 0;
    const SafetensorsFile file(path);
    for (const auto& [name, entry] : file.entries())  // numbers and pairs come with any state
      if (IsIdState(name) && entry.shape.numel() > 2) bytes += static_cast<double>(entry.nbytes());
    EXPECT_GT(bytes, 0);
    EXPECT_EQ(BytesOfIdsAtStart({module, num_parts}, 12) * 2, bytes) << KindOf(module);
  }
  TrainConfig config = testing::RawIdsConfig(growing);
  const double with = BytesOfCheckpoint(config);
  for (auto& [table, ids] : config.managed_collision)
    std::get<GrowingIndexOptions>(ids.module).admit_after = 1;
  EXPECT_EQ(with - BytesOfCheckpoint(config), 2 * 4096);
}

TEST(CheckpointSpace, SlotsOfASamplingCorrectionCount) {
  TrainConfig config = SmallConfig();
  const double without = BytesOfCheckpoint(config);
  config.model.sampling_correction = SamplingCorrection{.slots = 1000};
  EXPECT_EQ(BytesOfCheckpoint(config), without + 1000 * 12);
}

TEST(CheckpointSpace, ANewOneIsCompleteBeforeAnOldOneGoes) {
  const double bytes = BytesOfCheckpoint(SmallConfig());
  EXPECT_EQ(Refused({{.path = "/a/x", .saves = 1}}, bytes, 0), "");
  EXPECT_NE(Refused({{.path = "/a/x", .saves = 1}}, bytes - 1, 1e18), "");
  EXPECT_EQ(Refused({{.path = "/a/x", .saves = 2}}, 2 * bytes, 0), "");
  EXPECT_NE(Refused({{.path = "/a/x", .saves = 2}}, 2 * bytes - 1, 1e18), "");
  EXPECT_EQ(Refused({{.path = "/a/x", .saves = 9, .kept = 3}}, 4 * bytes, 0), "");
  EXPECT_NE(Refused({{.path = "/a/x", .saves = 9, .kept = 3}}, 4 * bytes - 1, 1e18), "");
  EXPECT_EQ(Refused({{.path = "/a/x", .saves = 2, .kept = 9}}, 2 * bytes, 0), "");
}

TEST(CheckpointSpace, NamesOnOneDiskCountTogether) {
  const double bytes = BytesOfCheckpoint(SmallConfig());
  const std::vector<SavedCheckpoints> together = {{.path = "/a/x", .saves = 2}, {.path = "/a/y"}},
                                      apart = {{.path = "/a/x", .saves = 2}, {.path = "/y"}};
  EXPECT_EQ(Refused(together, 3 * bytes, 0), "");
  EXPECT_NE(Refused(together, 3 * bytes - 1, 1e18), "");
  EXPECT_EQ(Refused(apart, 2 * bytes, bytes), "");
  EXPECT_NE(Refused(apart, 2 * bytes, bytes - 1), "");
}

TEST(CheckpointSpace, WhatIsReplacedMakesRoomOnceTheNewOneIsThere) {
  const double bytes = BytesOfCheckpoint(SmallConfig());
  const std::string path = WriteFile("replaced", std::string(static_cast<size_t>(bytes), 'x'));
  const std::vector<SavedCheckpoints> saved = {{.path = "/a/x", .there = {path}, .saves = 5}};
  EXPECT_EQ(Refused(saved, bytes, 0), "");
  EXPECT_NE(Refused(saved, bytes - 1, 1e18), "");
}

TEST(CheckpointSpace, TheErrorSaysHowManyAreNeededAndWhere) {
  EXPECT_THAT(Refused({{.path = "/a/x", .saves = 2}}, 1024, 0),
              HasSubstr("KiB more on the disk of /a (each takes about"));
  EXPECT_THAT(Refused({{.path = "/a/x", .saves = 2}}, 1024, 0),
              HasSubstr("but 1.0 KiB are free there"));
}

TEST(CheckpointSpace, ADiskIsThatOfTheNearestFolder) {
  const std::string folder = std::filesystem::canonical(::testing::TempDir()).string();
  EXPECT_EQ(DiskOf(folder + "/not/there/yet").folder, folder);
  EXPECT_GT(DiskOf(folder).free, 0);
  EXPECT_EQ(DiskOf(folder).device, DiskOf(folder + "/x.safetensors").device);
}

}  // namespace
}  // namespace tessera
