// Models of which rows are dropped: which ones, and how ids find those that are left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "serve/export/model_writer.h"
#include "serve/predictor.h"
#include "tests/serve/testing/small_model.h"

namespace tessera::serve {
namespace {

using tessera::testing::ChangedCheckpoint;
using tessera::testing::ErrorOf;
using tessera::testing::ExportedRun;
using tessera::testing::MakeSmallModel;
using tessera::testing::OneExample;
using tessera::testing::SmallModel;
using tessera::testing::TempPath;
using tessera::testing::WriteSmallModel;
using ::testing::HasSubstr;

// A request for the small model without these rows, as an unpruned model reads it: an id whose row
// is gone is unknown.
PredictRequest WithoutRows(const PredictRequest& request, const ServedModel& model,
                           const std::vector<std::set<int64_t>>& kept) {
  Context ctx({.threads = 1});
  const KeyedJaggedTensor& kjt = request.features;
  std::vector<int64_t> ids = kjt.values().To(ctx, DType::kI64).ToVector<int64_t>();
  size_t feature = 0;
  for (size_t t = 0; t < model.spec().tables.size(); ++t)
    for (const std::string& name : model.spec().tables[t].features) {
      EXPECT_EQ(kjt.keys()[feature], name);
      const auto begin = kjt.offset_per_key()[feature], end = kjt.offset_per_key()[feature + 1];
      for (int64_t i = begin; i < end; ++i) {
        int64_t& id = ids[static_cast<size_t>(i)];
        if (kept[t].count(id) == 0) id = -1;
      }
      ++feature;
    }
  return {.dense = request.dense,
          .features = KeyedJaggedTensor::FromLengthsSync(kjt.keys(), Tensor::From(ctx, ids),
                                                         kjt.lengths(ctx))};
}

// The `count` rows of the largest norms.
std::set<int64_t> LargestRows(const SmallModel& small, const std::string& table, int64_t count) {
  Context ctx({.threads = 1});
  const Safetensors content = ReadSafetensors(ctx, small.checkpoint);
  const Tensor& rows = content.tensors.at(RankingModel::TableParameterName(table));
  std::vector<std::pair<double, int64_t>> norms;
  for (int64_t r = 0; r < rows.dim(0); ++r) {
    double sum = 0;
    for (int64_t d = 0; d < rows.dim(1); ++d) {
      const double x = rows.data<float>()[r * rows.dim(1) + d];
      sum += x * x;
    }
    norms.emplace_back(-sum, r);
  }
  std::sort(norms.begin(), norms.end());
  std::set<int64_t> kept;
  for (int64_t i = 0; i < count; ++i) kept.insert(norms[static_cast<size_t>(i)].second);
  return kept;
}

TEST(PrunedModel, APrunedOneSaysOfKeptIdsWhatTheWholeOneSays) {
  const SmallModel small = MakeSmallModel("prune.safetensors");
  Predictor whole(WriteSmallModel(small, "whole"));
  const std::vector<std::set<int64_t>> kept = {
      LargestRows(small, "a", 36), LargestRows(small, "b", 30), LargestRows(small, "c", 2)};
  for (const RemapKind remap : {RemapKind::kArray, RemapKind::kHash}) {
    Predictor pruned(WriteSmallModel(small, "pruned", {.prune = {.share = 0.4, .remap = remap}}));
    const ModelSpec& spec = pruned.model()->spec();
    EXPECT_EQ(spec.tables[0].rows, 36);
    EXPECT_EQ(spec.tables[0].ids, 60);
    EXPECT_EQ(spec.tables[0].remap, remap);
    const std::vector<float> scores = pruned.Predict(small.request);
    EXPECT_EQ(scores, whole.Predict(WithoutRows(small.request, *whole.model(), kept)));
    EXPECT_NE(scores, small.scores);
    EXPECT_GT(pruned.model()->counter(0).misses, 0);
  }
}

TEST(PrunedModel, PrunedRowsReadTheDefaultRow) {
  const SmallModel small = MakeSmallModel("prune_default.safetensors");
  Predictor pruned(WriteSmallModel(small, "prune_default",
                                   {.default_row = DefaultRow::kMean, .prune = {.share = 0.9}}));
  const std::set<int64_t> kept = LargestRows(small, "a", 6);
  int64_t gone = 0;
  while (kept.count(gone) != 0) ++gone;
  EXPECT_EQ(pruned.Predict(OneExample({{gone}, {}, {}, {}})),
            pruned.Predict(OneExample({{1000}, {}, {}, {}})));
  EXPECT_NE(pruned.Predict(OneExample({{gone}, {}, {}, {}})),
            pruned.Predict(OneExample({{*kept.begin()}, {}, {}, {}})));
}

// Ids of rows that are gone read it.
TEST(PrunedModel, TheDefaultRowIsTheMeanOfAllRows) {
  const SmallModel small = MakeSmallModel("prune_all.safetensors");
  const auto predict = [&](const std::string& name, const PruneOptions& prune) {
    Predictor model(
        WriteSmallModel(small, name, {.default_row = DefaultRow::kMean, .prune = prune}));
    return model.Predict(OneExample({{1000}, {1000}, {}, {}}));
  };
  EXPECT_EQ(predict("prune_some", {.share = 0.9}), predict("prune_none", {}));
}

TEST(PrunedModel, TheWorstRowIsNamedByItsId) {
  const SmallModel small = MakeSmallModel("prune_worst.safetensors");
  const std::string a = RankingModel::TableParameterName("a");
  Context ctx({.threads = 1});
  const Checkpoint changed =
      ChangedCheckpoint(small.checkpoint, "worst.safetensors", [&](auto& tensors) {
        tensors.at(a).template data<float>()[42 * 4] = 100;
        tensors.at(a).template data<float>()[42 * 4 + 1] = 33.3f;
      });
  const WrittenModel written = WriteModel(ctx, changed, {}, TempPath("prune_worst"),
                                          {.codec = {RowType::kInt8}, .prune = {.share = 0.9}});
  EXPECT_EQ(written.tables[0].error.worst_row, 42);
}

TEST(PrunedModel, TheDefaultRowIsTheMeanOfFiniteRows) {
  const SmallModel small = MakeSmallModel("prune_mean.safetensors");
  const std::string a = RankingModel::TableParameterName("a"), directory = TempPath("prune_mean");
  const float inf = std::numeric_limits<float>::infinity();
  Context ctx({.threads = 1});
  const WriteModelOptions options = {.default_row = DefaultRow::kMean, .prune = {.share = 0.9}};
  const WrittenModel written = WriteModel(
      ctx,
      ChangedCheckpoint(small.checkpoint, "one_inf.safetensors",
                        [&](auto& tensors) { tensors.at(a).template data<float>()[8] = inf; }),
      {}, directory, options);
  EXPECT_EQ(written.tables[0].error.not_finite, 1);
  EXPECT_FALSE(written.tables[0].error.default_row_not_finite);
  Predictor pruned(directory);
  EXPECT_TRUE(std::isfinite(pruned.Predict(OneExample({{1000}, {}, {}, {}}))[0]));
  const Checkpoint none =
      ChangedCheckpoint(small.checkpoint, "all_inf.safetensors",
                        [&](auto& tensors) { tensors.at(a).Fill(ctx, static_cast<double>(inf)); });
  EXPECT_THAT(ErrorOf([&] { WriteModel(ctx, none, {}, directory, options); }),
              HasSubstr("table a: none of its 60 rows is finite"));
}

TEST(PrunedModel, RowsThatTrainingNeverMetAreFoundByTheirState) {
  const SmallModel small = MakeSmallModel("untouched.safetensors");
  const std::string directory = TempPath("untouched");
  Context ctx({.threads = 1});
  const Checkpoint checkpoint = ReadCheckpoint(small.checkpoint);
  // Table c learns by SGD, which remembers nothing.
  EXPECT_NE(ErrorOf([&] {
              WriteModel(ctx, checkpoint, {}, directory, {.prune = {.untouched = true}});
            }).find("no optimizer state says"),
            std::string::npos);
  const std::string b = RankingModel::TableParameterName("b");
  const RowSource source = RowsOf(checkpoint, tessera::testing::SmallConfig())[1];
  const Checkpoint changed =
      ChangedCheckpoint(small.checkpoint, "untouched_rows.safetensors", [&](auto& tensors) {
        const Tensor state = tensors.at(OptimizerStateName(b, "momentum1"));
        state.data<float>()[3] = state.data<float>()[7] = 0;
      });
  const std::vector<int64_t> kept = KeptRows(ctx, changed, b, source, {.untouched = true}).ids;
  EXPECT_EQ(std::count(kept.begin(), kept.end(), 3) + std::count(kept.begin(), kept.end(), 7), 0);
  EXPECT_EQ(std::ssize(kept),
            std::ssize(KeptRows(ctx, checkpoint, b, source, {.untouched = true}).ids) - 2);
}

// In f16 the squares of small gradients are 0.
TEST(PrunedModel, StatesOfF16DoNotSayWhichRowsTrainingMet) {
  TrainConfig config = tessera::testing::SmallConfig();
  config.tables[1].state_type = DType::kF16;
  tessera::testing::ExportedRun run(config, "f16_states.safetensors");
  run.Step();
  const Checkpoint checkpoint = run.Save();
  const std::string b = RankingModel::TableParameterName("b");
  EXPECT_THAT(ErrorOf([&] {
                KeptRows(run.ctx(), checkpoint, b, RowsOf(checkpoint, config)[1],
                         {.untouched = true});
              }),
              HasSubstr("its optimizer's states are f16"));
}

TEST(PrunedModel, PruningByNormKeepsARowAtLeast) {
  const SmallModel small = MakeSmallModel("norm.safetensors");
  Context ctx({.threads = 1});
  const Checkpoint checkpoint = ReadCheckpoint(small.checkpoint);
  const RowSource source = RowsOf(checkpoint, tessera::testing::SmallConfig())[0];
  const std::string a = RankingModel::TableParameterName("a");
  EXPECT_EQ(KeptRows(ctx, checkpoint, a, source, {.max_norm = 0}).ids.size(), 60u);
  EXPECT_FALSE(KeptRows(ctx, checkpoint, a, source, {.max_norm = 0}).all_rows_named);
  const RowsKept one = KeptRows(ctx, checkpoint, a, source, {.max_norm = 1e9});
  EXPECT_EQ(std::set<int64_t>(one.ids.begin(), one.ids.end()), LargestRows(small, "a", 1));
  EXPECT_TRUE(one.all_rows_named);
  EXPECT_THROW(KeptRows(ctx, checkpoint, a, source, {.share = 1.5}), Error);
  Predictor pruned(WriteSmallModel(small, "norm", {.prune = {.max_norm = 1e9}}));
  EXPECT_EQ(pruned.model()->spec().tables[0].rows, 1);
}

TEST(PrunedModel, ARemapThatMakesNoSenseIsRefused) {
  const SmallModel small = MakeSmallModel("bad_remap.safetensors");
  for (const RemapKind remap : {RemapKind::kArray, RemapKind::kHash}) {
    const std::string directory =
        WriteSmallModel(small, "bad_remap", {.prune = {.share = 0.5, .remap = remap}});
    const Predictor good(directory);
    const std::string path = PathIn(directory, good.model()->spec().weights);
    Context ctx({.threads = 1});
    Safetensors content = ReadSafetensors(ctx, path);
    content.tensors.at("remap.a").Fill(ctx, 30);  // there are rows 0 to 29
    testing::RewriteModelFile(ctx, path, content);
    EXPECT_NE(ErrorOf([&] { Predictor bad(directory); }).find("remap.a"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera::serve
