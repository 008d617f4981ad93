// Trainings that are evaluated as they go have the bits of those that are not, keep the best model
// and stop early; stopped and resumed anywhere, they make the same decisions.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "data/synthetic/criteo_file_writer.h"
#include "runtime/files/safetensors.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/ranks_run.h"
#include "train/checkpoint/checkpoint_chain.h"
#include "train/run/training_run.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::Exported;
using testing::MixedPlan;
using testing::ReadFile;
using testing::SmallConfig;
using testing::TempPath;
using testing::TensorsOf;

constexpr int64_t kEveryStep = 1 << 20;  // more steps than a run has

TrainConfig ConfigOf(const EvaluationConfig& evaluation, int64_t epochs = 2) {
  TrainConfig config = SmallConfig();
  config.evaluation = evaluation;
  config.epochs = epochs;
  return config;
}

// Goes on from `from`, if that is given, on the path of the checkpoint or another, until the end or
// `steps` are done.
TrainingRunReport Trained(const TrainConfig& config, TrainingRunOptions options,
                          const std::string& from = "", int64_t steps = kEveryStep,
                          const DataSelection& data = {}) {
  Context ctx({.threads = 1, .seed = from.empty() ? config.seed : 99});
  Trainer trainer(ctx, config);
  options.stop = [&] { return trainer.progress().step >= steps; };
  if (!from.empty()) {
    const Checkpoint saved = ReadCheckpoint(from);
    EXPECT_TRUE(trainer.Load(saved));
    if (options.incremental) options.resumed = saved.chain;
  }
  return RunTraining(trainer, DataSets(config, data), options);
}

void ExpectSameTensors(const std::string& path, const std::string& other) {
  const auto a = TensorsOf(path), b = TensorsOf(other);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_TRUE(SameBits(a[i].tensor, b[i].tensor)) << a[i].name;
  }
}

std::vector<int64_t> StepsOf(const TrainingRunReport& report) {
  std::vector<int64_t> steps;
  for (const EvaluationReport& evaluation : report.evaluations->all)
    steps.push_back(evaluation.at.step);
  return steps;
}

// The AUC of a saved model on the rows for evaluation.
double AucOf(const std::string& path) {
  const TrainConfig config = SmallConfig();
  Context ctx({.threads = 1});
  Trainer trainer(ctx, config);
  trainer.Load(ReadCheckpoint(path));
  return trainer.Evaluate(*DataSets(config, {}).OpenEval()).auc;
}

class EvaluatedRun : public ::testing::TestWithParam<PipelineKind> {};
INSTANTIATE_TEST_SUITE_P(Pipelines, EvaluatedRun,
                         ::testing::Values(PipelineKind::kNone, PipelineKind::kBase,
                                           PipelineKind::kSparseDist, PipelineKind::kPrefetch,
                                           PipelineKind::kSemiSync),
                         [](const auto& info) { return std::string(ToString(info.param)); });

// Tables behind caches are read by evaluations between the prefetch of a batch and its step.
TEST_P(EvaluatedRun, HasTheBitsOfOneThatIsNotEvaluated) {
  TrainConfig config = ConfigOf({.every_steps = 3});
  if (GetParam() != PipelineKind::kSemiSync)
    for (EmbeddingBagConfig& table : config.tables) {
      table.location = EmbeddingLocation::kManagedCaching;
      table.cache = {.ways = 1, .load_factor = 0.2};
    }
  const TrainingRunReport report =
      Trained(config, {.checkpoint = TempPath("evaluated"), .pipeline = GetParam()});
  EXPECT_EQ(StepsOf(report), std::vector<int64_t>({3, 6, 9, 12, 15, 16, 18, 21, 24, 27, 30, 32}));
  config.evaluation.reset();
  Trained(config, {.checkpoint = TempPath("plain"), .pipeline = GetParam()});
  ExpectSameTensors(TempPath("evaluated"), TempPath("plain"));
}

TEST(EvaluatedRuns, OfRawIdsHaveTheBitsOfThoseThatAreNot) {
  TrainConfig config = ConfigOf({.every = 0.2});
  config.tables[0].num_embeddings = 12;
  config.managed_collision[config.tables[0].name] = {GrowingIndexOptions{}};
  Trained(config, {.checkpoint = TempPath("evaluated")});
  config.evaluation.reset();
  Trained(config, {.checkpoint = TempPath("plain")});
  ExpectSameTensors(TempPath("evaluated"), TempPath("plain"));
}

TEST(EvaluatedRuns, KeepTheBest) {
  const TrainConfig config = ConfigOf({.every_steps = 5}, 6);
  const TrainingRunReport report =
      Trained(config, {.checkpoint = TempPath("last"), .best = TempPath("best")});
  const EvaluationsReport& evaluations = *report.evaluations;
  const auto best = std::ranges::max_element(evaluations.all, {}, &EvaluationReport::value);
  EXPECT_EQ(evaluations.best, (BestEvaluation{best->at, best->value}));
  EXPECT_NE(best->at.step, 96);  // the last one, which is worse
  EXPECT_EQ(AucOf(TempPath("best")), best->value);
  EXPECT_EQ(ReadCheckpoint(TempPath("best")).progress->step, best->at.step);
  EXPECT_LT(AucOf(TempPath("last")), best->value);
  EXPECT_EQ(report.epochs.size(), 6u);
  EXPECT_EQ(report.epochs[0].evaluation->auc, evaluations.all[3].value);
}

TEST(EvaluatedRuns, StopEarly) {
  const TrainConfig plain = ConfigOf({.every_steps = 5}, 6);
  const auto all = Trained(plain, {}).evaluations->all;
  const auto best = std::ranges::max_element(all, {}, &EvaluationReport::value);
  TrainConfig config = plain;
  config.evaluation->target = best->value;
  const TrainingRunReport at_target = Trained(config, {.checkpoint = TempPath("at_target")});
  EXPECT_EQ(at_target.evaluations->stop, EarlyStop::kTarget);
  EXPECT_FALSE(at_target.stopped);
  EXPECT_EQ(at_target.evaluations->all.back().at, best->at);
  EXPECT_EQ(ReadCheckpoint(TempPath("at_target")).progress->step, best->at.step);
  config.evaluation->target.reset();
  config.evaluation->patience = 2;
  const TrainingRunReport patient = Trained(config, {.checkpoint = TempPath("patient")});
  EXPECT_EQ(patient.evaluations->stop, EarlyStop::kPatience);
  const std::vector<EvaluationReport>& made = patient.evaluations->all;
  ASSERT_GE(made.size(), 3u);
  EXPECT_TRUE(made[made.size() - 3].best && !made[made.size() - 2].best && !made.back().best);
  // A run that has stopped early has nothing left to train.
  const TrainingRunReport again =
      Trained(config, {.checkpoint = TempPath("again")}, TempPath("patient"));
  EXPECT_EQ(again.rows, 0);
  EXPECT_EQ(again.evaluation->auc, made.back().values.auc);
  EXPECT_EQ(again.evaluations->stop, EarlyStop::kPatience);
  EXPECT_TRUE(ReadFile(TempPath("again")) == ReadFile(TempPath("patient")));
}

// Interrupted after each step in turn, also where an evaluation is due there.
class Interrupted : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Forms, Interrupted, ::testing::Bool(), [](const auto& info) {
  return info.param ? std::string("Incremental") : std::string("OneFile");
});

TEST_P(Interrupted, RunsDecideAsThoseThatNeverStopped) {
  const TrainConfig config = ConfigOf({.every_steps = 4, .patience = 4}, 9);
  TrainingRunOptions options{.checkpoint = TempPath("whole"), .best = TempPath("whole_best")};
  const auto set_form = [&](const std::string& path) {
    options.checkpoint = path;
    std::filesystem::remove_all(path);
    if (GetParam()) options.incremental = IncrementalOptions{};
  };
  const auto bytes_of = [&](const std::string& path) {
    return ReadFile(GetParam() ? CompactChain(path) : path);
  };
  set_form(TempPath("whole"));
  const TrainingRunReport whole = Trained(config, options);
  ASSERT_EQ(whole.evaluations->stop, EarlyStop::kPatience);
  const int64_t end = whole.evaluations->all.back().at.step;
  const std::string expected = bytes_of(TempPath("whole"));
  for (int64_t stop = 0; stop < end; stop += stop < 9 ? 1 : 7) {
    set_form(TempPath("part"));
    options.best = TempPath("part_best");
    ASSERT_TRUE(Trained(config, options, "", stop).stopped);
    const TrainingRunReport rest = Trained(config, options, TempPath("part"));
    EXPECT_EQ(rest.evaluations->best, whole.evaluations->best) << stop;
    EXPECT_EQ(rest.evaluations->all.back().at.step, end) << stop;
    EXPECT_TRUE(bytes_of(TempPath("part")) == expected) << stop;
    EXPECT_TRUE(ReadFile(TempPath("part_best")) == ReadFile(TempPath("whole_best"))) << stop;
  }
}

TEST(EvaluatedRuns, SayWhatFractionOfTheEpochIsTrainedAfterAResumeInsideOfIt) {
  const std::string text = TempPath("clicks.tsv");
  WriteCriteoFile(text, ClickModel({.vocabulary = 50, .strength = 3}), {0, 1000});
  const DataSelection data{
      .files = {text}, .train_rows = RowRange{100, 740}, .eval_rows = RowRange{800, 1000}};
  const TrainConfig config = ConfigOf({.every_steps = 4}, 1);
  const TrainingRunOptions options{.checkpoint = TempPath("stopped")};
  ASSERT_TRUE(Trained(config, options, "", 5, data).stopped);
  const TrainingRunReport rest = Trained(config, options, TempPath("stopped"), kEveryStep, data);
  std::vector<double> fractions;
  for (const EvaluationReport& evaluation : rest.evaluations->all)
    fractions.push_back(evaluation.at.fraction.value());
  EXPECT_EQ(fractions, (std::vector{0.8, 1.0}));  // of ten steps of 64 rows
}

// The evaluations of an epoch's end, which the checkpoint saved before them does not have.
TEST(EvaluatedRuns, MakeUpAnEvaluationThatWasInterrupted) {
  const TrainConfig config = ConfigOf({}, 3);
  const TrainingRunReport whole = Trained(config, {.checkpoint = TempPath("whole")});
  const TrainingRunReport first =
      Trained(config, {.checkpoint = TempPath("part"), .best = TempPath("best")}, "", 16);
  EXPECT_TRUE(first.stopped && first.evaluations->all.empty());
  const TrainingRunReport rest =
      Trained(config, {.checkpoint = TempPath("part")}, TempPath("part"));
  EXPECT_EQ(StepsOf(rest), std::vector<int64_t>({16, 32, 48}));
  EXPECT_EQ(rest.evaluations->best, whole.evaluations->best);
  EXPECT_TRUE(ReadFile(TempPath("part")) == ReadFile(TempPath("whole")));
}

TEST(EvaluatedRuns, OfRanksDecideAlike) {
  const TrainConfig config = ConfigOf({.every_steps = 5, .patience = 3}, 6);
  const std::string last = TempPath("ranks"), best = TempPath("ranks_best");
  std::vector<TrainingRunReport> reports(2);
  const auto run = [&](int64_t steps, bool resumes, const std::string& to) {
    RunLocalRanks(2, [&](Communicator& comm) {
      Context ctx({.threads = 1, .seed = config.seed});
      Trainer trainer(ctx, config, TrainingRanks{&comm, MixedPlan(config, 2)});
      if (resumes) {
        ShardedCheckpoint saved(to);
        trainer.Load(saved);
      }
      TrainingRunOptions options{.checkpoint = to, .best = best};
      options.stop = [&] { return trainer.progress().step >= steps; };
      reports[static_cast<size_t>(comm.rank())] =
          RunTraining(trainer, DataSets(config, {}), options);
    });
  };
  run(kEveryStep, false, last);
  EXPECT_EQ(reports[0].evaluations->stop, EarlyStop::kPatience);
  EXPECT_EQ(reports[0].evaluations->best, reports[1].evaluations->best);
  EXPECT_EQ(StepsOf(reports[0]), StepsOf(reports[1]));
  const TrainingRunReport whole = reports[0];
  EXPECT_EQ(ReadCheckpoint(best).progress->step, whole.evaluations->best->at.step);
  EXPECT_NEAR(AucOf(best), whole.evaluations->best->value, 1e-6);
  run(7, false, TempPath("ranks_part"));
  run(kEveryStep, true, TempPath("ranks_part"));
  EXPECT_EQ(reports[0].evaluations->best, whole.evaluations->best);
  EXPECT_TRUE(ReadFile(Exported(TempPath("ranks_part"))) == ReadFile(Exported(last)));
}

TEST(EvaluatedRuns, RefuseWhatCannotBe) {
  const auto error_of = [](const TrainConfig& config, const TrainingRunOptions& options) {
    return ErrorOf([&] { Trained(config, options); });
  };
  TrainConfig config = ConfigOf({.every_steps = 5});
  EXPECT_NE(error_of(config, {.best = "x", .pipeline = PipelineKind::kSemiSync})
                .find("--best with evaluations inside epochs beside --pipeline semi_sync"),
            std::string::npos);
  config.data.eval_rows = 0;
  EXPECT_NE(error_of(config, {}).find("evaluation: there are no rows for it"), std::string::npos);
  EXPECT_NE(error_of(ConfigOf({.metric = "rmse"}), {}).find("evaluation.metric: no metric"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera
