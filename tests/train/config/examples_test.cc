// Every configuration of examples/ is read, and what is written of it reads the same.
#include <gtest/gtest.h>

#include <filesystem>

#include "train/config/train_config.h"

namespace tessera {
namespace {

TEST(Examples, AreReadAndWritten) {
  int configs = 0;
  for (const auto& entry : std::filesystem::directory_iterator("examples")) {
    if (entry.path().extension() != ".json") continue;
    const std::string text = ToJson(ReadTrainConfig(entry.path().string()));
    EXPECT_EQ(ToJson(ParseTrainConfig(text, "again")), text) << entry.path();
    ++configs;
  }
  EXPECT_GE(configs, 9);
}

}  // namespace
}  // namespace tessera
