#include "serve/warm_up.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "serve/predictor.h"
#include "tests/serve/testing/small_model.h"

namespace tessera::serve {
namespace {

using tessera::testing::ErrorOf;
using tessera::testing::MakeSmallModel;
using tessera::testing::SmallModel;
using tessera::testing::TempPath;
using tessera::testing::WriteSmallModel;
using ::testing::HasSubstr;

std::string FileOfRows(const std::string& name, const std::string& rows) {
  const std::string path = TempPath(name);
  std::ofstream(path) << rows;
  return path;
}

int64_t Counted(const ServedModel& model) {
  int64_t ids = 0;
  for (size_t t = 0; t < model.spec().tables.size(); ++t)
    ids += model.counter(t).hits + model.counter(t).misses;
  return ids;
}

TEST(WarmUp, MadeUpRowsSpreadOverAllIds) {
  const SmallModel small = MakeSmallModel("spread.safetensors");
  const Predictor predictor(WriteSmallModel(small, "spread"));
  const WarmUpRequests requests =
      MakeWarmUpRequests({.requests = 1, .max_batch = 10}, predictor.model()->spec());
  EXPECT_EQ(requests.one.size(), 1);
  EXPECT_EQ(requests.many.size(), 10);
  EXPECT_FALSE(requests.one.counted || requests.many.counted);
  Context ctx({.threads = 1});
  const KeyedJaggedTensor& features = requests.many.features;
  EXPECT_EQ(features.keys(), predictor.model()->features());
  EXPECT_EQ(features.AtIndex(ctx, 0).values().value().ToVector<int64_t>(),
            (std::vector<int64_t>{0, 6, 12, 18, 24, 30, 36, 42, 48, 54}));
  EXPECT_EQ(features.AtIndex(ctx, 3).values().value().ToVector<int64_t>(),
            (std::vector<int64_t>{0, 0, 0, 0, 1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(MakeWarmUpRequests({.requests = 1, .max_batch = 1 << 20}, predictor.model()->spec())
                .many.size(),
            ServedModel::kMaxTogether);
}

TEST(WarmUp, ChangesNeitherScoresNorCounts) {
  const SmallModel small = MakeSmallModel("counts.safetensors");
  const std::string directory = WriteSmallModel(small, "counts");
  const std::string rows = FileOfRows("rows.jsonl", "{\"cat_0\": \"7\"}\n{\"cat_1\": \"1f\"}\n");
  for (const std::string& file : {std::string(), rows}) {
    Predictor predictor(
        directory, {.warm_up = {.requests = 3, .max_batch = 100, .calls = 2, .rows_file = file}});
    predictor.Reload();
    EXPECT_EQ(Counted(*predictor.model()), 0);
    EXPECT_EQ(predictor.Predict(small.request), small.scores);
    EXPECT_EQ(predictor.model()->counter(0).hits, 500);
    EXPECT_TRUE(predictor.model()->raw_rows().unknown_items().All().empty());
  }
}

TEST(WarmUp, TakesTheRowsOfAFile) {
  const SmallModel small = MakeSmallModel("rows.safetensors");
  const Predictor predictor(WriteSmallModel(small, "rows"));
  const std::string path = FileOfRows("two.jsonl", "{\"cat_0\": \"7\"}\n{\"cat_0\": \"9\"}\n");
  const WarmUpRequests requests =
      MakeWarmUpRequests({.requests = 1, .rows_file = path}, predictor.model()->spec());
  EXPECT_EQ(requests.one.size(), 1);
  EXPECT_EQ(requests.many.size(), 2);
  Context ctx({.threads = 1});
  EXPECT_EQ(requests.many.features.AtIndex(ctx, 0)
                .values()
                .value()
                .To(ctx, DType::kI64)
                .ToVector<int64_t>(),
            (std::vector<int64_t>{8, 10}));  // a missing id is 0
}

// A model that cannot answer its warm-up does not take the place of the one that is served.
TEST(WarmUp, ModelsThatDoNotFitTheRowsAreRefused) {
  const SmallModel small = MakeSmallModel("refuse.safetensors");
  const std::string directory = WriteSmallModel(small, "refuse");
  const std::string path = FileOfRows("changing.jsonl", "{\"cat_0\": \"7\"}\n");
  Predictor predictor(directory, {.warm_up = {.requests = 1, .rows_file = path}});
  const auto before = predictor.model();
  FileOfRows("changing.jsonl", "{\"cat_0\": \"7\"}\n{\"cat_0\": \"zz\"}\n");
  EXPECT_THAT(ErrorOf([&] { predictor.Reload(); }), HasSubstr("changing.jsonl:2: cat_0"));
  EXPECT_EQ(predictor.model(), before);
  EXPECT_THAT(ErrorOf([&] {
                Predictor(directory, {.warm_up = {.requests = 1, .rows_file = TempPath("none")}});
              }),
              HasSubstr("none: "));
}

}  // namespace
}  // namespace tessera::serve
