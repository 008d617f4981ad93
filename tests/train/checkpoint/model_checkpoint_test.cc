// A model of a program of its own is saved, loaded into a fresh one and trained on: it has the bits
// of the model that was never saved, with every kind of optimizer state.
#include "train/checkpoint/model_checkpoint.h"

#include <gmock/gmock.h>

#include "embedding/embedding_bag_collection.h"
#include "embedding/fused_optimizer.h"
#include "optim/combined_optimizer.h"
#include "optim/dense_optimizer.h"
#include "optim/warmup_optimizer.h"
#include "runtime/files/safetensors.h"
#include "runtime/ops/arithmetic.h"
#include "runtime/ops/linear.h"
#include "tests/testing/devices.h"
#include "tests/testing/rules.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::TempPath;

constexpr char kPrefix[] = "embedding_bags";
constexpr int64_t kDim = 4;

EmbeddingBagConfig Config(const std::string& name, AnyRule rule) {
  EmbeddingBagConfig config;
  config.name = name;
  config.num_embeddings = 12;
  config.embedding_dim = kDim;
  config.feature_names = {name};
  config.optimizer = std::move(rule);
  return config;
}

// A table for each rule, one of 16 bits that rounds by chance, one behind a cache.
std::vector<EmbeddingBagConfig> Configs() {
  std::vector<EmbeddingBagConfig> configs;
  for (const AnyRule& rule : testing::AllRules())
    configs.push_back(Config(Format("t{}", configs.size()), rule));
  EmbeddingBagConfig& rounded = configs.emplace_back(Config("rounded", Adam{.lr = 0.1f}));
  rounded.data_type = DType::kF16;
  rounded.stochastic_rounding = true;
  EmbeddingBagConfig& cached = configs.emplace_back(Config("cached", Adam{.lr = 0.1f}));
  cached.location = EmbeddingLocation::kManagedCaching;
  cached.cache.load_factor = 0.75;
  return configs;
}

// Tables, and a dense layer on them whose learning rate follows a schedule.
struct Model {
  explicit Model(Context& ctx)
      : tables(ctx, Configs()),
        weight(Tensor::Full(ctx, {1, kDim * std::ssize(tables.configs())}, 0.25), true),
        bias(Tensor::Full(ctx, {1}, 0.5), true) {
    DenseOptimizerConfig config("adam");
    config.lr = 0.125;
    const auto fused = std::make_shared<FusedOptimizer>(tables.tables(), kPrefix);
    const auto dense = std::make_shared<DenseOptimizer>(ctx, Parameters(), config);
    const auto both = std::make_shared<CombinedOptimizer>(
        std::vector<CombinedOptimizer::Part>{{"", fused}, {"", dense}});
    const WarmupStage stage{.policy = WarmupPolicy::kLinear, .max_iters = 9, .value = 0.25};
    optimizer = std::make_unique<WarmupOptimizer>(both, std::vector<WarmupStage>{stage});
  }

  std::vector<NamedParameter> Parameters() const { return {{"weight", weight}, {"bias", bias}}; }

  std::vector<NamedTensor> Weights() const {
    std::vector<NamedTensor> weights = tables.tables().rows().weights(kPrefix);
    for (NamedTensor& value : ValuesOf(Parameters())) weights.push_back(std::move(value));
    return weights;
  }

  // A batch of two bags of three ids for each table, other ones in every step.
  KeyedJaggedTensor Batch(Context& ctx, int64_t step) const {
    std::vector<std::string> keys;
    std::vector<int64_t> ids, lengths;
    for (const EmbeddingBagConfig& config : tables.configs()) {
      keys.push_back(config.name);
      ids.insert(ids.end(), {step % 12, 2, (step * 5) % 12});
      lengths.insert(lengths.end(), {2, 1});
    }
    return KeyedJaggedTensor::FromLengthsSync(keys, Tensor::From(ctx, ids),
                                              Tensor::From(ctx, lengths));
  }

  // Trains on the batches [first, last).
  void Train(Context& ctx, int64_t first, int64_t last) {
    for (int64_t step = first; step < last; ++step) {
      Tape tape(ctx);
      const Variable pooled = tables.Forward(ctx, Batch(ctx, step)).values();
      tape.Backward(Sum(ctx, Linear(ctx, pooled, weight, bias)));
      optimizer->Step(ctx);
      optimizer->ZeroGrad();
    }
    tables.tables().caches().Flush(ctx);
  }

  EmbeddingBagCollection tables;
  Variable weight, bias;
  std::unique_ptr<Optimizer> optimizer;
};

class ModelCheckpointTest : public testing::DeviceTest {
 protected:
  std::unique_ptr<Model> Make() {
    ctx().random() = Random(3);
    return std::make_unique<Model>(ctx());
  }
  void Save(const std::string& path, const Model& model, int64_t step) {
    SaveCheckpoint(ctx(), path, model.Weights(), *model.optimizer, {.step = step});
  }
  TrainingProgress Load(const std::string& path, Model& model) {
    return LoadCheckpoint(ctx(), path, model.Weights(), *model.optimizer);
  }
  static void ExpectSame(const Model& a, const Model& b) {
    const std::vector<NamedTensor> x = a.Weights(), y = b.Weights();
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_TRUE(SameBits(x[i].tensor, y[i].tensor)) << x[i].name;
  }
};

TEST_P(ModelCheckpointTest, GoesOnWithTheSameBits) {
  const std::string path = TempPath("whole");
  const auto model = Make();
  model->Train(ctx(), 0, 6);
  Save(path, *model, 6);
  const uint64_t next = ctx().random().next_sequence();
  model->Train(ctx(), 6, 14);

  const auto fresh = Make();
  EXPECT_EQ(Load(path, *fresh).step, 6);
  EXPECT_EQ(ctx().random().next_sequence(), next);
  fresh->Train(ctx(), 6, 14);
  ExpectSame(*fresh, *model);
}

TEST_P(ModelCheckpointTest, GoesBackFromALaterStep) {
  const std::string path = TempPath("back");
  const auto model = Make();
  model->Train(ctx(), 0, 6);
  Save(path, *model, 6);
  model->Train(ctx(), 6, 14);
  const auto other = Make();
  other->Train(ctx(), 0, 9);
  Load(path, *other);
  other->Train(ctx(), 6, 14);
  ExpectSame(*other, *model);
}

TEST_P(ModelCheckpointTest, WeightsAloneAreReadFromAnyCheckpoint) {
  const std::string path = TempPath("for_weights");
  const auto model = Make();
  model->Train(ctx(), 0, 6);
  Save(path, *model, 6);
  const auto fresh = Make();
  LoadWeights(ctx(), path, fresh->Weights());
  ExpectSame(*fresh, *model);
  EXPECT_EQ(fresh->tables.tables().iter(), 0);
}

TEST_P(ModelCheckpointTest, RefusesWhatDoesNotFitAndChangesNothing) {
  const std::string path = TempPath("refused");
  const auto model = Make();
  model->Train(ctx(), 0, 6);
  Save(path, *model, 6);
  Context host;
  const Safetensors good = ReadSafetensors(host, path);
  const auto fresh = Make(), before = Make();
  const auto refusal = [&](const std::function<void(Safetensors&)>& spoil) {
    Safetensors bad = good;
    bad.metadata.erase("crc32");
    spoil(bad);
    WriteSafetensors(host, path, bad);
    const std::string error = ErrorOf([&] { Load(path, *fresh); });
    ExpectSame(*fresh, *before);
    EXPECT_EQ(fresh->tables.tables().iter(), 0);
    return error;
  };
  EXPECT_THAT(refusal([](auto& bad) { bad.tensors.erase("bias"); }), HasSubstr("lacks 'bias'"));
  const std::string iter = "optimizer.embedding_bags.cached.weight.iter";
  EXPECT_THAT(refusal([&](auto& bad) { bad.tensors.erase(iter); }), HasSubstr("iter"));
  EXPECT_THAT(refusal([&](auto& bad) { *bad.tensors.at(iter).template data<int64_t>() = -1; }),
              HasSubstr("iter"));
  EXPECT_THAT(refusal([](auto& bad) {
                std::erase_if(bad.tensors, [](const auto& t) { return IsRunState(t.first); });
              }),
              HasSubstr("has no state of an optimizer"));
  EXPECT_THAT(refusal([](auto& bad) { bad.tensors["optimizer.odd"] = bad.tensors.at("bias"); }),
              HasSubstr("it has 'optimizer.odd'"));
  EXPECT_THAT(refusal([](auto& bad) { bad.metadata.clear(); }), HasSubstr("LoadWeights reads"));
}

// SGD remembers nothing that a file could lack: the weight that is missing is what to say.
TEST_P(ModelCheckpointTest, SaysAMissingWeightBeforeAMissingState) {
  const std::string path = TempPath("other_model");
  Context host;
  WriteSafetensors(host, path,
                   {.tensors = {{"weight", Tensor::Full(host, {1, 2}, 0.5)}},
                    .metadata = CheckpointMetadata({.step = 1}, "")});
  EmbeddingBagCollection tables(ctx(), {Config("t", Sgd{})});
  FusedOptimizer optimizer(tables.tables(), kPrefix);
  const auto weights = tables.tables().rows().weights(kPrefix);
  EXPECT_THAT(ErrorOf([&] { LoadCheckpoint(ctx(), path, weights, optimizer); }),
              HasSubstr("it lacks 'embedding_bags.t.weight', which this model has"));
}

TEST_P(ModelCheckpointTest, WeightsThatCannotBeSavedAreNamed) {
  const std::string path = TempPath("no_weights");
  EmbeddingBagCollection tables(ctx(), {Config("t", Sgd{})});
  FusedOptimizer optimizer(tables.tables(), kPrefix);
  const auto error = [&](const Tensor& weight) {
    return ErrorOf([&] { SaveCheckpoint(ctx(), path, {{"w", weight}}, optimizer); });
  };
  EXPECT_EQ(error({}), "checkpoint: tensor 'w' is undefined");
  EXPECT_EQ(error(Tensor::Full(ctx(), {4, 3}, 1).Narrow(1, 0, 2)),
            "checkpoint: tensor 'w' is a view [4, 2] that is not contiguous");
}

TESSERA_INSTANTIATE_DEVICES(ModelCheckpointTest);

}  // namespace
}  // namespace tessera
