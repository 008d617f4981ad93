// The metrics of a training on a device, beside those of the same on the CPU.
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/testing/devices.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/ranks_run.h"
#include "train/run/training_metrics.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

class TrainingMetricsOnDevices : public testing::DeviceTest {
 protected:
  static std::vector<Json> LinesOf(Context& ctx, const std::string& name) {
    TrainConfig config = testing::SmallConfig();
    config.data.rows = 200;
    config.data.eval_rows = 100;
    config.epochs = 1;
    config.metrics = ParseRecMetricsConfig(
        R"({"compute_interval_steps": 2, "throughput_metric": null,
            "rec_metrics": {"ne": {}, "ctr": {"window_size": 64}, "mse": {}}})",
        "metrics");
    const std::string path = testing::TempPath(name);
    Trainer trainer(ctx, config);
    RunTraining(trainer, DataSets(config, {}), {.metrics = {.json_lines = path}});
    std::istringstream text(testing::ReadFile(path));
    std::vector<Json> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
    return lines;
  }
};

TEST_P(TrainingMetricsOnDevices, AreThoseOfTheCpu) {
  Context host({.threads = 2, .seed = 7});
  const std::vector<Json> got = LinesOf(ctx(), "device.jsonl"), want = LinesOf(host, "cpu.jsonl");
  ASSERT_EQ(got.size(), 3u);  // after 2 steps, 4, and of the evaluation
  ASSERT_EQ(want.size(), got.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i]["step"], want[i]["step"]);
    ASSERT_EQ(got[i]["metrics"].size(), want[i]["metrics"].size());
    for (const auto& [key, value] : want[i]["metrics"].items())
      EXPECT_NEAR(got[i]["metrics"][key].get<double>(), value.get<double>(), 1e-4) << key;
  }
}
TESSERA_INSTANTIATE_DEVICES(TrainingMetricsOnDevices);

}  // namespace
}  // namespace tessera
