#include "serve/predictor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/serve/testing/small_model.h"

namespace tessera::serve {
namespace {

using tessera::testing::ErrorOf;
using tessera::testing::MakeSmallModel;
using tessera::testing::OneExample;
using tessera::testing::SmallModel;
using tessera::testing::TempPath;
using tessera::testing::WriteSmallModel;

TEST(Predictor, FeaturesMayComeInAnyOrderWithOthersBetween) {
  const SmallModel small = MakeSmallModel("order.safetensors");
  Predictor predictor(WriteSmallModel(small, "order"));
  Context ctx({.threads = 1});
  const KeyedJaggedTensor& kjt = small.request.features;
  std::vector<std::pair<std::string, JaggedTensor>> turned = kjt.ToDict(ctx);
  std::reverse(turned.begin(), turned.end());
  turned.insert(turned.begin() + 1, {"other", kjt.AtIndex(ctx, 0)});
  EXPECT_EQ(predictor.Predict({.dense = small.request.dense,
                               .features = KeyedJaggedTensor::FromJtDict(ctx, turned)}),
            small.scores);
}

TEST(Predictor, RequestsThatDoNotFitAreRefused) {
  const SmallModel small = MakeSmallModel("refused.safetensors");
  Predictor predictor(WriteSmallModel(small, "refused"));
  Context ctx({.threads = 1});
  const auto error_of = [&](const PredictRequest& request) {
    return ErrorOf([&] { predictor.Predict(request); });
  };
  const KeyedJaggedTensor& features = small.request.features;
  EXPECT_EQ(error_of({}), "dense: expected f32 [B, 13], got none");
  EXPECT_EQ(error_of({.dense = Tensor::Zeros(ctx, {1, 12}), .features = features}),
            "dense: expected f32 [B, 13], got f32 [1, 12]");
  EXPECT_EQ(error_of({.dense = Tensor::Zeros(ctx, {1, 13}), .features = features}),
            "features: expected 1 bags each, as many as rows of dense, got 500");
  EXPECT_EQ(error_of({.dense = small.request.dense, .features = features.Permute(ctx, {0, 1, 2})}),
            "feature cat_9 is missing");
  EXPECT_EQ(
      error_of({.dense = small.request.dense,
                .features = features.WithWeights(Tensor::Zeros(ctx, {features.values().numel()}))}),
      "features: expected none with weights");
  EXPECT_TRUE(predictor
                  .Predict({.dense = Tensor::Empty(ctx, {0, 13}),
                            .features = KeyedJaggedTensor::FromLengthsSync(
                                features.keys(), Tensor::Empty(ctx, {0}, DType::kI64),
                                Tensor::Empty(ctx, {0}, DType::kI64))})
                  .empty());
}

// Threads predict while models change under them: all of an answer comes from one model.
TEST(Predictor, ReloadsWhileItIsAsked) {
  const SmallModel first = MakeSmallModel("first.safetensors", 3);
  const SmallModel second = MakeSmallModel("second.safetensors", 4);
  ASSERT_NE(first.scores, second.scores);
  Predictor predictor(WriteSmallModel(first, "reload"));
  std::atomic<bool> done = false;
  std::atomic<int64_t> answers = 0, of_second = 0, mixed = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!done || answers < 100) {
        const std::vector<float> scores = predictor.Predict(first.request);
        ++answers;
        of_second += scores == second.scores ? 1 : 0;
        mixed += scores != second.scores && scores != first.scores ? 1 : 0;
      }
    });
  for (int i = 0; i < 20; ++i) {
    WriteSmallModel(i % 2 == 0 ? second : first, "reload");
    predictor.Reload();
  }
  WriteSmallModel(second, "reload");
  predictor.Reload();
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(mixed, 0);
  EXPECT_EQ(predictor.Predict(first.request), second.scores);
  EXPECT_EQ(predictor.model()->spec().version, 22);
  EXPECT_EQ(predictor.model()->counter(0).hits, 500 * (answers + 1));
}

TEST(Predictor, KeepsItsModelWhereTheNextOneIsBad) {
  const SmallModel small = MakeSmallModel("kept.safetensors");
  const std::string directory = WriteSmallModel(small, "kept");
  Predictor predictor(directory);
  EXPECT_NE(ErrorOf([&] { predictor.Reload(TempPath("nowhere")); }).find("nowhere/model.json"),
            std::string::npos);
  std::filesystem::rename(directory + "/weights-1.safetensors", directory + "/w");
  EXPECT_NE(ErrorOf([&] { predictor.Reload(); }).find("weights-1.safetensors: cannot be read"),
            std::string::npos);
  std::ofstream(directory + "/model.json") << "{}";
  EXPECT_NE(ErrorOf([&] { predictor.Reload(); }).find("model.json: tessera_model"),
            std::string::npos);
  EXPECT_EQ(predictor.Predict(small.request), small.scores);
}

// Ids of a large request, known and unknown ones, as i64 and as i32: looked up where they lie
// (alone, in a model whose ids are rows), or packed (with another request, or where unknown ids
// have a row).
TEST(Predictor, LargeRequestsAreLookedUpWithoutACopy) {
  const SmallModel small = MakeSmallModel("large.safetensors");
  std::vector<int64_t> many;
  for (int64_t i = 0; i < 100'000; ++i) many.push_back(i % 53 - 1);
  const PredictRequest wide = OneExample({{1}, many, {2, -5}, {0, 7}}),
                       other = OneExample({{1}, {2}, {3}, {0}});
  Context ctx({.threads = 1});
  const KeyedJaggedTensor& kjt = wide.features;
  const PredictRequest narrow{
      .dense = wide.dense,
      .features = KeyedJaggedTensor({.keys = kjt.keys(),
                                     .values = kjt.values().To(ctx, DType::kI32),
                                     .offsets = kjt.offsets(ctx).To(ctx, DType::kI32)})};
  for (const DefaultRow default_row : {DefaultRow::kNone, DefaultRow::kMean}) {
    Predictor predictor(
        WriteSmallModel(small, "large" + ToString(default_row), {.default_row = default_row}));
    const auto model = predictor.model();
    const float score = predictor.Predict(wide)[0];
    EXPECT_EQ(model->counter(1).hits, 94'342);
    EXPECT_EQ(model->counter(1).misses, 5'660);
    EXPECT_EQ(predictor.Predict(narrow)[0], score);
    for (const PredictRequest* request : {&wide, &narrow}) {
      const std::vector<const PredictRequest*> both = {&other, request};
      const std::vector<float> scores = predictor.Predict(*model, both);
      EXPECT_NEAR(scores[0], predictor.Predict(other)[0], 1e-6f);
      EXPECT_NEAR(scores[1], score, 1e-6f);
    }
    EXPECT_EQ(model->counter(1).misses, 4 * 5'660);
  }
}

// A model of other features is refused before its weights are read, and accepted if that is asked
// for.
TEST(Predictor, OtherInputsAreTakenWhenAsked) {
  const SmallModel small = MakeSmallModel("inputs.safetensors");
  const std::string directory = WriteSmallModel(small, "inputs"), other = TempPath("other_inputs");
  std::filesystem::copy(directory, other, std::filesystem::copy_options::recursive);
  ModelSpec spec = Predictor(directory).model()->spec();
  spec.tables[1].features[1] = "cat_7";
  std::ofstream(other + "/model.json") << ToSealedJson(spec);
  Predictor predictor(directory);
  EXPECT_NE(ErrorOf([&] { predictor.Reload(other); })
                .find("other_inputs: version 1 would read other inputs than version 1: not the "
                      "feature cat_2, also the feature cat_7"),
            std::string::npos);
  predictor.Reload();  // where it was
  predictor.Reload(other, true);
  EXPECT_EQ(predictor.model()->features()[2], "cat_7");
  PredictorOptions options{.accept = [](const ModelSpec& model) {
    if (model.Features()[2] == "cat_2") throw Error("not that");
  }};
  EXPECT_EQ(ErrorOf([&] { Predictor refused(directory, options); }), "not that");
  options.new_inputs = true;
  Predictor willing(other, options);
  EXPECT_EQ(ErrorOf([&] { willing.Reload(directory); }), "not that");
}

}  // namespace
}  // namespace tessera::serve
