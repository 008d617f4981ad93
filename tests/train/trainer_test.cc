#include "train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "runtime/files/files.h"
#include "runtime/files/safetensors.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/small_run.h"
#include "train/run/training_run.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::SmallConfig;
using testing::TempPath;

// Trains as configured and returns the bytes of a checkpoint of the end.
std::string Trained(const TrainConfig& config, int threads = 1) {
  Context ctx({.threads = threads, .seed = config.seed});
  Trainer trainer(ctx, config);
  RunTraining(trainer, DataSets(config, {}));
  const std::string path = TempPath("trained");
  trainer.Save(path);
  return testing::ReadFile(path);
}

// Trains, stops after `steps` steps, and goes on in another trainer from the checkpoint.
std::string TrainedInTwoParts(const TrainConfig& config, int64_t steps) {
  const std::string path = TempPath("part");
  {
    Context ctx({.threads = 1, .seed = config.seed});
    Trainer trainer(ctx, config);
    TrainingRunOptions options{.checkpoint = path};
    options.stop = [&] { return trainer.progress().step >= steps; };
    EXPECT_TRUE(RunTraining(trainer, DataSets(config, {}), options).stopped);
  }
  Context ctx({.threads = 1, .seed = 999});
  Trainer trainer(ctx, config);
  EXPECT_TRUE(trainer.Load(ReadCheckpoint(path)));
  EXPECT_EQ(trainer.progress().step, steps);
  RunTraining(trainer, DataSets(config, {}));
  trainer.Save(path);
  return testing::ReadFile(path);
}

struct Case {
  std::string dense;
  int64_t steps;
};

class Resuming : public ::testing::TestWithParam<Case> {};

// 16 steps an epoch, the last of 40 rows.
TEST_P(Resuming, GivesTheBitsOfATrainingThatNeverStopped) {
  const TrainConfig config = SmallConfig(GetParam().dense);
  EXPECT_TRUE(TrainedInTwoParts(config, GetParam().steps) == Trained(config));
}
constexpr char kAdam[] = R"({"name": "adam", "lr": 0.01})";
INSTANTIATE_TEST_SUITE_P(
    Steps, Resuming,
    ::testing::Values(Case{kAdam, 0}, Case{kAdam, 1}, Case{kAdam, 7}, Case{kAdam, 15},
                      Case{kAdam, 16}, Case{kAdam, 17}, Case{kAdam, 31},
                      Case{R"({"name": "adagrad", "lr": 0.01, "lr_decay": 0.1})", 5},
                      Case{R"({"name": "sgd", "lr": 0.01, "momentum": 0.9})", 5},
                      Case{R"({"name": "sgd", "lr": 0.01})", 5}));

TEST(Trainer, TablesOf16BitsGoOnWhereTheyStopped) {
  TrainConfig config = SmallConfig();
  config.tables[0].data_type = DType::kF16;
  config.tables[1].data_type = config.tables[1].state_type = DType::kBF16;
  for (EmbeddingBagConfig& table : config.tables) table.stochastic_rounding = true;
  EXPECT_TRUE(TrainedInTwoParts(config, 5) == Trained(config));
}

TEST(Trainer, TablesWithACacheOfRowsGoOnWhereTheyStopped) {
  TrainConfig config = SmallConfig();
  for (EmbeddingBagConfig& table : config.tables) {
    table.location = EmbeddingLocation::kManagedCaching;
    table.cache = {.ways = 1, .load_factor = 0.1};
  }
  EXPECT_TRUE(TrainedInTwoParts(config, 5) == Trained(config));
}

TEST(Trainer, TablesOnDiskGoOnWhereTheyStoppedAndSaveWhatThoseInMemoryDo) {
  const auto trained = [](const TrainConfig& config) {
    Trained(config);
    Context ctx;
    return ReadSafetensors(ctx, TempPath("trained")).tensors;
  };
  TrainConfig config = SmallConfig();
  const auto in_memory = trained(config);
  for (EmbeddingBagConfig& table : config.tables) {
    table.location = EmbeddingLocation::kDisk;
    table.cache = {.ways = 1, .load_factor = 0.1, .folder = ::testing::TempDir()};
  }
  EXPECT_TRUE(TrainedInTwoParts(config, 5) == Trained(config));
  const auto on_disk = trained(config);
  ASSERT_EQ(on_disk.size(), in_memory.size());
  for (const auto& [name, tensor] : in_memory)
    EXPECT_TRUE(SameBits(tensor, on_disk.at(name))) << name;
}

// A config with a schedule of all learning rates and clipped gradients.
TrainConfig Scheduled() {
  TrainConfig config = SmallConfig();
  config.warmup = {
      {.policy = WarmupPolicy::kLinear, .max_iters = 6, .value = 0.1},
      {.policy = WarmupPolicy::kStep, .max_iters = 14, .value = 0.5, .decay_iters = 7}};
  config.gradient_clipping = {.mode = GradientClipping::kNorm, .max_gradient = 0.05};
  return config;
}

TEST(Trainer, SchedulesGoOnWhereTheyStopped) {
  const std::string whole = Trained(Scheduled());
  for (const int64_t steps : {0, 1, 6, 7, 14, 20})
    EXPECT_TRUE(TrainedInTwoParts(Scheduled(), steps) == whole) << steps;
}

TEST(Trainer, ScheduleAndClippingChangeWhatIsLearned) {
  TrainConfig plain = SmallConfig(), warm = plain, clipped = plain;
  warm.warmup = Scheduled().warmup;
  clipped.gradient_clipping = Scheduled().gradient_clipping;
  const auto weights_of = [](const TrainConfig& config, const std::string& name) {
    Trained(config);
    Context ctx;
    return ReadSafetensors(ctx, TempPath("trained")).tensors.at(name);
  };
  const std::string table = "sparse_arch.embedding_bag_collection.embedding_bags.c.weight",
                    dense = "over_arch.model.1.weight";
  EXPECT_FALSE(SameBits(weights_of(plain, table), weights_of(warm, table)));
  EXPECT_FALSE(SameBits(weights_of(plain, dense), weights_of(warm, dense)));
  EXPECT_FALSE(SameBits(weights_of(plain, dense), weights_of(clipped, dense)));
}

TEST(Trainer, ThreadsChangeNoBit) {
  const TrainConfig config = SmallConfig();
  const std::string one = Trained(config, 1);
  EXPECT_TRUE(Trained(config, 2) == one);
  EXPECT_TRUE(Trained(config, 5) == one);
}

TEST(Trainer, SeedsMatter) {
  TrainConfig config = SmallConfig();
  config.epochs = 1;
  const std::string first = Trained(config);
  config.seed = 4;
  EXPECT_FALSE(Trained(config) == first);
}

TEST(Trainer, Learns) {
  TrainConfig config = SmallConfig();
  config.data.rows = 20000;
  Context ctx({.threads = 2, .seed = config.seed});
  Trainer trainer(ctx, config);
  const DataSets data(config, {});
  const MetricValues before = trainer.Evaluate(*data.OpenEval());
  const TrainingRunReport report = RunTraining(trainer, data);
  ASSERT_TRUE(report.evaluation);
  EXPECT_LT(report.evaluation->log_loss, before.log_loss - 0.05);
  EXPECT_GT(report.evaluation->auc, 0.6);
  EXPECT_LT(report.evaluation->auc, data.Optimum()->auc);
  EXPECT_EQ(report.evaluation->examples, 500);
}

TEST(Trainer, ReportsEpochsAndSteps) {
  const TrainConfig config = SmallConfig();
  Context ctx({.threads = 1, .seed = config.seed});
  Trainer trainer(ctx, config);
  std::vector<StepReport> steps;
  int64_t epochs = 0;
  TrainingRunOptions options;
  options.on_step = [&](const StepReport& step) { steps.push_back(step); };
  options.on_epoch = [&](const EpochReport& epoch) { EXPECT_EQ(epoch.epoch, ++epochs); };
  const TrainingRunReport report = RunTraining(trainer, DataSets(config, {}), options);
  ASSERT_EQ(steps.size(), 32u);
  EXPECT_EQ(steps[15].examples, 40);
  EXPECT_EQ(steps[15].fraction, 1);
  EXPECT_EQ(steps[16].epoch, 2);
  EXPECT_EQ(steps[31].step, 32);
  EXPECT_EQ(epochs, 2);
  EXPECT_EQ(report.rows, 2000);
  double sum = 0;
  for (int s = 0; s < 16; ++s)
    sum += steps[static_cast<size_t>(s)].loss *
           static_cast<double>(steps[static_cast<size_t>(s)].examples);
  EXPECT_NEAR(report.epochs[0].train_loss, sum / 1000, 1e-12);
  EXPECT_GE(report.seconds, report.training_seconds);
  // One forward a step, none for evaluations.
  EXPECT_EQ(trainer.progress().iter, 32);
  EXPECT_EQ(trainer.progress().epoch, 2);
  // A finished run is evaluated again, and no more.
  const TrainingRunReport again = RunTraining(trainer, DataSets(config, {}));
  EXPECT_EQ(again.rows, 0);
  EXPECT_EQ(again.evaluation->auc, report.evaluation->auc);
}

TEST(Trainer, CheckpointHoldsTorchRecNames) {
  const TrainConfig config = SmallConfig();
  Context ctx({.threads = 1, .seed = config.seed});
  Trainer trainer(ctx, config);
  RunTraining(trainer, DataSets(config, {}), {.checkpoint = TempPath("names")});
  std::map<std::string, Shape> shapes;
  const Safetensors content = ReadSafetensors(ctx, TempPath("names"));
  for (const auto& [name, tensor] : content.tensors) shapes[name] = tensor.shape();
  const std::string table = "sparse_arch.embedding_bag_collection.embedding_bags.";
  EXPECT_EQ(shapes[table + "a.weight"], (Shape{60, 4}));
  EXPECT_EQ(shapes["dense_arch.model._mlp.0._linear.weight"], (Shape{8, 13}));
  EXPECT_EQ(shapes["over_arch.model.1.bias"], (Shape{1}));
  EXPECT_EQ(shapes["optimizer." + table + "a.weight.momentum1"], (Shape{60, 4}));
  EXPECT_EQ(shapes["optimizer." + table + "b.weight.momentum1"], (Shape{50}));
  EXPECT_EQ(shapes.count("optimizer." + table + "c.weight.momentum1"), 0u);
  EXPECT_EQ(shapes["optimizer.over_arch.model.1.bias.exp_avg"], (Shape{1}));
  EXPECT_EQ(shapes["optimizer.over_arch.model.1.bias.step"], (Shape{}));
  EXPECT_EQ(content.metadata.at("epoch"), "2");
  EXPECT_EQ(content.metadata.at("step"), "32");
  EXPECT_EQ(content.metadata.at("iter"), "32");
  EXPECT_EQ(content.metadata.at("seed"), "3");
  EXPECT_EQ(content.metadata.at("config"), ToJson(config));
}

class Loading : public ::testing::Test {
 protected:
  // The error of Load for the changed checkpoint; nothing has changed.
  std::string Refusal(const std::function<void(Safetensors&)>& change,
                      const TrainConfig& config = SmallConfig()) {
    Context ctx({.threads = 1, .seed = 3});
    Trainer saved(ctx, SmallConfig());
    RunTraining(saved, DataSets(SmallConfig(), {}), {.checkpoint = TempPath("saved")});
    Safetensors content = ReadSafetensors(ctx, TempPath("saved"));
    content.metadata.erase("crc32");
    change(content);
    WriteSafetensors(ctx, TempPath("changed"), content);
    Trainer trainer(ctx, config);
    trainer.Save(TempPath("before"));
    const std::string error = ErrorOf([&] { trainer.Load(ReadCheckpoint(TempPath("changed"))); });
    trainer.Save(TempPath("after"));
    EXPECT_TRUE(testing::ReadFile(TempPath("before")) == testing::ReadFile(TempPath("after")));
    return error;
  }
};

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(Loading, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(Contains(Refusal([](Safetensors& c) { c.tensors.erase("over_arch.model.1.bias"); }),
                       "lacks 'over_arch.model.1.bias'"));
  EXPECT_TRUE(Contains(Refusal([](Safetensors& c) {
                         c.tensors["over_arch.model.2.bias"] = c.tensors["over_arch.model.1.bias"];
                       }),
                       "has 'over_arch.model.2.bias', which this model does not have"));
  EXPECT_TRUE(Contains(
      Refusal([](Safetensors& c) { c.tensors.erase("optimizer.over_arch.model.1.bias.exp_avg"); }),
      "exp_avg"));
  EXPECT_TRUE(Contains(Refusal([](Safetensors& c) {
                         for (const char* state : {"exp_avg", "exp_avg_sq", "step"})
                           c.tensors.erase(std::string("optimizer.over_arch.model.1.bias.") +
                                           state);
                       }),
                       "lacks 'optimizer.over_arch.model.1.bias.*'"));
  EXPECT_TRUE(Contains(Refusal([](Safetensors& c) {
                         c.tensors["optimizer.over_arch.model.1.bias.speed"] =
                             c.tensors["over_arch.model.1.bias"];
                       }),
                       "speed"));
  EXPECT_TRUE(Contains(Refusal([](Safetensors& c) {
                         c.tensors["optimizer.x"] = c.tensors["over_arch.model.1.bias"];
                       }),
                       "optimizer.x"));
}

TEST_F(Loading, RefusesOtherOptimizers) {
  EXPECT_TRUE(
      Contains(Refusal([](Safetensors&) {}, SmallConfig(R"({"name": "adagrad"})")), "exp_avg"));
  TrainConfig config = SmallConfig();
  config.tables[1].optimizer = Adam{};
  EXPECT_TRUE(Contains(Refusal([](Safetensors&) {}, config), "lacks"));
  config.tables[1] = SmallConfig().tables[1];
  config.tables[1].num_embeddings = 51;
  EXPECT_TRUE(
      Contains(Refusal([](Safetensors&) {}, config), "expected shape [51, 4], got [50, 4]"));
}

TEST_F(Loading, RefusesOtherSchedules) {
  const std::string error = Refusal([](Safetensors&) {}, Scheduled());
  EXPECT_TRUE(Contains(error, "lacks 'optimizer.__warmup.*', which this model has")) << error;
  const auto with_place = [&](const Tensor& place) {
    return [=](Safetensors& c) { c.tensors["optimizer.__warmup.warmup"] = place; };
  };
  Context ctx({.threads = 1});
  const Tensor place = Tensor::From<int64_t>(ctx, {3, 0});
  EXPECT_TRUE(Contains(Refusal(with_place(place)), "it has '__warmup.warmup'"));
  for (const Tensor& bad : {Tensor::From<int64_t>(ctx, {3, 9}), Tensor::From<float>(ctx, {3, 0})})
    EXPECT_TRUE(Contains(Refusal(with_place(bad), Scheduled()), "warmup"));
}

TEST(Trainer, WeightsAloneStartOptimizersAfresh) {
  const TrainConfig config = SmallConfig();
  Context ctx({.threads = 1, .seed = 3});
  Trainer trained(ctx, config), fresh(ctx, config);
  const DataSets data(config, {});
  const TrainingRunReport report = RunTraining(trained, data);
  Safetensors weights;
  for (const NamedTensor& named : trained.model().StateDict())
    weights.tensors["model." + named.name] = named.tensor;
  WriteSafetensors(ctx, TempPath("weights"), weights);
  EXPECT_FALSE(fresh.Load(ReadCheckpoint(TempPath("weights"))));
  EXPECT_EQ(fresh.progress().step, 0);
  EXPECT_EQ(fresh.Evaluate(*data.OpenEval()).log_loss, report.evaluation->log_loss);
}

TEST(Trainer, CheckpointEveryIsOneOfThatStep) {
  TrainConfig config = SmallConfig();
  config.epochs = 1;
  Context ctx({.threads = 1, .seed = 3});
  Trainer trainer(ctx, config);
  TrainingRunOptions options{.checkpoint = TempPath("every"), .checkpoint_every = 5};
  std::vector<int64_t> saved;
  options.on_step = [&](const StepReport& step) {
    if (step.step % 5 == 1 && step.step > 1)
      saved.push_back(ReadCheckpoint(options.checkpoint).progress->step);
  };
  RunTraining(trainer, DataSets(config, {}), options);
  EXPECT_EQ(saved, (std::vector<int64_t>{5, 10, 15}));
  EXPECT_EQ(ReadCheckpoint(options.checkpoint).progress->epoch, 1);
}

TEST(Trainer, DivergenceIsAnError) {
  TrainConfig config = SmallConfig();
  Context ctx({.threads = 1, .seed = 3});
  Trainer trainer(ctx, config);
  trainer.model().Parameters().back().variable.value().Fill(
      ctx, std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(Contains(ErrorOf([&] { RunTraining(trainer, DataSets(config, {})); }),
                       "the loss of step 1 is nan: the training diverged"));
}

TEST(Trainer, DivergenceInTheLastStepIsFoundByTheEvaluation) {
  TrainConfig config = SmallConfig();
  config.data.rows = config.batch_size;
  config.epochs = 1;
  Context ctx({.threads = 1, .seed = 3});
  Trainer trainer(ctx, config);
  TrainingRunOptions options;
  options.on_step = [&](const StepReport&) {
    trainer.model().Parameters().back().variable.value().Fill(
        ctx, std::numeric_limits<double>::quiet_NaN());
  };
  EXPECT_TRUE(Contains(ErrorOf([&] { RunTraining(trainer, DataSets(config, {}), options); }),
                       "evaluation: the loss after step 1 is nan: the training diverged"));
}

TEST(Trainer, DivergenceInTheLastStepKeepsTheCheckpointThatThereIs) {
  TrainConfig config = SmallConfig();
  Context ctx({.threads = 1, .seed = 3});
  Trainer trainer(ctx, config);
  const std::string path = TempPath("diverged");
  trainer.Save(path);
  const std::string before = ReadTextFile(path);
  trainer.model().Parameters().back().variable.value().Fill(
      ctx, std::numeric_limits<double>::infinity());
  EXPECT_TRUE(Contains(ErrorOf([&] { trainer.Save(path); }),
                       "has inf after step 0, and is not saved: the training diverged"));
  EXPECT_EQ(ReadTextFile(path), before);
}

TEST(Trainer, DenseTablesAreTrainedByTheDenseOptimizer) {
  TrainConfig config = SmallConfig();
  config.tables[0].optimizer = Dense{};
  Context ctx({.threads = 1, .seed = 3});
  Trainer trainer(ctx, config);
  const Tensor before = trainer.model().StateDict()[0].tensor.Clone(ctx);
  RunTraining(trainer, DataSets(config, {}), {.checkpoint = TempPath("dense")});
  EXPECT_FALSE(SameBits(before, trainer.model().StateDict()[0].tensor));
  Trainer loaded(ctx, config);
  EXPECT_TRUE(loaded.Load(ReadCheckpoint(TempPath("dense"))));
}

}  // namespace
}  // namespace tessera
