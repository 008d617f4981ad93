// A catalogue's scores are what the model answers to each query beside each candidate.
#include "train/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;

constexpr char kConfig[] = R"({
  "tables": [
    {"name": "users", "rows": 7, "dim": 8, "features": ["user"]},
    {"name": "items", "rows": 5000, "dim": 4, "features": ["seen", "item"], "pooling": "MEAN"}],
  "model": {"type": "two_tower", "query": ["user", "seen"], "candidate": ["item"],
            "layers": [16, 8], "tasks": [{"loss": "in_batch_softmax"}]},
  "optimizer": {"sparse": {"name": "sgd", "lr": 0.1}, "dense": {"name": "sgd", "lr": 0.1}},
  "data": {"format": "jsonl"}})";

// Users 3 and 6, the second of whom has seen nothing, each beside one candidate.
Batch Queries(Context& ctx, int64_t candidate, bool weighted) {
  const Tensor values = Tensor::From<int64_t>(ctx, {3, 6, 10, 4999, candidate, candidate});
  const Tensor lengths = Tensor::From<int64_t>(ctx, {1, 1, 2, 0, 1, 1});
  const Variable weights(weighted ? Tensor::From<float>(ctx, {1, 1, 0.5f, 2, 1, 1}) : Tensor());
  return {.dense = Tensor::Zeros(ctx, {2, 0}),
          .features = KeyedJaggedTensor::FromLengthsSync({"user", "seen", "item"}, values, lengths,
                                                         weights),
          .labels = {}};
}

TEST(Catalogue, ScoresAreTheModelsAnswers) {
  for (const bool weighted : {false, true}) {
    nlohmann::json json = nlohmann::json::parse(kConfig);
    if (weighted) {
      json["model"]["weighted"] = true;
      json["data"]["features"] = {{{"name", "user"}, {"weights", "w"}},
                                  {{"name", "seen"}, {"weights", "w"}},
                                  {{"name", "item"}, {"weights", "w"}}};
      json["tables"][1]["pooling"] = "SUM";
    }
    Context ctx({.threads = 1, .seed = 5});
    Trainer trainer(ctx, ParseTrainConfig(json.dump(), "c"));
    Catalogue catalogue(trainer);
    ASSERT_EQ(catalogue.size(), 5000);
    const Tensor scores = catalogue.Scores(Queries(ctx, 1, weighted));
    for (const int64_t candidate : {0, 1, 4095, 4096, 4999}) {
      const Tensor answers = trainer.Predict(Queries(ctx, candidate, weighted));
      for (int64_t row = 0; row < 2; ++row)
        EXPECT_NEAR(scores.data<float>()[row * 5000 + candidate], answers.data<float>()[row], 1e-6)
            << candidate;
    }
  }
}

TEST(Catalogue, FeaturesOfTheCandidatesTable) {
  const CatalogueFeatures features = CatalogueFeaturesOf(ParseTrainConfig(kConfig, "c"));
  EXPECT_EQ(features.candidate, "item");
  EXPECT_EQ(features.items, 5000);
  EXPECT_EQ(features.history, std::vector<std::string>{"seen"});
}

TEST(Catalogue, RefusesModelsWithoutOne) {
  const auto refused = [](auto change) {
    nlohmann::json json = nlohmann::json::parse(kConfig);
    change(json);
    return ErrorOf([&] { CatalogueFeaturesOf(ParseTrainConfig(json.dump(), "c")); });
  };
  EXPECT_THAT(refused([](auto& c) {
                c["model"]["candidate"] = {"item", "seen"};
              }),
              HasSubstr("expected one feature, whose ids are the catalogue, got 2"));
  EXPECT_THAT(refused([](auto& c) {
                c["tables"][1]["managed_collision"] = {{"kind", "mch"}};
              }),
              HasSubstr("table 'items': managed_collision beside a catalogue"));
  EXPECT_THAT(refused([](auto& c) {
                c["tables"][0]["dim"] = 4;
                c["data"]["labels"] = {"click"};
                c["model"] = {{"type", "dlrm"}, {"dense_in", 0}, {"over_arch", {4, 1}}};
              }),
              HasSubstr("got the type dlrm"));
}

}  // namespace
}  // namespace tessera
