#include "train/checkpoint/kept_checkpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/context.h"
#include "runtime/tensor.h"
#include "tests/testing/error_of.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class KeptCheckpointsTest : public ::testing::Test {
 protected:
  KeptCheckpointsTest() {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }

  // A file whose tensor and progress say its step.
  void Write(int64_t step, const std::string& path) {
    const Tensor tensor = Tensor::Full(ctx_, {2}, static_cast<double>(step));
    WriteCheckpoint(ctx_, path, {{"t", tensor}}, {.step = step}, "{}");
  }
  void Save(KeptCheckpoints& kept, int64_t step) {
    kept.BeforeSave(step);
    Write(step, path_);
    kept.AfterSave(step);
  }
  int64_t StepIn(const std::string& path) { return ReadCheckpoint(path).progress->step; }
  // The steps of the names; each file says the same.
  std::vector<int64_t> Kept() {
    std::vector<int64_t> steps;
    for (const KeptCheckpoint& kept : KeptBeside(path_)) {
      EXPECT_EQ(StepIn(kept.path), kept.step);
      steps.push_back(kept.step);
    }
    return steps;
  }

  Context ctx_;
  const std::string folder_ = ::testing::TempDir() + "/kept", path_ = folder_ + "/m.safetensors";
};

TEST_F(KeptCheckpointsTest, NamesGoBothWays) {
  EXPECT_THAT(KeptPath(path_, 1000), ::testing::EndsWith("/m.step-00001000.safetensors"));
  EXPECT_THAT(KeptPath(folder_ + "/r/", 123456789), ::testing::EndsWith("/r.step-123456789"));
  EXPECT_TRUE(IsKeptPath(path_, folder_ + "/../kept/m.step-00000007.safetensors"));
  for (const char* other : {"/m.safetensors", "/m.step-7.safetensors", "/m.step-00000007",
                            "/m.step-.safetensors", "/n.step-00000007.safetensors",
                            "/m.step--0000007.safetensors", "/m.step-0000000x.safetensors"})
    EXPECT_FALSE(IsKeptPath(path_, folder_ + other)) << other;
}

TEST_F(KeptCheckpointsTest, TheLastOnesStay) {
  KeptCheckpoints kept(path_, 3, std::nullopt);
  Save(kept, 10);
  EXPECT_THAT(Kept(), IsEmpty());
  Save(kept, 20);
  Save(kept, 30);
  EXPECT_THAT(Kept(), ElementsAre(10, 20));
  Save(kept, 30);  // an epoch that ends at a save
  EXPECT_THAT(Kept(), ElementsAre(10, 20));
  Save(kept, 40);
  EXPECT_THAT(Kept(), ElementsAre(20, 30));
  EXPECT_EQ(StepIn(path_), 40);
  KeptCheckpoints fewer(path_, 1, 40);
  Save(fewer, 50);
  EXPECT_THAT(Kept(), IsEmpty());
}

TEST_F(KeptCheckpointsTest, AnEndAtAnyPointLeavesNothingForEver) {
  KeptCheckpoints first(path_, 2, std::nullopt);
  Save(first, 10);
  Save(first, 20);
  first.BeforeSave(30);  // ends before the save
  EXPECT_THAT(Kept(), ElementsAre(10, 20));
  KeptCheckpoints second(path_, 2, 20);
  second.BeforeSave(30);
  Write(30, path_);  // ends before older ones are removed
  KeptCheckpoints third(path_, 2, 30);
  Save(third, 40);
  EXPECT_THAT(Kept(), ElementsAre(30));
  EXPECT_EQ(StepIn(path_), 40);
}

TEST_F(KeptCheckpointsTest, ATrainingThatGoesBackDropsWhatCameAfter) {
  KeptCheckpoints kept(path_, 4, std::nullopt);
  for (const int64_t step : {10, 20, 30, 40}) Save(kept, step);
  KeptCheckpoints back(path_, 4, 20);  // begun from the one kept of step 20
  back.BeforeSave(25);
  EXPECT_THAT(Kept(), ElementsAre(10, 20, 30)) << "before the new one is complete";
  Write(25, path_);
  back.AfterSave(25);
  EXPECT_THAT(Kept(), ElementsAre(10, 20));
}

TEST_F(KeptCheckpointsTest, ThoseOfAnotherTrainingGoWithTheFirstSave) {
  KeptCheckpoints kept(path_, 3, std::nullopt);
  for (const int64_t step : {10, 20, 30}) Save(kept, step);
  std::ofstream(folder_ + "/m.step-7.safetensors") << "not of this form";
  KeptCheckpoints other(path_, 3, std::nullopt);
  Save(other, 25);
  EXPECT_THAT(Kept(), IsEmpty());
  EXPECT_TRUE(fs::exists(folder_ + "/m.step-7.safetensors"));
}

TEST_F(KeptCheckpointsTest, OfALinkTheTargetIsKept) {
  fs::create_directory(folder_ + "/elsewhere");
  Write(5, folder_ + "/elsewhere/t.safetensors");
  fs::create_symlink("elsewhere/t.safetensors", path_);
  KeptCheckpoints kept(path_, 2, std::nullopt);
  Save(kept, 10);
  Save(kept, 20);
  EXPECT_THAT(Kept(), ElementsAre(10));
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_EQ(StepIn(folder_ + "/elsewhere/t.step-00000010.safetensors"), 10);
}

TEST_F(KeptCheckpointsTest, ANumberThatMakesNoSenseIsRefused) {
  EXPECT_THAT(ErrorOf([&] { KeptCheckpoints(path_, 0, std::nullopt); }),
              HasSubstr("checkpoints to keep: expected at least 1, got 0"));
}

}  // namespace
}  // namespace tessera
