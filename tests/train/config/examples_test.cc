// Every configuration of examples/ is read, and what is written of it reads the same; every type of
// model has one.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "train/config/train_config.h"

namespace tessera {
namespace {

TEST(Examples, AreReadAndWritten) {
  int configs = 0;
  std::set<std::string> types;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("examples")) {
    if (entry.path().extension() != ".json") continue;
    const TrainConfig config = ReadTrainConfig(entry.path().string());
    const std::string text = ToJson(config);
    EXPECT_EQ(ToJson(ParseTrainConfig(text, "again")), text) << entry.path();
    types.insert(ToString(config.model.type));
    ++configs;
  }
  EXPECT_GE(configs, 15);
  for (const RankingModelType type : kRankingModelTypes)
    EXPECT_TRUE(types.contains(ToString(type))) << ToString(type);
}

}  // namespace
}  // namespace tessera
