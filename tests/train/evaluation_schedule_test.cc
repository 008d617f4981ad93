// When evaluations are due, which is the best, when a run stops early, and what is remembered.
#include "train/run/evaluation_schedule.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/testing/error_of.h"
#include "tests/train/testing/small_run.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::SmallConfig;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TrainConfig ConfigOf(const EvaluationConfig& evaluation, int64_t batch_size = 64) {
  TrainConfig config = SmallConfig();
  config.batch_size = batch_size;
  config.evaluation = evaluation;
  return config;
}

EvaluationValues Auc(double auc) {
  EvaluationValues values(MetricValues{100, auc, 0.5, 0.9, 1});
  values.tasks = {{"click", TaskLoss::kBce, {.clicks = values}}};
  values.loss = 0.5;
  return values;
}

// The steps of one epoch of `rows` rows after which an evaluation is due, and the epoch's end.
std::vector<int64_t> DueSteps(EvaluationSchedule& schedule, int64_t rows, int64_t batch_size,
                              int64_t first_row = 0) {
  std::vector<int64_t> due;
  TrainingProgress at;
  schedule.Begin(at);
  const auto take = [&] {
    if (!schedule.due()) return;
    due.push_back(schedule.due()->step);
    schedule.Take(Auc(0.5));
  };
  for (int64_t row = 0; row < rows; row += batch_size) {
    ++at.step;
    at.row = first_row + std::min(rows, row + batch_size);
    schedule.AfterStep(at, static_cast<double>(at.row - first_row) / static_cast<double>(rows));
    take();
  }
  at.epoch = 1;
  at.row = 0;
  schedule.AfterEpoch(at);
  take();
  return due;
}

using Steps = std::vector<int64_t>;

TEST(EvaluationSchedule, IsDueAfterEachEpochAlone) {
  EvaluationSchedule schedule(ConfigOf({}), {});
  EXPECT_EQ(DueSteps(schedule, 640, 64), Steps({10}));
}

TEST(EvaluationSchedule, IsDueAfterSteps) {
  EvaluationSchedule schedule(ConfigOf({.every_steps = 4}), {});
  EXPECT_EQ(DueSteps(schedule, 640, 64), Steps({4, 8, 10}));
}

TEST(EvaluationSchedule, AnEpochsLastStepIsEvaluatedOnce) {
  EvaluationSchedule schedule(ConfigOf({.every_steps = 5}), {});
  EXPECT_EQ(DueSteps(schedule, 640, 64), Steps({5, 10}));
}

TEST(EvaluationSchedule, IsDueAfterFractions) {
  EvaluationSchedule quarters(ConfigOf({.every = 0.25}), RowRange{0, 1000});  // 3.9 steps
  EXPECT_EQ(DueSteps(quarters, 1000, 64), Steps({3, 6, 9, 16}));
  EvaluationSchedule later(ConfigOf({.every = 0.5}), RowRange{7000, 7640});
  EXPECT_EQ(DueSteps(later, 640, 64, 7000), Steps({5, 10}));
  EvaluationSchedule tiny(ConfigOf({.every = 0.001}), RowRange{0, 192});  // less than a step
  EXPECT_EQ(DueSteps(tiny, 192, 64), Steps({1, 2, 3}));
  EvaluationSchedule whole(ConfigOf({.every = 0.29}, 1), RowRange{0, 100});  // 28.999999999999996
  EXPECT_EQ(DueSteps(whole, 100, 1), Steps({29, 58, 87, 100}));
}

TEST(EvaluationSchedule, AFractionBelowAStepIsSaid) {
  const auto said = [](double every) {
    return ShortIntervalText(ConfigOf({.every = every}), RowRange{100, 300});
  };
  EXPECT_EQ(said(0.001),
            "evaluation.every: 0.001 of an epoch of 4 steps is less than one step, so each step is "
            "evaluated; a number of steps (--eval-every N) would take less time");
  EXPECT_EQ(said(0.32), "");  // exactly one
  EXPECT_EQ(said(0), "");
  EXPECT_EQ(ShortIntervalText(ConfigOf({.every = 0.001}), {}), "");
  EXPECT_EQ(ShortIntervalText(SmallConfig(), RowRange{0, 64}), "");
}

TEST(EvaluationSchedule, StepsThatEndInsideNoEpochAreSaid) {
  const auto said = [](int64_t every_steps, int64_t epochs) {
    TrainConfig config = ConfigOf({.every_steps = every_steps});
    config.epochs = epochs;
    return UnreachedIntervalText(config, RowRange{0, 640});  // 10 steps an epoch
  };
  EXPECT_EQ(said(25, 2),
            "evaluation.every_steps: 25 (--eval-every) is never reached inside an epoch, which has "
            "10 steps, of 20 in all: the ends of epochs alone are evaluated");
  EXPECT_NE(said(20, 9), "");
  EXPECT_EQ(said(25, 3), "");
  EXPECT_EQ(said(4, 1), "");
  EXPECT_EQ(UnreachedIntervalText(ConfigOf({.every_steps = 99}), {}), "");
  EXPECT_EQ(IntervalText(ConfigOf({.every = 0.25}), RowRange{0, 640}),
            "every 0.25 of an epoch (2 steps) and after each epoch");
}

// One that falls just before the epoch's end is that of the end, which patience counts once.
TEST(EvaluationSchedule, TheLastFractionIsTheEpochsEnd) {
  const auto due = [](double every, int64_t steps) {
    EvaluationSchedule schedule(ConfigOf({.every = every}, 1), RowRange{0, steps});
    return DueSteps(schedule, steps, 1);
  };
  EXPECT_EQ(due(0.5, 5), Steps({2, 5}));
  EXPECT_EQ(due(0.5, 3), Steps({1, 3}));
  EXPECT_EQ(due(0.33, 100), Steps({33, 66, 100}));
  EXPECT_EQ(due(0.4, 5), Steps({2, 4, 5}));  // half an interval is left
  EXPECT_EQ(due(0.1, 99), Steps({9, 18, 27, 36, 45, 54, 63, 72, 81, 99}));
  EXPECT_EQ(due(0.001, 3), Steps({1, 2, 3}));
  EvaluationSchedule partial(ConfigOf({.every = 0.5}), RowRange{0, 257});  // a last step of one row
  EXPECT_EQ(DueSteps(partial, 257, 64), Steps({2, 5}));
}

// 20 evaluations, every ⌊4195197692/(65536·20)⌋ steps, the last of them at the end.
TEST(EvaluationSchedule, CountsStepsAsMlperf) {
  constexpr int64_t kRows = 4'195'197'692, kBatch = 65'536;
  EvaluationSchedule schedule(ConfigOf({.every = 0.05}, kBatch), RowRange{0, kRows});
  const Steps due = DueSteps(schedule, kRows, kBatch);
  ASSERT_EQ(due.size(), 20u);
  for (int64_t n = 0; n < 19; ++n) EXPECT_EQ(due[static_cast<size_t>(n)], 3200 * (n + 1));
  EXPECT_EQ(due.back(), 64'014);
}

TEST(EvaluationSchedule, ATargetCanBeReached) {
  const auto error = [](const char* metric, double target) {
    return ErrorOf([&] { EvaluationSchedule(ConfigOf({.metric = metric, .target = target}), {}); });
  };
  EXPECT_EQ(error("auc", 1.5),
            "evaluation.target: no auc reaches 1.5: it is never above 1 (--stop-at auc=VALUE)");
  EXPECT_EQ(error("log_loss", -0.1),
            "evaluation.target: no log_loss reaches -0.1: it is never below 0 (--stop-at "
            "log_loss=VALUE)");
  for (const auto& [metric, target] : {std::pair("auc", 1.0), {"auc", -1.0}, {"log_loss", 0.0}})
    EvaluationSchedule(ConfigOf({.metric = metric, .target = target}), {});  // does not throw
}

TEST(EvaluationSchedule, AFractionNeedsTheNumberOfRows) {
  EXPECT_NE(ErrorOf([] {
              EvaluationSchedule(ConfigOf({.every = 0.1}), {});
            }).find("evaluation.every: 0.1 is a fraction of an epoch"),
            std::string::npos);
}

// Takes values one after another, at steps 1, 2, ….
struct Taken {
  explicit Taken(const EvaluationConfig& config) : schedule(ConfigOf(config), {}) {}
  bool Take(const EvaluationValues& values) {
    schedule.AfterEpoch({.epoch = ++step, .step = step});
    return schedule.Take(values);
  }
  EvaluationSchedule schedule;
  int64_t step = 0;
};

TEST(EvaluationSchedule, KnowsTheBest) {
  Taken auc({});
  EXPECT_FALSE(auc.Take(Auc(kNaN)));
  EXPECT_TRUE(auc.Take(Auc(0.6)));
  EXPECT_FALSE(auc.Take(Auc(0.6)));
  EXPECT_TRUE(auc.Take(Auc(0.7)));
  EXPECT_FALSE(auc.Take(Auc(kNaN)));
  EXPECT_EQ(auc.schedule.state().best->at.step, 4);
  EXPECT_EQ(auc.schedule.state().since_best, 1);
  Taken loss({.metric = "loss"});
  EvaluationValues values = Auc(0.6);
  EXPECT_TRUE(loss.Take(values));
  values.loss = 0.6;
  EXPECT_FALSE(loss.Take(values));
  values.loss = 0.4;
  EXPECT_TRUE(loss.Take(values));
}

TEST(EvaluationSchedule, StopsAtItsTarget) {
  Taken auc({.target = 0.7});
  auc.Take(Auc(0.69));
  EXPECT_EQ(auc.schedule.stop(), EarlyStop::kNone);
  auc.Take(Auc(0.7));
  EXPECT_EQ(auc.schedule.stop(), EarlyStop::kTarget);
  Taken loss({.metric = "log_loss", .target = 0.5});
  loss.Take(Auc(0.1));
  EXPECT_EQ(loss.schedule.stop(), EarlyStop::kTarget);
  Taken lower({.metric = "log_loss", .target = 0.49});
  lower.Take(Auc(0.1));
  EXPECT_EQ(lower.schedule.stop(), EarlyStop::kNone);
}

TEST(EvaluationSchedule, StopsWhenPatienceEnds) {
  Taken run({.patience = 2});
  for (const double auc : {0.5, 0.4, 0.6, 0.6}) run.Take(Auc(auc));
  EXPECT_EQ(run.schedule.stop(), EarlyStop::kNone);
  run.Take(Auc(0.59));
  EXPECT_EQ(run.schedule.stop(), EarlyStop::kPatience);
}

TEST(EvaluationSchedule, RemembersInText) {
  Taken run({.patience = 2});
  run.Take(Auc(0.1 + 0.2));
  run.Take(Auc(0.2));
  run.schedule.AfterStep({.row = 64, .step = 3}, 0.25);
  run.schedule.AfterEpoch({.epoch = 3, .step = 3});
  EvaluationSchedule other(ConfigOf({.patience = 2}), {});
  other.GoOnFrom(run.schedule.Text());
  EXPECT_EQ(other.state(), run.schedule.state());
  EXPECT_EQ(other.due(), (EvaluationPoint{3, 3, 1}));
  EXPECT_EQ(other.state().last, (EvaluationPoint{2, 2, 1}));
  other.Take(Auc(0.25));
  EXPECT_EQ(other.stop(), EarlyStop::kPatience);
  EvaluationSchedule loss(ConfigOf({.metric = "loss"}), {});
  loss.GoOnFrom(run.schedule.Text());
  EXPECT_FALSE(loss.state().best);
  EXPECT_EQ(loss.state().since_best, 0);
  EXPECT_EQ(EvaluationStateFromText(""), EvaluationState());
  EXPECT_EQ(ErrorOf([] { EvaluationStateFromText(R"({"metric": "auc"})"); }),
            "what the checkpoint keeps of its evaluations: evaluation.since_best: the key is "
            "missing");
}

TEST(EvaluationSchedule, ABestValueOfOtherRowsIsForgotten) {
  const EvaluatedRows before{.data = "rows 0 100\n5 00ff 00ff file a.tsv\n", .split = ""};
  EvaluatedRows renamed = before, range = before, split = before;
  renamed.data = "rows 0 100\n5 00ff 00ff file b.tsv\n";
  range.data = "rows 100 200\n5 00ff 00ff file a.tsv\n";
  split.split = "random";
  Taken run({.patience = 2});
  run.schedule.GoOnFrom("", before);
  for (const double auc : {0.6, 0.5, 0.5}) run.Take(Auc(auc));
  const std::string text = run.schedule.Text();
  const TrainConfig config = ConfigOf({.patience = 2});
  for (const auto& same : {std::optional(before), std::optional(renamed), {}}) {
    EXPECT_EQ(StopOf(config, text, same), EarlyStop::kPatience);
    EXPECT_EQ(ForgottenText(config, text, same), "");
  }
  for (const EvaluatedRows& other : {range, split}) {
    EXPECT_EQ(StopOf(config, text, other), EarlyStop::kNone);
    EvaluationSchedule schedule(config, {});
    schedule.GoOnFrom(text, other);
    EXPECT_FALSE(schedule.state().best);
    EXPECT_EQ(schedule.state().rows, other);
  }
  EXPECT_EQ(ForgottenText(config, text, range),
            "evaluation rows were 0:100, are 100:200: the best value so far, auc 0.6 of step 1, is "
            "forgotten");
  EXPECT_EQ(ForgottenText(ConfigOf({.metric = "loss"}), text, before),
            "evaluations were compared by auc, are compared by loss: the best value so far, auc "
            "0.6 of step 1, is forgotten");
}

TEST(EvaluationSchedule, OtherSettingsGoOnWithATrainingThatStopped) {
  Taken run({.target = 0.9, .patience = 2});
  run.Take(Auc(0.6));
  run.Take(Auc(0.5));
  EXPECT_EQ(StopOf(ConfigOf({.patience = 2}), run.schedule.Text()), EarlyStop::kNone);
  run.Take(Auc(0.5));
  const std::string text = run.schedule.Text();
  EXPECT_EQ(StopOf(ConfigOf({.patience = 2}), text), EarlyStop::kPatience);
  EXPECT_EQ(StopOf(ConfigOf({.patience = 3}), text), EarlyStop::kNone);
  EXPECT_EQ(StopOf(ConfigOf({.patience = 0}), text), EarlyStop::kNone);
  EXPECT_EQ(StopOf(ConfigOf({.metric = "loss", .patience = 2}), text), EarlyStop::kNone);
  EXPECT_EQ(StopOf(ConfigOf({.target = 0.6}), text), EarlyStop::kTarget);
  EXPECT_EQ(StopOf(ConfigOf({.target = 0.61}), text), EarlyStop::kNone);
  EXPECT_EQ(StopOf(SmallConfig(), text), EarlyStop::kNone);
}

TEST(EvaluationMetric, IsNamedAsReportsDo) {
  TrainConfig config = SmallConfig();
  const auto find = [&](const std::string& name) {
    return FindEvaluationMetric(TasksOf(config.model, config.data), name);
  };
  EXPECT_EQ(find("").name, "auc");
  EXPECT_FALSE(find("normalized_entropy").higher);
  const std::string error = ErrorOf([&] { find("calibration"); });
  EXPECT_NE(error.find("is called 'calibration'; there are auc, auc-click, log_loss"),
            std::string::npos)
      << error;
  std::vector<TrainTask> tasks = TasksOf(config.model, config.data);
  tasks[0].task.loss = TaskLoss::kMse;
  tasks[0].task.name = "rating";
  tasks.push_back(tasks[0]);
  tasks[1].task.loss = TaskLoss::kBce;
  tasks[1].task.name = "like";
  EXPECT_EQ(FindEvaluationMetric(tasks, "").name, "loss");
  EvaluationValues values = Auc(0.5);
  values.tasks = {{"rating", TaskLoss::kMse, {.mse = 4}},
                  {"like", TaskLoss::kBce, {.clicks = {1, 0.75, 0.5, 1, 1}}}};
  EXPECT_EQ(FindEvaluationMetric(tasks, "rmse").ValueIn(values), 2);
  EXPECT_EQ(FindEvaluationMetric(tasks, "mse-rating").ValueIn(values), 4);
  EXPECT_EQ(FindEvaluationMetric(tasks, "auc-like").ValueIn(values), 0.75);
  EXPECT_NE(ErrorOf([&] { FindEvaluationMetric(tasks, "auc"); }), "");
}

}  // namespace
}  // namespace tessera
