#ifndef TESSERA_TESTS_SERVE_TESTING_BAGS_OF_IDS_H_
#define TESSERA_TESTS_SERVE_TESTING_BAGS_OF_IDS_H_
// Trainings on bags of several ids, which no file format brings: made-up batches for the tables of
// SmallConfig, and what micro-batches and ranks make of them.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/local_communicator.h"
#include "serve/export/delta_writer.h"
#include "serve/export/model_writer.h"
#include "serve/predictor.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/ranks_run.h"

namespace tessera::testing {

struct BagsOfIds {
  int64_t longest = 3;    // ids of a bag
  bool weighted = false;  // ids come with weights in [0, 1)
  // Whether an example is a click, by its bag of cat_0.
  std::function<bool(std::span<const int64_t> ids, std::span<const float> weights)> is_click;

  Batch operator()(Context& ctx, uint64_t seed, int64_t size = 256) const {
    std::mt19937_64 random(seed);
    const auto below = [&](int64_t n) {
      return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
    };
    std::vector<float> labels(static_cast<size_t>(size));
    std::vector<std::pair<std::string, JaggedTensor>> bags;
    const std::vector<std::pair<std::string, int64_t>> features = {
        {"cat_0", 60}, {"cat_1", 50}, {"cat_2", 50}, {"cat_9", 3}};
    for (const auto& [key, rows] : features) {
      std::vector<int64_t> ids, lengths;
      std::vector<float> weights;
      for (int64_t b = 0; b < size; ++b) {
        const auto n = static_cast<size_t>(lengths.emplace_back(below(longest + 1)));
        for (size_t i = 0; i < n; ++i) {
          ids.push_back(below(rows));
          weights.push_back(static_cast<float>(below(100)) / 100);
        }
        if (key == "cat_0")
          labels[static_cast<size_t>(b)] =
              is_click(std::span(ids).last(n), std::span(weights).last(n)) ? 1.0f : 0.0f;
      }
      bags.emplace_back(key,
                        JaggedTensor(Tensor::From(ctx, ids), Tensor::From(ctx, lengths),
                                     /*offsets=*/{},
                                     weighted ? Variable(Tensor::From(ctx, weights)) : Variable()));
    }
    return {.dense = Tensor::Zeros(ctx, {size, 13}),
            .features = KeyedJaggedTensor::FromJtDict(ctx, bags),
            .labels = Tensor::From(ctx, labels),
            .end_row = size};
  }
};

// The losses of `steps` steps, on the bags of seeds from `first` on.
inline std::vector<double> TrainOnBags(Trainer& trainer, const BagsOfIds& bags, int64_t first,
                                       int64_t steps, int64_t size = 256) {
  Context host({.threads = 1});
  std::vector<double> losses;
  for (int64_t s = first; s < first + steps; ++s)
    losses.push_back(trainer.Step(bags(host, static_cast<uint64_t>(s), size)));
  return losses;
}

// A model that is made of the training answers as the training does: small and large requests, and
// after a delta.
inline void ExpectServedAsTrained(Context& ctx, Trainer& trainer, const BagsOfIds& bags,
                                  const std::string& name) {
  const std::string file = TempPath(name + ".safetensors"), model = TempPath(name);
  std::filesystem::remove_all(model);
  trainer.Save(file);
  serve::WriteModel(ctx, ReadCheckpoint(file), {}, model, {.codec = ParseRowCodec("f32")});
  serve::Predictor predictor(model);
  const auto same = [&](uint64_t seed, int64_t size) {
    const Batch batch = bags(ctx, seed, size);
    EXPECT_EQ(predictor.Predict({.dense = batch.dense, .features = batch.features}),
              trainer.Predict(batch).ToVector<float>());
  };
  same(100, 7);
  same(101, 30'000);  // so many ids that those of plain bags would not be copied

  TrainOnBags(trainer, bags, 50, 5);
  trainer.Save(file);
  serve::ModelChain chain(model);
  serve::WriteDelta(ctx, ReadCheckpoint(file), {}, chain);
  EXPECT_EQ(predictor.TakeDeltas(), 1);
  same(102, 7);
}

// Three micro-batches have the bits of one batch.
inline void ExpectSameInMicroBatches(TrainConfig config, const BagsOfIds& bags) {
  std::vector<std::string> files;
  for (const int64_t steps : {1, 3}) {
    config.batch_size = 384 / steps;
    config.accumulate_steps = steps;
    Context ctx({.threads = 1, .seed = 3});
    Trainer trainer(ctx, config);
    TrainOnBags(trainer, bags, 0, 4, 384);
    const std::string path = TempPath("micro");
    WriteCheckpoint(ctx, path, trainer.State(), trainer.progress(), "");
    files.push_back(ReadFile(path));
  }
  EXPECT_TRUE(files[0] == files[1]);
}

// Two ranks train, and score, near what one process does.
inline void ExpectNearOnRanks(const TrainConfig& config, const BagsOfIds& bags) {
  Context ctx({.threads = 1, .seed = 3});
  Trainer alone(ctx, config);
  const std::vector<double> losses = TrainOnBags(alone, bags, 0, 8);
  const Batch probe = bags(ctx, 9, 64);
  const std::vector<float> scores = alone.Predict(probe).ToVector<float>();
  RunLocalRanks(2, [&](Communicator& comm) {
    Context own({.threads = 1, .seed = 3});
    Trainer trainer(own, config,
                    TrainingRanks{&comm, PlanFor(config, 2, "row_wise"), WireCodecs()});
    const std::vector<double> mine = TrainOnBags(trainer, bags, 0, 8);
    for (size_t i = 0; i < mine.size(); ++i) EXPECT_NEAR(mine[i], losses[i], 1e-4);
    const std::vector<float> said = trainer.Predict(probe).ToVector<float>();
    for (size_t i = 0; i < said.size(); ++i) EXPECT_NEAR(said[i], scores[i], 1e-3);
  });
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_SERVE_TESTING_BAGS_OF_IDS_H_
