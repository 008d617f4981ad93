#include "train/checkpoint/version_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

#include "tests/train/testing/files.h"
#include "train/checkpoint/saved_form.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::TempPath;

// A folder with these subfolders, each with an empty model.json.
std::string FolderWith(std::initializer_list<const char*> subfolders) {
  const std::string folder = TempPath("versions");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const std::string name : subfolders) {
    std::filesystem::create_directory(folder + "/" + name);
    std::ofstream(folder + "/" + name + "/" + kModelName);
  }
  return folder;
}

std::vector<int64_t> NumbersIn(const std::string& folder) {
  std::vector<int64_t> numbers;
  for (const VersionFolder& version : VersionFoldersIn(folder)) numbers.push_back(version.number);
  return numbers;
}

TEST(VersionFolders, AreNamedByNumbers) {
  const std::string folder = FolderWith({"10", "9", "011", "0", "-1", "12a", "withdrawn-13", "x"});
  std::filesystem::create_directory(folder + "/14");  // no model.json yet
  EXPECT_THAT(NumbersIn(folder), ElementsAre(9, 10));
  EXPECT_EQ(NewestVersionOf(folder), folder + "/10");
  EXPECT_EQ(DetectForm(folder), SavedForm::kModelDirectory);
  EXPECT_EQ(HighestVersionIn(folder), 14);
  std::ofstream(folder + "/9/delta-17.safetensors");
  EXPECT_EQ(HighestVersionIn(folder), 17);
}

TEST(VersionFolders, ThatWereAllTakenBackAreNamed) {
  const std::string folder = FolderWith({"withdrawn-10", "withdrawn-9"});
  std::filesystem::create_directory(folder + "/withdrawn-11");  // holds no model
  EXPECT_THAT(WithdrawnIn(folder), ElementsAre(9, 10));
  EXPECT_FALSE(HoldsVersions(folder));
  EXPECT_THAT(
      ErrorOf([&] { DetectForm(folder); }),
      HasSubstr("all versions in this folder are withdrawn (withdrawn-9, withdrawn-10): mv " +
                folder + "/withdrawn-10 " + folder + "/10 makes the newest a version"));
  std::filesystem::rename(folder + "/withdrawn-10", folder + "/10");
  EXPECT_EQ(DetectForm(folder), SavedForm::kModelDirectory);
}

TEST(VersionFolders, AModelDirectoryIsNone) {
  const std::string folder = FolderWith({"1"});
  std::ofstream(folder + "/" + kModelName);
  EXPECT_FALSE(HoldsVersions(folder));
  EXPECT_EQ(NewestVersionOf(folder), folder);
  EXPECT_EQ(PlaceOfVersion(folder + "/1"), std::nullopt);
}

TEST(VersionFolders, AVersionKnowsItsPlace) {
  const std::string folder = FolderWith({"3"});
  for (const char* path : {"/3", "/3/", "/./3/."}) {
    const auto place = PlaceOfVersion(folder + path);
    ASSERT_TRUE(place.has_value()) << path;
    EXPECT_EQ(place->number, 3);
    EXPECT_TRUE(std::filesystem::equivalent(place->folder, folder));
  }
  EXPECT_FALSE(PlaceOfVersion(folder + "/4").has_value());
  EXPECT_FALSE(PlaceOfVersion(folder).has_value());
}

TEST(VersionFolders, AreTakenBackNewestFirst) {
  const std::string folder = FolderWith({"2", "3", "5", "6"});
  EXPECT_THAT(ErrorOf([&] { WithdrawAbove(folder, 4); }),
              HasSubstr("versions: there is no version 4, but 2, 3, 5, 6"));
  EXPECT_THAT(WithdrawAbove(folder, 3), ElementsAre(6, 5));
  EXPECT_THAT(WithdrawAbove(folder, 3), ElementsAre());
  EXPECT_THAT(NumbersIn(folder), ElementsAre(2, 3));
  EXPECT_EQ(HighestVersionIn(folder), 6);
}

TEST(VersionFolders, GoByTheNumbersOfTheirDeltas) {
  const std::string folder = FolderWith({"2", "6"});
  for (const char* delta : {"/2/delta-3.safetensors", "/2/delta-4.safetensors"})
    std::ofstream(folder + delta);
  const std::vector<VersionFolder> versions = VersionFoldersIn(folder);
  EXPECT_EQ(ListedVersions(versions), "2 with deltas to 4, 6");
  for (const int64_t number : {2, 3, 4}) EXPECT_EQ(FindVersion(versions, number), &versions[0]);
  EXPECT_EQ(FindVersion(versions, 5), nullptr);
  EXPECT_THAT(ErrorOf([&] { WithdrawAbove(folder, 3); }),
              HasSubstr("version 3 is a delta of version 2, which has deltas to 4: expected 2 or "
                        "4"));
  EXPECT_THAT(ErrorOf([&] { WithdrawAbove(folder, 5); }),
              HasSubstr("there is no version 5, but 2 with deltas to 4, 6"));
  EXPECT_THAT(WithdrawAbove(folder, 4), ElementsAre(6));
}

TEST(VersionFolders, OldOnesAreRemoved) {
  const std::string folder = FolderWith({"2", "3", "withdrawn-4", "5", "6", "withdrawn-7"});
  RemoveOldVersions(folder, 4);
  EXPECT_THAT(NumbersIn(folder), ElementsAre(2, 3, 5, 6));
  RemoveOldVersions(folder, 2);
  EXPECT_THAT(NumbersIn(folder), ElementsAre(5, 6));
  EXPECT_FALSE(std::filesystem::exists(folder + "/withdrawn-4"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/withdrawn-7"));
}

TEST(VersionFolders, WhatACrashLeftOfARemovalGoesWithTheNext) {
  const std::string folder = FolderWith({"removed-1", "2", "3"});
  RemoveOldVersions(folder, 1);
  EXPECT_THAT(NumbersIn(folder), ElementsAre(3));
  EXPECT_FALSE(std::filesystem::exists(folder + "/removed-1"));
}

}  // namespace
}  // namespace tessera
