#include "serve/export/model_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "runtime/files/files.h"
#include "runtime/files/safetensors.h"
#include "serve/dense_part.h"
#include "serve/export/choose_table_codecs.h"
#include "serve/export/delta_writer.h"
#include "serve/predictor.h"
#include "serve/raw_rows.h"
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

std::vector<std::string> FilesIn(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

float LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(Model, OfF32RowsSaysWhatItsTrainerSays) {
  const SmallModel small = MakeSmallModel("f32.safetensors");
  Predictor predictor(WriteSmallModel(small, "f32"));
  EXPECT_EQ(predictor.Predict(small.request), small.scores);
}

// A program may train on rows of its own, which the data of its configuration then say nothing of.
TEST(Model, SaysHowRowsAreReadWhereItsDataHaveItsInputs) {
  TrainConfig config = tessera::testing::SmallConfig();
  EXPECT_TRUE(MakeSpec(config, {}).data);
  config.tables[0].feature_names = {"product"};  // no column of Criteo's
  const ModelSpec spec = MakeSpec(config, {});
  EXPECT_FALSE(spec.data);
  EXPECT_NE(ErrorOf([&] { RawRows(spec).Read("{}", "a row", false); }).find("tensors alone"),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] { ParseTrainConfig(ToJson(config), "saved"); }).find("feature 'product'"),
            std::string::npos);
  config = tessera::testing::SmallConfig();
  config.model.dense_in = 2;
  EXPECT_FALSE(MakeSpec(config, {}).data);
}

TEST(Model, OfACheckpointWithMoreWeightsIsRefused) {
  const SmallModel small = MakeSmallModel("fewer.safetensors");
  const std::string directory = WriteSmallModel(small, "fewer");
  Context ctx({.threads = 1});
  const Checkpoint more = ChangedCheckpoint(
      small.checkpoint, "more.safetensors",
      [&](auto& tensors) { tensors.emplace("crossnet.kernels.2", Tensor::Zeros(ctx, {4})); });
  const std::string expected =
      more.path + ": it has 'crossnet.kernels.2', which this model does not have";
  EXPECT_EQ(ErrorOf([&] { WriteModel(ctx, more, {}, TempPath("more")); }), expected);
  ModelChain chain(directory);
  EXPECT_EQ(ErrorOf([&] { WriteDelta(ctx, more, {}, chain); }), expected);
}

TEST(Model, OfEachCodecIsAsNearAsTheCodecAllows) {
  const SmallModel small = MakeSmallModel("codecs.safetensors");
  const std::pair<const char*, float> cases[] = {{"f16", 1e-4f},  {"bf16", 1e-3f}, {"int8", 1e-3f},
                                                 {"hfp8", 2e-2f}, {"int4", 2e-2f}, {"int2", 2e-1f}};
  for (const auto& [codec, most] : cases) {
    Predictor predictor(WriteSmallModel(small, codec, {.codec = ParseRowCodec(codec)}));
    const float difference = LargestDifference(predictor.Predict(small.request), small.scores);
    EXPECT_GT(difference, 0) << codec;
    EXPECT_LT(difference, most) << codec;
  }
}

TEST(Model, TablesMayHaveCodecsOfTheirOwn) {
  const SmallModel small = MakeSmallModel("mixed.safetensors");
  Context ctx({.threads = 1});
  const WrittenModel written =
      WriteModel(ctx, ReadCheckpoint(small.checkpoint), {}, TempPath("mixed"),
                 {.codec = {RowType::kInt8}, .table_codecs = {{"b", {RowType::kF16}}}});
  EXPECT_EQ(written.tables[0].spec.codec.type, RowType::kInt8);
  EXPECT_EQ(written.tables[1].spec.codec.type, RowType::kF16);
  EXPECT_EQ(written.tables[0].checkpoint_bytes, 60 * 4 * 4);
  EXPECT_GT(written.tables[0].error.rms, 0);
  EXPECT_GE(written.tables[0].error.max, written.tables[0].error.rms);
  Predictor predictor(TempPath("mixed"));
  EXPECT_LT(LargestDifference(predictor.Predict(small.request), small.scores), 1e-3f);
}

TEST(Model, TensorsBeginOnCacheLines) {
  const std::string directory = WriteSmallModel(MakeSmallModel("lines.safetensors"), "lines");
  const SafetensorsFile file(PathIn(directory, "weights-1.safetensors"));
  int checked = 0;
  for (const auto& [name, entry] : file.entries()) {
    if (name.ends_with(".padding")) continue;
    EXPECT_EQ(entry.begin % 64, 0) << name;
    ++checked;
  }
  EXPECT_EQ(checked, 3 + 8);  // tables; weights and biases of four layers
}

TEST(Model, WrittenAgainIsTheNextVersion) {
  const SmallModel small = MakeSmallModel("again.safetensors");
  WriteSmallModel(small, "again");
  Predictor predictor(TempPath("again"));
  WriteSmallModel(small, "again", {.codec = {RowType::kInt8}});
  EXPECT_EQ(FilesIn(TempPath("again")),
            (std::vector<std::string>{"model.json", "weights-2.safetensors"}));
  EXPECT_EQ(predictor.Predict(small.request), small.scores);  // from the weights that are gone
  EXPECT_EQ(Predictor(TempPath("again")).model()->spec().version, 2);
}

TEST(Model, DefaultRowIsReadByUnknownIds) {
  const SmallModel small = MakeSmallModel("default.safetensors");
  Predictor none(WriteSmallModel(small, "none"));
  Predictor mean(WriteSmallModel(small, "mean", {.default_row = DefaultRow::kMean}));
  EXPECT_EQ(mean.Predict(small.request), small.scores);
  const PredictRequest unknown = OneExample({{60}, {-5}, {1'000'000'000'000}, {1}});
  const PredictRequest empty = OneExample({{}, {}, {}, {1}});
  EXPECT_EQ(none.Predict(unknown), none.Predict(empty));
  EXPECT_NE(mean.Predict(unknown), mean.Predict(empty));
  EXPECT_EQ(mean.model()->counter(0).misses, 1);
  EXPECT_EQ(mean.model()->counter(1).misses, 2);
  EXPECT_EQ(mean.model()->counter(2).misses, 0);
  EXPECT_EQ(mean.model()->counter(2).hits, std::ssize(small.scores) + 2);

  const SafetensorsFile file(PathIn(TempPath("mean"), "weights-1.safetensors"));
  Context ctx({.threads = 1});
  const Tensor rows =
      file.Read(ctx, file.entries().at("tables.c")).Reinterpret(0, {4, 4}, DType::kF32);
  for (int d = 0; d < 4; ++d) {
    const float* column = rows.data<float>() + d;
    EXPECT_NEAR(column[12], (column[0] + column[4] + column[8]) / 3, 1e-6);
  }
}

// A checkpoint whose table "b" has NaN in row 7.
Checkpoint WithNan(const SmallModel& small) {
  return ChangedCheckpoint(small.checkpoint, "nan.safetensors", [](auto& tensors) {
    tensors.at(RankingModel::TableParameterName("b")).template data<float>()[7 * 4 + 1] =
        std::numeric_limits<float>::quiet_NaN();
  });
}

// ---- the dense part

TEST(Model, TheDensePartMayBeStoredInHalves) {
  const SmallModel small = MakeSmallModel("halves.safetensors");
  const std::string directory = WriteSmallModel(small, "halves", {.dense_type = DType::kF16});
  const SafetensorsFile file(PathIn(directory, "weights-1.safetensors"));
  EXPECT_EQ(file.entries().at("over_arch.model.1.weight").dtype, DType::kF16);
  Predictor predictor(directory);
  const float difference = LargestDifference(predictor.Predict(small.request), small.scores);
  EXPECT_GT(difference, 0);
  EXPECT_LT(difference, 2e-3f);
}

TEST(Model, ADensePartThatIsKeptPackedSaysTheSame) {
  const SmallModel small = MakeSmallModel("packed.safetensors");
  const Predictor predictor(WriteSmallModel(small, "packed"));
  Context ctx({.threads = 1});
  DensePart dense(ctx, predictor.model()->spec());
  const Tensor x = Tensor::Full(ctx, {3, 13}, 0.5), pooled = Tensor::Full(ctx, {3, 16}, 0.25);
  const Tensor before = dense.Predict(ctx, x, pooled);
  dense.KeepPacked(ctx);
  for (const NamedParameter& parameter : dense.Parameters())
    EXPECT_EQ(parameter.variable.value().packed_panels() != nullptr,
              parameter.variable.shape().rank() == 2)
        << parameter.name;
  EXPECT_EQ(dense.Predict(ctx, x, pooled).ToVector<float>(), before.ToVector<float>());
}

TEST(Model, OfEveryTypeSaysWhatItsTrainerSays) {
  const std::pair<const char*, RankingNetConfig> cases[] = {
      {"dcn",
       {.type = RankingModelType::kDlrmDcn,
        .dense_in = 13,
        .dense_arch = {8, 4},
        .over_arch = {16, 1},
        .dcn_layers = 2,
        .dcn_low_rank = 3}},
      {"projection",
       {.type = RankingModelType::kDlrmProjection,
        .dense_in = 13,
        .dense_arch = {8, 4},
        .over_arch = {16, 1},
        .branch1 = {8, 8},
        .branch2 = {4}}},
      {"deepfm",
       {.type = RankingModelType::kDeepFm, .dense_in = 13, .hidden = 8, .deep_fm_dim = 5}}};
  for (const auto& [name, net] : cases) {
    TrainConfig config = tessera::testing::SmallConfig();
    config.model = net;
    ExportedRun run(config, name);
    const std::string directory = TempPath(std::string(name) + "_model");
    WriteModel(run.ctx(), run.Save(), {}, directory);
    Predictor predictor(directory);
    EXPECT_EQ(predictor.Predict(run.request()), run.Scores()) << name;
    EXPECT_EQ(predictor.model()->spec().net.type, net.type);
  }
}

TEST(Model, NanIsAnErrorOrZero) {
  const SmallModel small = MakeSmallModel("no_nan.safetensors");
  const std::string directory = WriteSmallModel(small, "nan");
  const Checkpoint checkpoint = WithNan(small);
  Context ctx({.threads = 1});
  EXPECT_NE(ErrorOf([&] { WriteModel(ctx, checkpoint, {}, directory); }).find("table b: 1 rows: 7"),
            std::string::npos);
  EXPECT_EQ(Predictor(directory).Predict(small.request), small.scores);  // what was there still is
  WriteModel(ctx, checkpoint, {}, directory,
             {.default_row = DefaultRow::kMean, .quantize = {.nan = NanPolicy::kZero}});
  for (const float score : Predictor(directory).Predict(small.request))
    EXPECT_TRUE(std::isfinite(score));
}

// Rows of 16 numbers: of 4 they would take as many bytes in every codec.
TEST(Model, CodecsWithinABudget) {
  TrainConfig config = tessera::testing::SmallConfig();
  for (EmbeddingBagConfig& table : config.tables) table.embedding_dim = 16;
  config.model.dense_arch = {8, 16};
  ExportedRun run(config, "budget.safetensors");
  const Checkpoint checkpoint = run.Save();
  const auto codecs = [&](const CodecBudget& budget) {
    return ChooseTableCodecs(run.ctx(), checkpoint, {}, budget);
  };
  for (const auto& [table, codec] : codecs({.share = 1})) EXPECT_EQ(codec.type, RowType::kF32);
  EXPECT_EQ(codecs({.error = 1e-9}), codecs({.share = 1}));
  EXPECT_EQ(codecs({.error = 0.001}).at("a").type, RowType::kF16);
  EXPECT_EQ(codecs({.share = 0.5}).at("a").type, RowType::kF16);
  EXPECT_THROW(codecs({.share = 0.01}), Error);
  for (const double share : {1e18, std::numeric_limits<double>::infinity()})
    EXPECT_NE(ErrorOf([&] { codecs({.share = share}); }).find("expected at most 1000"),
              std::string::npos);
}

TEST(Model, WhatDoesNotFitIsRefused) {
  const SmallModel small = MakeSmallModel("misfit.safetensors");
  const Checkpoint checkpoint = ReadCheckpoint(small.checkpoint);
  Context ctx({.threads = 1});
  const std::string directory = TempPath("misfit");
  const auto error_of = [&](const TrainConfig& config, const WriteModelOptions& options) {
    return ErrorOf([&] { WriteModel(ctx, checkpoint, config, directory, options); });
  };
  TrainConfig config = tessera::testing::SmallConfig();
  EXPECT_NE(
      error_of(config, {.table_codecs = {{"d", {}}}}).find("no such table; there are a, b, c"),
      std::string::npos);
  config.tables[1].embedding_dim = 5;
  EXPECT_EQ(error_of(config, {.codec = {RowType::kInt4}}).find("table b: row codec int4: dim 5"),
            0u);
  config = tessera::testing::SmallConfig();
  config.tables[0].num_embeddings = 61;
  EXPECT_NE(error_of(config, {}).find("expected shape [61, 4], got [60, 4]"), std::string::npos);
  config = tessera::testing::SmallConfig();
  config.model.over_arch = {17, 1};
  EXPECT_NE(error_of(config, {}).find("over_arch.model.0._mlp.0._linear.weight: expected f32 [17"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(directory));
}

}  // namespace
}  // namespace tessera::serve
