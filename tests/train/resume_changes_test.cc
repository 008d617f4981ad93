#include "train/run/resume_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/train/testing/files.h"
#include "tests/train/testing/small_run.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::SmallConfig;

class ResumeChangesTest : public ::testing::Test {
 protected:
  std::vector<std::string> Changes(const TrainConfig& given, bool other_data = false) {
    return ResumeChanges({.path = "old", .config = ToJson(config_), .progress = progress_}, given,
                         data_, other_data);
  }
  std::string Refusal(const TrainConfig& given) {
    return ErrorOf([&] { Changes(given); });
  }

  TrainConfig config_ = SmallConfig();
  TrainingProgress progress_;
  DataIdentity data_;
};

TEST_F(ResumeChangesTest, SaysNothingOfWhatStayed) { EXPECT_TRUE(Changes(config_).empty()); }

TEST_F(ResumeChangesTest, SaysWhatMayChange) {
  TrainConfig given = SmallConfig(R"({"name": "adam", "lr": 0.5})");
  given.epochs = 9;  // of no interest
  given.batch_size = 32;
  const auto changes = Changes(given);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0], "optimizer.dense.lr was 0.01, is 0.5");
  EXPECT_EQ(changes[1], "train.batch_size was 64, is 32");
}

TEST_F(ResumeChangesTest, SaysOtherShardingGroups) {
  EXPECT_EQ(GroupsChange(progress_, ""), "");
  EXPECT_EQ(GroupsChange(progress_, "2 sharding groups of 2, averaged every step"),
            "the ranks were in no sharding groups, are in 2 sharding groups of 2, averaged every "
            "step");
  progress_.groups = "2 sharding groups of 2, averaged every step";
  EXPECT_EQ(GroupsChange(progress_, progress_.groups), "");
  EXPECT_EQ(GroupsChange(progress_, ""),
            "the ranks were in 2 sharding groups of 2, averaged every step, are in no sharding "
            "groups");
}

// Ids of growing tables go to other parts; those of other kinds stay where they are.
TEST_F(ResumeChangesTest, OnlyGrowingTablesChangeTheirParts) {
  config_.managed_collision["b"] = {GrowingIndexOptions{}, 0};
  TrainConfig given = config_;
  given.managed_collision["b"].num_parts = 5;
  EXPECT_EQ(Changes(given),
            std::vector<std::string>{"table 'b': managed_collision.num_parts was none, is 5"});
  config_.managed_collision["b"].module = given.managed_collision["b"].module = MchConfig{};
  EXPECT_NE(Refusal(given).find("raw ids of growing tables alone go to other parts"),
            std::string::npos);
}

TEST_F(ResumeChangesTest, RefusesOptionsThatDoNotFindTheIds) {
  const auto refusal = [&](const ManagedCollisionConfig& before,
                           const ManagedCollisionConfig& after) {
    config_.managed_collision["b"].module = before;
    TrainConfig given = config_;
    given.managed_collision["b"].module = after;
    return Refusal(given);
  };
  EXPECT_EQ(refusal(HashZchOptions{}, HashZchOptions{.total_num_buckets = 3}),
            "old: table 'b': managed_collision.total_num_buckets was 1 when it was saved, and is 3 "
            "now: its raw ids would be looked for in other rows; expected the saved value");
  EXPECT_NE(refusal(HashZchOptions{}, HashZchOptions{.max_probe = 3}).find("max_probe was 128"),
            std::string::npos);
  EXPECT_NE(refusal(MchConfig{}, MchConfig{.input_hash_size = 9}).find("input_hash_size was 0"),
            std::string::npos);
  EXPECT_NE(refusal(HashZchOptions{.total_num_buckets = 5},
                    HashZchOptions{.total_num_buckets = 5, .input_hash_size = 9})
                .find("input_hash_size was 0"),
            std::string::npos);
  // The bucket is the same for all ids.
  EXPECT_EQ(refusal(HashZchOptions{}, HashZchOptions{.input_hash_size = 9}), "");
}

TEST_F(ResumeChangesTest, RefusesAnotherModel) {
  TrainConfig given = config_;
  given.tables[1].feature_names = {"cat_2", "cat_1"};
  EXPECT_NE(Refusal(given).find(R"(old: table 'b': features[0] was "cat_1" when)"),
            std::string::npos);
  given = config_;
  given.tables[2].pooling = PoolingType::kSum;
  EXPECT_NE(Refusal(given).find("table 'c': pooling was"), std::string::npos);
  given = config_;
  given.tables.pop_back();
  EXPECT_NE(Refusal(given).find(R"(tables[2:3] was ["c"] when it was saved, and is none)"),
            std::string::npos);
}

TEST_F(ResumeChangesTest, RefusesAWarmupThatComesOrGoes) {
  TrainConfig given = config_;
  given.warmup = {{.policy = WarmupPolicy::kLinear, .max_iters = 20, .value = 0.1}};
  EXPECT_THAT(Refusal(given),
              ::testing::AllOf(::testing::HasSubstr("old: optimizer.warmup was none when it was "
                                                    "saved, and is [{"),
                               ::testing::HasSubstr("part of a training's state")));
  std::swap(config_, given);
  EXPECT_THAT(Refusal(given), ::testing::HasSubstr("}] when it was saved, and is none now"));
  given = config_;
  given.warmup.push_back({.policy = WarmupPolicy::kConstant, .max_iters = 30, .value = 0.5});
  EXPECT_EQ(Changes(given).size(), 1u);
}

// Rows that were trained on would be evaluated.
TEST_F(ResumeChangesTest, RefusesAnotherSplitOnceItHasTrained) {
  config_.data = DataConfig();
  config_.data.split = SplitOptions{.seed = 1};
  TrainConfig given = config_;
  given.data.split->seed = 2;
  EXPECT_EQ(Changes(given), std::vector<std::string>{"data.split.seed was 1, is 2"});
  progress_.epoch = 1;
  progress_.step = 16;
  EXPECT_EQ(Refusal(given),
            "old: data.split.seed was 1 when it was saved, and is 2 now: rows that it was trained "
            "on would be for evaluation, or the other way round: go on with the saved split, or "
            "take the new one by --other-data");
  EXPECT_EQ(Changes(given, /*other_data=*/true),
            std::vector<std::string>{"data.split.seed was 1, is 2"});
  given.data.split.reset();
  EXPECT_NE(Refusal(given).find("is none now"), std::string::npos);
  EXPECT_TRUE(Changes(config_).empty());
  progress_.row = 64;
  given.data.split = SplitOptions{.seed = 2};
  EXPECT_NE(Refusal(given).find("stands inside an epoch"), std::string::npos);
}

// A split that goes by all rows has other sides on other data, also between epochs.
TEST_F(ResumeChangesTest, RefusesOtherDataBesideASplitThatGoesByThem) {
  const auto data = [](int64_t bytes, uint64_t tail) {
    return DataIdentity{.rows = {},
                        .paths = {{.name = "d", .bytes = bytes, .head = 1, .tail = tail}}};
  };
  progress_.data = ToText(data(100, 2));
  progress_.epoch = 1;
  progress_.step = 16;
  const auto with = [&](SplitOptions split, const DataIdentity& now) {
    config_.data = DataConfig();
    config_.data.split = std::move(split);
    data_ = now;
    return Refusal(config_);
  };
  const SplitOptions random, key = {.by = SplitBy::kKey, .feature = "cat_1"};
  EXPECT_NE(with(random, data(100, 3)).find("old: --data[0] was d (100 bytes"), std::string::npos);
  EXPECT_NE(with(random, data(100, 3)).find("by --other-data"), std::string::npos);
  EXPECT_EQ(with(random, data(150, 3)), "");  // rows that were added have numbers of their own
  EXPECT_EQ(with(key, data(100, 3)), "");
  EXPECT_TRUE(GoesByOtherRows({.by = SplitBy::kTime}));
  EXPECT_FALSE(GoesByOtherRows({.by = SplitBy::kTime, .at = 5}));
  EXPECT_EQ(with(random, data(100, 2)), "");
  data_ = data(100, 3);
  config_.data.split = random;
  EXPECT_EQ(Changes(config_, /*other_data=*/true).size(), 1u);
}

// A split by the last times goes by no other rows once a checkpoint keeps the time that was found.
TEST_F(ResumeChangesTest, TakesOtherDataBesideAFoundTime) {
  const auto config = [](const std::string& split) {
    return ParseTrainConfig(
        R"({"data": {"format": "jsonl", "labels": ["y"], "time": "t", "split": )" + split + R"(},
            "tables": [{"name": "t", "rows": 9, "dim": 4, "features": ["a", "b"]}],
            "model": {"type": "dlrm", "dense_in": 0, "over_arch": [4, 1]},
            "optimizer": {"sparse": {"name": "sgd", "lr": 0.1},
                          "dense": {"name": "sgd", "lr": 0.1}}})",
        "own.json");
  };
  const TrainConfig sought = config(R"({"by": "time"})"),
                    found = config(R"({"by": "time", "at": 5, "of_fraction": 0.1})");
  progress_.data =
      ToText({.rows = {}, .paths = {{.name = "d", .bytes = 100, .head = 1, .tail = 2}}});
  progress_.epoch = progress_.step = 1;
  data_ = {.rows = {}, .paths = {{.name = "d", .bytes = 100, .head = 1, .tail = 3}}};
  config_ = found;
  EXPECT_THAT(Changes(found),
              ::testing::ElementsAre(::testing::HasSubstr("--data[0] was d (100 bytes"),
                                     FoundTimeText(*found.data.split)));
  config_ = sought;  // of an older release: this start has found another time
  EXPECT_THAT(Refusal(found), ::testing::HasSubstr("or take the new ones by --other-data"));
  data_ = DataIdentityFromText(progress_.data);
  EXPECT_TRUE(Changes(found).empty());
}

// A schema's lists are long; what changed in them is said by itself.
TEST_F(ResumeChangesTest, SaysOfListsOnlyWhatDiffers) {
  const auto config = [](const std::string& features, const std::string& labels) {
    return ParseTrainConfig(R"({
      "data": {"format": "jsonl", "features": )" +
                                features + R"(, "labels": )" + labels + R"(},
      "tables": [{"name": "t", "rows": 9, "dim": 4, "features": ["a", "b", "c"]}],
      "model": {"type": "dlrm", "dense_in": 0, "over_arch": [4, 1]},
      "optimizer": {"sparse": {"name": "sgd", "lr": 0.1}, "dense": {"name": "sgd", "lr": 0.1}}})",
                            "own.json");
  };
  config_ =
      config(R"(["a", {"name": "b", "vocabulary": ["x", "y", "z"]}, {"name": "c", "from": "d"}])",
             R"(["y", {"name": "u", "missing": 1}])");
  const auto changes = Changes(config(
      R"([{"name": "a", "max_length": 2}, {"name": "b", "vocabulary": ["x", "w", "z"]}, "c"])",
      R"([{"name": "u", "missing": 1}])"));
  EXPECT_THAT(changes, ::testing::ElementsAre("data.features[0].max_length was none, is 2",
                                              R"(data.features[1].vocabulary[1] was "y", is "w")",
                                              R"(data.features[2].from was "d", is none)",
                                              R"(data.labels[0:1] was ["y"], is none)"));
}

TEST_F(ResumeChangesTest, RefusesOtherDataInsideAnEpoch) {
  const auto identity = [](const std::string& text) {
    return IdentityOf({testing::WriteFile("data.tsv", text)}, {});
  };
  const DataIdentity before = identity(std::string(9000, 'a'));
  progress_.data = ToText(before);
  data_ = identity(std::string(9000, 'b'));
  EXPECT_EQ(Changes(config_).size(), 1u);  // between epochs it is said
  progress_.row = 64;
  EXPECT_NE(Refusal(config_).find("--data[0] was data.tsv (9000 bytes"), std::string::npos);
  EXPECT_EQ(Changes(config_, true).size(), 1u);
  data_ = identity(std::string(9000, 'a') + "more");  // it has grown
  EXPECT_EQ(Changes(config_).size(), 1u);
  data_ = before;
  EXPECT_TRUE(Changes(config_).empty());
}

TEST(DataIdentityTest, IsReadBackFromItsText) {
  DataIdentity identity{
      .rows = {5, 12},
      .paths = {{"a name.tsv", 12, 3, ~uint64_t{0}, true}, {"rows", 7, 1, 0, false}}};
  const DataIdentity back = DataIdentityFromText(ToText(identity));
  EXPECT_EQ(back.rows, identity.rows);
  ASSERT_EQ(back.paths.size(), 2u);
  EXPECT_EQ(back.paths[0].name, "a name.tsv");
  EXPECT_TRUE(back.paths[0].SameContent(identity.paths[0]) && back.paths[0].is_file);
  EXPECT_TRUE(back.paths[1].SameContent(identity.paths[1]) && !back.paths[1].is_file);
  EXPECT_NE(ErrorOf([] { DataIdentityFromText("rows 1 2\n5 x\n"); }), "");
}

}  // namespace
}  // namespace tessera
