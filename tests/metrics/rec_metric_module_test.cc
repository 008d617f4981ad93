#include "metrics/rec_metric_module.h"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "comm/local_communicator.h"
#include "tests/metrics/testing/metric_stream.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using tessera::testing::ErrorOf;

using testing::AllMetrics;
using testing::CountingClock;
using testing::MetricColumns;
using testing::RandomColumns;

std::vector<MetricColumns> Stream(int batches, size_t size, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<MetricColumns> stream;
  for (int b = 0; b < batches; ++b) stream.push_back(RandomColumns(random, size));
  return stream;
}

RecMetricModule Module(int64_t window, int ranks = 1) {
  return RecMetricModule(AllMetrics(window), {.ranks = ranks, .clock = CountingClock()});
}

// Compares two reports; NaN equals NaN.
void ExpectSame(const MetricReport& got, const MetricReport& want, double tolerance = 0) {
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [key, value] : want) {
    ASSERT_TRUE(got.contains(key)) << key;
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(got.at(key))) << key;
    else
      EXPECT_NEAR(got.at(key), value, tolerance * (1 + std::abs(value))) << key;
  }
}

TEST(RecMetricModule, KeysAreTorchRecs) {
  RecMetricModule module = Module(100);
  for (const MetricColumns& batch : Stream(3, 20)) module.Update(batch.Output());
  const MetricReport report = module.Compute();
  for (const char* key : {"ne-t|lifetime_ne",
                          "ne-t|window_ne",
                          "ne-t|window_logloss",
                          "auc-t|window_auc",
                          "auc-t|window_grouped_auc",
                          "auprc-t|lifetime_auprc",
                          "mse-t|window_rmse",
                          "mse-t|lifetime_r_squared",
                          "serving_ne-t|total_examples",
                          "serving_ne-t|window_ne",
                          "recalibrated_calibration-t|lifetime_calibration",
                          "gauc-t|window_gauc_num_samples",
                          "segmented_ne-t|lifetime_segmented_ne_2",
                          "segmented_ne-t|lifetime_logloss_0",
                          "segmented_ne-t|window_segmented_ne_0",
                          "weighted_avg-tensor|window_weighted_avg",
                          "weighted_avg-t|window_weighted_avg",
                          "output-t|output_latest_imp",
                          "tower_qps-t|total_examples",
                          "multiclass_recall-classes|window_multiclass_recall_3",
                          "multi_label_precision-sets|window_multi_label_precisionlabel_1",
                          "average-t|lifetime_label_average",
                          "average-t|window_prediction_average",
                          "throughput-throughput|total_examples",
                          "throughput-throughput|window_throughput",
                          "hindsight_target_pr-t|lifetime_hindsight_target_recall"})
    EXPECT_TRUE(report.contains(key)) << key;
  EXPECT_FALSE(report.contains("auc-t|lifetime_auc"));
}

TEST(RecMetricModule, EveryMetricEndsWithNaNPredictions) {
  RecMetricModule module = Module(100);
  for (MetricColumns batch : Stream(3, 30)) {
    for (size_t i = 0; i < batch.p.size(); i += 4) batch.p[i] = std::nanf("");
    module.Update(batch.Output());
  }
  const MetricReport report = module.Compute();
  for (const char* key : {"auc-t|window_auc", "rauc-t|window_grouped_rauc", "xauc-t|lifetime_xauc",
                          "ne-t|window_ne", "gauc-t|lifetime_gauc"})
    EXPECT_TRUE(std::isnan(report.at(key))) << key;
}

// Whether a value depends on the clock.
bool IsOfTime(const std::string& key) {
  return key.find("qps") != std::string::npos || key.find("throughput") != std::string::npos;
}
// Whether a value is that of each rank's last batch.
bool IsOfLastBatch(const std::string& key) {
  return key.starts_with("output") || key == "scalar-t|lifetime_scalar";
}

TEST(RecMetricModule, RanksTogetherAreOneProcessFedInRankOrder) {
  constexpr int kRanks = 4, kSteps = 9;
  // Windows of 5 batches a rank.
  const std::vector<MetricColumns> stream = Stream(kRanks * kSteps, 12);
  RecMetricModule whole = Module(12 * 5 * kRanks);
  std::vector<MetricReport> want;
  for (size_t b = 0; b < stream.size(); ++b) {
    whole.Update(stream[b].Output());
    if (b % kRanks == kRanks - 1) want.push_back(whole.Compute());
  }
  RunLocalRanks(kRanks, [&](Communicator& comm) {
    RecMetricModule mine = Module(12 * 5 * kRanks, kRanks);
    for (size_t step = 0; step < kSteps; ++step) {
      mine.Update(stream[step * kRanks + static_cast<size_t>(comm.rank())].Output());
      MetricReport got = mine.Compute(comm), expected = want[step];
      for (auto* report : {&got, &expected})
        std::erase_if(*report, [](const auto& entry) {
          return IsOfTime(entry.first) || IsOfLastBatch(entry.first);
        });
      ExpectSame(got, expected, 1e-12);
    }
  });
}

TEST(RecMetricModule, EveryRankComputesTheSame) {
  const std::vector<MetricColumns> stream = Stream(3, 30);
  std::mutex mutex;
  std::vector<MetricReport> reports;
  RunLocalRanks(3, [&](Communicator& comm) {
    RecMetricModule mine = Module(100, 3);
    mine.Update(stream[static_cast<size_t>(comm.rank())].Output());
    const MetricReport report = mine.Compute(comm);
    const std::lock_guard lock(mutex);
    reports.push_back(report);
  });
  ExpectSame(reports[1], reports[0]);
  ExpectSame(reports[2], reports[0]);
}

TEST(RecMetricModule, GoesOnWhereItStoppedBitByBit) {
  const std::vector<MetricColumns> stream = Stream(20, 25);
  RecMetricModule never_stopped = Module(130);
  std::vector<NamedTensor> saved;
  for (size_t b = 0; b < stream.size(); ++b) {
    if (b == 11) saved = never_stopped.State();
    never_stopped.Update(stream[b].Output());
  }
  RecMetricModule loaded = Module(130);
  loaded.Update(stream[3].Output());  // which is forgotten
  loaded.Load(saved);
  EXPECT_EQ(loaded.updates(), 11);
  for (size_t b = 11; b < stream.size(); ++b) loaded.Update(stream[b].Output());
  MetricReport got = loaded.Compute(), want = never_stopped.Compute();
  for (auto* report : {&got, &want})
    std::erase_if(*report, [](const auto& entry) { return IsOfTime(entry.first); });
  ExpectSame(got, want);
}

TEST(RecMetricModule, StateOfRanksFitsAnyNumberOfRanks) {
  constexpr int kRanks = 4;
  const std::vector<MetricColumns> stream = Stream(kRanks * 3, 10);
  std::mutex mutex;
  std::vector<NamedTensor> saved;
  MetricReport want;
  RunLocalRanks(kRanks, [&](Communicator& comm) {
    RecMetricModule mine = Module(1000, kRanks);
    for (size_t step = 0; step < 3; ++step)
      mine.Update(stream[step * kRanks + static_cast<size_t>(comm.rank())].Output());
    const auto state = mine.State(comm);
    const auto report = mine.Compute(comm);
    if (!IsLeader(comm)) return;
    const std::lock_guard lock(mutex);
    saved = state;
    want = report;
  });
  EXPECT_EQ(saved[0].name, "metrics.0.updates");
  for (const int ranks : {1, 2, 3, 4, 6}) {
    RunLocalRanks(ranks, [&](Communicator& comm) {
      RecMetricModule mine = Module(1000, ranks);
      mine.Load(saved, comm.rank());
      EXPECT_EQ(mine.updates(), 3);
      MetricReport got = mine.Compute(comm), expected = want;
      for (auto* report : {&got, &expected})
        std::erase_if(*report, [](const auto& entry) {
          return IsOfTime(entry.first) || entry.first == "scalar-t|window_scalar" ||
                 IsOfLastBatch(entry.first);
        });
      ExpectSame(got, expected, 1e-12);
    });
  }
}

// A window is that of all ranks, and no rank keeps more than its share of it.
TEST(RecMetricModule, WindowsOfOtherRanksAreDealtOut) {
  const RecMetricsConfig config{
      .metrics = {{.name = "sum_weights", .window_size = 240}, {.name = "auc", .window_size = 240}},
      .throughput = {}};
  const auto module = [&](int ranks) {
    return RecMetricModule(config, {.batch_size = 20, .ranks = ranks});
  };
  RecMetricModule alone = module(1);
  const std::vector<MetricColumns> stream = Stream(15, 20);
  for (const MetricColumns& batch : stream) alone.Update(batch.Output());
  const MetricReport want = alone.Compute();
  EXPECT_EQ(want.at("sum_weights-DefaultTask|window_sum_weights"), 240);
  for (const int ranks : {2, 3})
    RunLocalRanks(ranks, [&](Communicator& comm) {
      RecMetricModule mine = module(ranks);
      mine.Load(alone.State(), comm.rank());
      ExpectSame(mine.Compute(comm), want, 1e-12);
    });
}

TEST(RecMetricModule, OneRankThatGoesOnForgetsTheOldestExamplesOfAll) {
  const RecMetricsConfig config{
      .metrics = {{.name = "sum_weights", .window_size = 240}, {.name = "auc", .window_size = 240}},
      .throughput = {}};
  const std::vector<MetricColumns> stream = Stream(20, 20);
  RecMetricModule whole(config, {.batch_size = 20}), goes_on(config, {.batch_size = 20});
  RunLocalRanks(2, [&](Communicator& comm) {
    RecMetricModule mine(config, {.batch_size = 40, .ranks = 2});
    for (size_t b = 0; b < 14; b += 2)
      mine.Update(stream[b + static_cast<size_t>(comm.rank())].Output());
    const std::vector<NamedTensor> state = mine.State(comm);
    if (comm.rank() == 0) goes_on.Load(state);
  });
  for (size_t b = 0; b < stream.size(); ++b) {
    whole.Update(stream[b].Output());
    if (b < 14) continue;
    goes_on.Update(stream[b].Output());
    if (b % 2 == 1) ExpectSame(goes_on.Compute(), whole.Compute(), 1e-12);
  }
}

TEST(RecMetricModule, MetricsThatWereNotSavedStartAfresh) {
  RecMetricsConfig config{.metrics = {{.name = "ctr"}}, .throughput = {}};
  RecMetricModule saved(config);
  const std::vector<float> one = {1};
  const ModelOutput batch = {{"prediction", HostTensor(one)}, {"label", HostTensor(one)}};
  saved.Update(batch);
  config.metrics.push_back({.name = "ne"});
  RecMetricModule more(config);
  more.Load(saved.State());
  EXPECT_EQ(more.Compute().at("ctr-DefaultTask|lifetime_ctr"), 1);
  config.metrics = {};
  RecMetricModule none(config);
  none.Load(saved.State());
  EXPECT_TRUE(none.Compute().empty());
}

TEST(RecMetricModule, StateOfAnotherShapeIsRefused) {
  RecMetricsConfig config{.metrics = {{.name = "segmented_ne", .options = {.num_groups = 2}}}};
  const auto state = RecMetricModule(config).State();
  config.metrics[0].options.num_groups = 3;
  RecMetricModule module(config);
  EXPECT_THROW(module.Load(state), Error);
}

void ExpectError(const RecMetricsConfig& config, const std::string& part,
                 const RecMetricModuleOptions& options = {}) {
  const std::string error = ErrorOf([&] { RecMetricModule(config, options); });
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

TEST(RecMetricModule, ConfigurationsThatMakeNoSenseAreErrors) {
  ExpectError({.metrics = {{.name = "aux"}}},
              "no metric is called 'aux' (did you mean 'auc'?); there are accuracy, auc,");
  ExpectError({.metrics = {{.name = "ne", .tasks = {"x"}}}}, "no task is called 'x'");
  ExpectError({.metrics = {{.name = "ne", .window_size = 5}}},
              "expected a window of at least a batch, 6 examples, got 5", {.batch_size = 6});
  ExpectError({.metrics = {{.name = "ndcg"}}}, "has no session_name");
  ExpectError({.tasks = {{.name = "a.b"}}, .metrics = {{.name = "ne"}}}, "without a dot");
  ExpectError({.metrics = {{.name = "tensor_weighted_avg"}}}, "has no tensor_name");
  ExpectError({.tasks = {{.tensor_name = "x"}},
               .metrics = {{.name = "tensor_weighted_avg"}, {.name = "weighted_avg"}}},
              "have one name");
}

TEST(RecMetricModule, OutputsThatDoNotFitAreErrors) {
  RecMetricModule module({.metrics = {{.name = "ne"}}, .throughput = {}});
  const std::vector<float> one = {1}, two = {1, 0};
  const std::vector<int64_t> number = {1};
  const auto error = [&](const ModelOutput& output) {
    return ErrorOf([&] { module.Update(output); });
  };
  EXPECT_NE(error({{"label", HostTensor(one)}}).find("has no 'prediction'"), std::string::npos);
  EXPECT_NE(error({{"label", HostTensor(one)}, {"prediction", HostTensor(two)}}), "");
  EXPECT_NE(error({{"label", HostTensor(one)}, {"prediction", HostTensor(number)}}), "");
  EXPECT_EQ(module.updates(), 0);
  EXPECT_EQ(module.RequiredInputs(), (std::vector<std::string>{"label", "prediction"}));
}

TEST(RecMetricModule, BatchesWithoutWeightAreLeftOutIfAsked) {
  const std::vector<float> zero = {0}, one = {1}, half = {0.5f};
  for (const bool validate : {false, true}) {
    RecMetricModule module({.tasks = {{.weight_name = "weight"}},
                            .metrics = {{.name = "scalar"}},
                            .should_validate_update = validate});
    const auto update = [&](const std::vector<float>& label, const std::vector<float>& weight) {
      module.Update({{"label", HostTensor(label)},
                     {"prediction", HostTensor(half)},
                     {"weight", HostTensor(weight)}});
    };
    update(one, one);
    update(zero, zero);
    EXPECT_EQ(module.Compute().at("scalar-DefaultTask|lifetime_scalar"), validate ? 1 : 0);
  }
}

TEST(RecMetricModule, SaysWhenToCompute) {
  RecMetricModule module({.metrics = {}, .throughput = {}, .compute_interval_steps = 3});
  std::vector<bool> when;
  for (int i = 0; i < 6; ++i) {
    module.Update({});
    when.push_back(module.ShouldCompute());
  }
  EXPECT_EQ(when, (std::vector<bool>{false, false, true, false, false, true}));
}

}  // namespace
}  // namespace tessera
