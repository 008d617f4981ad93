// Models whose tables have managed collision: what is served says of raw ids what the trainer says,
// after an export and after deltas.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "serve/delta_writer.h"
#include "serve/model_writer.h"
#include "serve/predictor.h"
#include "tests/train/testing/files.h"
#include "train/data_sets.h"
#include "train/trainer.h"

namespace tessera::serve {
namespace {

using tessera::testing::ErrorOf;
using tessera::testing::TempPath;

// Tables of fewer rows than there are ids, so that ids are turned away and evicted.
TrainConfig ConfigOf(const std::string& managed_collision) {
  return ParseTrainConfig(R"({
    "tables": [
      {"name": "a", "rows": 24, "dim": 4, "features": ["cat_0"]},
      {"name": "b", "rows": 32, "dim": 4, "features": ["cat_1", "cat_2"], "pooling": "MEAN"},
      {"name": "c", "rows": 16, "dim": 4, "features": ["cat_9"], "managed_collision": null}],
    "managed_collision": )" + managed_collision +
                              R"(,
    "model": {"type": "dlrm", "dense_arch": [8, 4], "over_arch": [16, 1]},
    "optimizer": {"sparse": {"name": "rowwise_adagrad", "lr": 0.1}, "dense": {"name": "sgd", "lr": 0.1}},
    "data": {"format": "planted", "rows": 1000, "eval_rows": 500, "vocabulary": 60, "strength": 3},
    "train": {"batch_size": 64, "epochs": 1, "seed": 3}})",
                          "raw.json");
}

void ExpectSameTables(const ServedModel& a, const ServedModel& b) {
  for (size_t t = 0; t < a.spec().tables.size(); ++t) {
    const Tensor x = a.tables().Rows(t), y = b.tables().Rows(t);
    ASSERT_EQ(x.shape(), y.shape());
    EXPECT_EQ(std::memcmp(x.raw_data(), y.raw_data(), static_cast<size_t>(x.nbytes())), 0);
    ASSERT_EQ(a.tables().ids(t) == nullptr, b.tables().ids(t) == nullptr);
    if (a.tables().ids(t) == nullptr) continue;
    const auto i = a.tables().ids(t)->Entries(), j = b.tables().ids(t)->Entries();
    ASSERT_EQ(i.size(), j.size());
    for (size_t e = 0; e < i.size(); ++e)
      EXPECT_TRUE(i[e].id == j[e].id && i[e].row == j[e].row) << i[e].id;
  }
}

class RawIds : public ::testing::TestWithParam<const char*> {};

TEST_P(RawIds, AreServedAsTheTrainerReadsThem) {
  const TrainConfig config = ConfigOf(GetParam());
  const std::string file = TempPath("raw.safetensors"), directory = TempPath("raw");
  std::filesystem::remove_all(directory);
  Context ctx({.threads = 1, .seed = 3});
  Trainer trainer(ctx, config);
  const DataSets data(config, {});
  const auto rows = data.OpenTrain(0);
  const Batch eval = *data.OpenEval()->Next();
  const PredictRequest request{.dense = eval.dense, .features = eval.features};
  const auto step = [&] {
    trainer.Step(*rows->Next());
    trainer.Save(file);
  };
  trainer.Predict(eval);  // a growing table's row of unknown ids comes into use
  trainer.Save(file);
  WriteModel(ctx, ReadCheckpoint(file), {}, directory);
  Predictor predictor(directory);
  EXPECT_EQ(predictor.Predict(request), trainer.Predict(eval).ToVector<float>());
  EXPECT_GT(predictor.model()->counter(0).misses, 0);
  int64_t ids_set = 0, added = 0;
  for (int64_t version = 2; version <= 8; ++version) {
    step();
    ModelChain chain(directory);
    for (const TableChange& table : WriteDelta(ctx, ReadCheckpoint(file), {}, chain).tables) {
      ids_set += table.ids_set;
      added += table.added;
    }
    EXPECT_EQ(predictor.TakeDeltas(), 1);
    EXPECT_EQ(predictor.Predict(request), trainer.Predict(eval).ToVector<float>()) << version;
  }
  EXPECT_GT(ids_set, 0);
  EXPECT_EQ(added > 0, std::string(GetParam()).find("growing") != std::string::npos);
  WriteModel(ctx, ReadCheckpoint(file), {}, TempPath("raw_fresh"));
  ExpectSameTables(*predictor.model(), *Predictor(TempPath("raw_fresh")).model());
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, RawIds,
    ::testing::Values(R"({"kind": "growing", "eviction": "LRU"})",
                      R"({"kind": "growing", "admit_after": 3})",
                      R"({"kind": "mch", "eviction": "LFU", "eviction_interval": 2})",
                      R"({"kind": "mch", "eviction": "LRU", "eviction_interval": 2, "mch_size": 5,
                          "input_hash_size": 1000})",
                      R"({"kind": "hash_zch", "max_probe": 4})",
                      R"({"kind": "hash_zch", "eviction": "LRU_EVICTION", "single_ttl": 2,
                          "total_num_buckets": 2, "disable_fallback": true})",
                      R"({"kind": "hash_zch", "opt_in_prob": 50, "percent_reserved_slots": 20})"));

TEST(RawIds, WithoutTheirStateAreRefused) {
  const TrainConfig config = ConfigOf(R"({"kind": "growing"})");
  Context ctx({.threads = 1, .seed = 3});
  Trainer(ctx, config).Save(TempPath("stateless.safetensors"));
  Safetensors content = ReadSafetensors(ctx, TempPath("stateless.safetensors"));
  std::erase_if(content.tensors, [](const auto& t) { return t.first.ends_with("_growing_ids"); });
  content.metadata.erase("crc32");
  WriteSafetensors(ctx, TempPath("stateless.safetensors"), content);
  EXPECT_NE(ErrorOf([&] {
              WriteModel(ctx, ReadCheckpoint(TempPath("stateless.safetensors")), {}, TempPath("s"));
            }).find("a._growing_ids is missing"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera::serve
