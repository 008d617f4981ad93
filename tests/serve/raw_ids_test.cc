// Models whose tables have managed collision: the served model gives raw ids the trainer's scores,
// after an export and after deltas.
#include <gtest/gtest.h>

#include <filesystem>

#include "comm/local_communicator.h"
#include "serve/export/delta_writer.h"
#include "serve/export/model_writer.h"
#include "serve/predictor.h"
#include "sharding/exchange/dist_layout.h"
#include "tests/serve/testing/exported_run.h"
#include "tests/serve/testing/same_tables.h"
#include "train/checkpoint/whole_tables.h"
#include "train/data_sets.h"
#include "train/ranks_plan.h"
#include "train/trainer.h"

namespace tessera::serve {
namespace {

using tessera::testing::ChangedCheckpoint;
using tessera::testing::ErrorOf;
using tessera::testing::ExpectSameTables;
using tessera::testing::ExportedRun;
using tessera::testing::TempPath;

// Tables of fewer rows than there are ids, so that ids are turned away and evicted.
TrainConfig ReadConfig(const std::string& managed_collision) {
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

class ServedRawIds : public ::testing::TestWithParam<const char*> {};

TEST_P(ServedRawIds, AreServedAsTheTrainerReadsThem) {
  ExportedRun run(ReadConfig(GetParam()), "raw.safetensors");
  Context& ctx = run.ctx();
  const std::string directory = TempPath("raw");
  std::filesystem::remove_all(directory);
  run.Scores();  // a growing table's row of unknown ids comes into use
  WriteModel(ctx, run.Save(), {}, directory);
  Predictor predictor(directory, {.warm_up = {.requests = 2, .max_batch = 70, .calls = 2}});
  EXPECT_EQ(predictor.Predict(run.request()), run.Scores());
  EXPECT_GT(predictor.model()->counter(0).misses, 0);
  int64_t ids_set = 0, added = 0;
  for (int64_t version = 2; version <= 8; ++version) {
    run.Step();
    ModelChain chain(directory);
    for (const TableChange& table : WriteDelta(ctx, run.Save(), {}, chain).tables) {
      ids_set += table.ids_set;
      added += table.added;
    }
    EXPECT_EQ(predictor.TakeDeltas(), 1);
    EXPECT_EQ(predictor.Predict(run.request()), run.Scores()) << version;
  }
  EXPECT_GT(ids_set, 0);
  const std::string kind = GetParam();
  EXPECT_EQ(added > 0, kind.find("growing") != kind.npos);
  WriteModel(ctx, run.Save(), {}, TempPath("raw_fresh"));
  ExpectSameTables(*predictor.model(), *Predictor(TempPath("raw_fresh")).model());
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, ServedRawIds,
    ::testing::Values(R"({"kind": "growing", "eviction": "LRU"})",
                      R"({"kind": "growing", "admit_after": 3, "shared_rows": 5})",
                      R"({"kind": "mch", "eviction": "LFU", "eviction_interval": 2})",
                      R"({"kind": "mch", "eviction": "LRU", "eviction_interval": 2, "mch_size": 5,
                          "input_hash_size": 1000})",
                      R"({"kind": "hash_zch", "max_probe": 4})",
                      R"({"kind": "hash_zch", "eviction": "LRU_EVICTION", "single_ttl": 2,
                          "total_num_buckets": 2, "disable_fallback": true})",
                      R"({"kind": "hash_zch", "opt_in_prob": 50, "percent_reserved_slots": 20})",
                      R"({"kind": "growing", "num_parts": 4, "shared_rows": 2})",
                      R"({"kind": "mch", "eviction_interval": 2, "mch_size": 2,
                          "input_hash_size": 1000, "num_parts": 4})",
                      R"({"kind": "hash_zch", "max_probe": 3, "percent_reserved_slots": 25,
                          "num_parts": 2})"));

// Ids are of a model also where its training is left out.
TEST_P(ServedRawIds, AreInAModelWithoutItsTraining) {
  const TrainConfig config = ReadConfig(GetParam());
  ExportedRun run(config, "whole.safetensors");
  for (int step = 0; step < 3; ++step) run.Step();
  WriteWhole(run.Save(), TempPath("alone.safetensors"), {.run_state = false});
  std::filesystem::remove_all(TempPath("alone"));
  WriteModel(run.ctx(), ReadCheckpoint(TempPath("alone.safetensors")), config, TempPath("alone"));
  EXPECT_EQ(Predictor(TempPath("alone")).Predict(run.request()), run.Scores());
}

TEST(ServedRawIds, OfAnotherConfigurationAreRefused) {
  ExportedRun run(
      ReadConfig(R"({"kind": "hash_zch", "eviction": "LRU_EVICTION", "single_ttl": 2})"),
      "zch.safetensors");
  const Checkpoint saved = run.Save();
  const auto refusal = [&](const char* managed_collision) {
    return ErrorOf([&] {
      WriteModel(run.ctx(), saved, ReadConfig(managed_collision), TempPath("of_another"));
    });
  };
  const std::string prefix = "sparse_arch.embedding_bag_collection.embedding_bags.a.";
  EXPECT_EQ(
      refusal(R"({"kind": "hash_zch"})"),
      saved.path + ": it has '" + prefix + "_hash_zch_metadata', which this model does not have");
  EXPECT_EQ(refusal("null"), saved.path + ": it has '" + prefix +
                                 "_current_iter_tensor', state of raw ids, which this model does "
                                 "not take");
  EXPECT_EQ(refusal(R"({"kind": "hash_zch", "eviction": "LRU_EVICTION", "single_ttl": 2,
                        "total_num_buckets": 2})"),
            saved.path +
                ": table 'a': managed_collision.total_num_buckets was 1 when it was saved, and is "
                "2 now: its raw ids would be looked for in other rows; expected the saved value");
  EXPECT_FALSE(std::filesystem::exists(TempPath("of_another")));
}

// Growing tables that no forward has met have no rows yet: ids that are read add nothing.
TEST(ServedRawIds, OfEmptyTablesAreServed) {
  ExportedRun run(ReadConfig(R"({"kind": "growing", "shared_rows": 3})"), "empty.safetensors");
  Context& ctx = run.ctx();
  const std::string directory = TempPath("empty"), same = TempPath("same_as_empty");
  std::filesystem::remove_all(directory);
  std::filesystem::remove_all(same);
  const Checkpoint empty = run.Save();
  WriteModel(ctx, empty, {}, directory);
  Predictor predictor(directory);
  EXPECT_EQ(predictor.model()->spec().tables[0].rows, 3);
  const std::string table = RankingModel::TableParameterName("a");
  const Checkpoint zeros = ChangedCheckpoint(empty.path, "zeros.safetensors", [&](auto& tensors) {
    ASSERT_EQ(tensors.at(table).dim(0), 0);
    for (const char* name : {"a", "b"})
      tensors.at(RankingModel::TableParameterName(name)) = Tensor::Zeros(ctx, {3, 4});
  });
  WriteModel(ctx, zeros, {}, same);
  EXPECT_EQ(predictor.Predict(run.request()), Predictor(same).Predict(run.request()));
  run.Step();
  ModelChain chain(directory);
  WriteDelta(ctx, run.Save(), {}, chain);
  EXPECT_EQ(predictor.TakeDeltas(), 1);
  EXPECT_EQ(predictor.Predict(run.request()), run.Scores());
}

// Ids of ranks are saved by each rank, exported, and served.
TEST(ServedRawIds, OfRanksAreServed) {
  const TrainConfig config = ReadConfig(R"({"kind": "growing", "num_parts": 8})");
  const std::string folder = TempPath("ranks"), directory = TempPath("of_ranks");
  std::filesystem::remove_all(directory);
  const DataSets data(config, {});
  const Batch eval = *data.OpenEval()->Next();
  std::vector<float> expected;
  RunLocalRanks(3, [&](Communicator& comm) {
    Context ctx({.threads = 1, .seed = 3});
    Trainer trainer(ctx, config,
                    TrainingRanks{&comm, MakeRanksPlan("row_wise", {3, 3}, ShapesOf(config.tables),
                                                       config.managed_collision)});
    const auto rows = data.OpenTrain(0);
    for (int step = 0; step < 8; ++step) trainer.Step(*rows->Next());
    trainer.Save(folder);
    const std::vector<float> mine = trainer.Predict(eval).ToVector<float>();
    if (comm.rank() == 0) expected = mine;
  });
  ShardedCheckpoint saved(folder);
  WriteWhole(WholeTables(saved), folder + ".safetensors");
  Context ctx({.threads = 1});
  WriteModel(ctx, ReadCheckpoint(folder + ".safetensors"), {}, directory);
  Predictor predictor(directory);
  const std::vector<float> served =
      predictor.Predict({.dense = eval.dense, .features = eval.features});
  ASSERT_EQ(served.size(), expected.size());
  for (size_t i = 0; i < served.size(); ++i) EXPECT_NEAR(served[i], expected[i], 1e-6) << i;
  EXPECT_GT(predictor.model()->counter(0).hits, 0);
  EXPECT_GT(predictor.model()->counter(0).misses, 0);
}

// A table in parts has all its rows in the checkpoint; the model has those that ids use.
TEST(ServedRawIds, OfPartsKeepRowsInUseAlone) {
  TrainConfig config = ReadConfig(R"({"kind": "growing", "num_parts": 4, "shared_rows": 2})");
  config.tables[0].num_embeddings = 40'000;
  ExportedRun run(config, "parts.safetensors");
  const std::string directory = TempPath("parts");
  std::filesystem::remove_all(directory);
  run.Step();
  const WrittenModel written = WriteModel(run.ctx(), run.Save(), {}, directory);
  EXPECT_LT(written.tables[0].spec.rows, 200);
  EXPECT_GT(written.tables[0].spec.rows, 8);
  Predictor predictor(directory);
  EXPECT_EQ(predictor.Predict(run.request()), run.Scores());
  EXPECT_GT(predictor.model()->counter(0).hits, 0);
}

TEST(ServedRawIds, WithoutTheirStateAreRefused) {
  ExportedRun run(ReadConfig(R"({"kind": "growing"})"), "whole.safetensors");
  const Checkpoint without =
      ChangedCheckpoint(run.Save().path, "stateless.safetensors", [](auto& tensors) {
        std::erase_if(tensors, [](const auto& t) { return t.first.ends_with("_growing_ids"); });
      });
  EXPECT_NE(ErrorOf([&] {
              WriteModel(run.ctx(), without, {}, TempPath("s"));
            }).find("a._growing_ids is missing"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera::serve
