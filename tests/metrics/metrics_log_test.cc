#include "metrics/log/metrics_log.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/base/check.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

std::vector<Json> Lines(const std::string& path) {
  std::vector<Json> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  return lines;
}

TEST(MetricsLog, ALineEachTimeThatIsThereAtOnce) {
  const std::string path = ::testing::TempDir() + "log.jsonl";
  MetricsLog log(path, false);
  log.Write({"train",
             1,
             100,
             {},
             1.5e9,
             0.5,
             {{"a", 0.25}, {"b", std::numeric_limits<double>::quiet_NaN()}}});
  EXPECT_EQ(Lines(path), std::vector<Json>{Json::parse(
                             R"({"phase": "train", "epoch": 1, "step": 100, "wall_time": 1.5e9,
                                 "loss": 0.5, "metrics": {"a": 0.25, "b": null}})")});
  log.Write({"eval", 1, 200, 0.25, 1.5e9, 0.5, {}, 4096});
  EXPECT_EQ(Lines(path).back(),
            Json::parse(
                R"({"phase": "eval", "epoch": 1, "step": 200, "epoch_fraction": 0.25,
                                 "wall_time": 1.5e9, "loss": 0.5, "metrics": {}, "memory_bytes": 4096})"));
  EXPECT_EQ(Lines(path).size(), 2u);
}

TEST(MetricsLog, BeginsAfreshOrGoesOn) {
  const std::string path = ::testing::TempDir() + "again.jsonl";
  MetricsLog(path, false).Write({});
  MetricsLog(path, true).Write({});
  EXPECT_EQ(Lines(path).size(), 2u);
  MetricsLog(path, false).Write({});
  EXPECT_EQ(Lines(path).size(), 1u);
}

TEST(MetricsLog, AFileThatCannotBeWrittenIsAnError) {
  EXPECT_THROW(MetricsLog("/nowhere/at/all.jsonl", false), Error);
}

}  // namespace
}  // namespace tessera
