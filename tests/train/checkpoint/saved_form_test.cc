#include "train/checkpoint/saved_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/train/testing/files.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/kept_checkpoints.h"

namespace tessera {
namespace {

using ::testing::EndsWith;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::TempPath;

// A folder that holds an empty file of that name.
std::string FolderWith(const std::string& name) {
  const std::string folder = TempPath("form");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/" + name);
  return folder;
}

TEST(SavedFormTest, IsToldByWhatIsThere) {
  EXPECT_EQ(DetectForm(FolderWith("00000001.base.safetensors")), SavedForm::kIncremental);
  EXPECT_EQ(DetectForm(FolderWith("index.json")), SavedForm::kRanks);
  EXPECT_EQ(DetectForm(FolderWith("00000003.ranks.json")), SavedForm::kRankChains);
  EXPECT_EQ(DetectForm(FolderWith("model.json")), SavedForm::kModelDirectory);
  EXPECT_EQ(DetectForm(FolderWith(".metadata")), SavedForm::kPyTorchFolder);
  EXPECT_THAT(ErrorOf([&] { DetectForm(TempPath("nowhere")); }),
              HasSubstr("nowhere: cannot be read: there is no such file or folder"));
  EXPECT_THAT(ErrorOf([&] { DetectForm(FolderWith("text") + "/text"); }),
              HasSubstr("it is no safetensors file"));
  EXPECT_THAT(ErrorOf([&] { DetectForm(FolderWith("rows-00000.safetensors")); }),
              HasSubstr("it is a folder of rows that tessera preprocess wrote"));
  EXPECT_EQ(FormIn(FolderWith("other")), std::nullopt);
  const std::string run = FolderWith("best.safetensors"), last = run + "/last";
  std::filesystem::create_directories(last);
  std::ofstream(last + "/index.json") << "{}";
  EXPECT_THAT(ErrorOf([&] { DetectForm(run); }),
              HasSubstr("it is no saved model itself; name one of those in it: " + run +
                        "/best.safetensors, " + last));
  EXPECT_THAT(ErrorOf([&] { DetectForm(FolderWith("other")); }),
              HasSubstr("there is no saved model in this folder"));
}

TEST(SavedFormTest, FilesOfRanksWithoutAnIndexAreNoSave) {
  const std::string folder = FolderWith("save-1-rank-0.safetensors");
  const auto error = [&] { return ErrorOf([&] { DetectForm(folder); }); };
  EXPECT_THAT(error(), HasSubstr("no save of it is complete: index.json is missing"));
  EXPECT_THAT(error(), EndsWith("begin the training anew"));
  const std::string kept = KeptPath(folder, 100);
  std::filesystem::create_directories(kept);
  std::ofstream(kept + "/index.json") << "{}";
  EXPECT_THAT(error(), EndsWith("begin the training anew, or go on from " + kept));
}

TEST(SavedFormTest, WeightsWithoutTheirModelAreNone) {
  const std::string folder = FolderWith("weights-3.safetensors");
  EXPECT_THAT(ErrorOf([&] { DetectForm(folder); }),
              HasSubstr(folder + "/model.json: it is missing, but " + folder +
                        "/weights-3.safetensors is there"));
}

TEST(SavedFormTest, WhatIsNoCheckpointSaysWhatToDoFirst) {
  const std::string model = FolderWith("model.json");
  EXPECT_THAT(ErrorOf([&] { ReadCheckpoint(model); }),
              HasSubstr(model + ": it is a model directory of tessera quantize"));
  const std::string pytorch = FolderWith(".metadata");
  EXPECT_THAT(ErrorOf([&] { ReadCheckpoint(pytorch); }),
              HasSubstr("tools/dcp_to_safetensors.py " + pytorch + " FILE"));
}

}  // namespace
}  // namespace tessera
