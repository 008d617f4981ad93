// Keys of a configuration that are set by their paths.
#include "train/config/config_settings.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tests/train/config/good_config.h"
#include "tests/train/testing/files.h"
#include "train/config/train_config.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::kGood;

std::string Set(const std::string& text, const std::vector<std::string>& settings) {
  return WithSettings(text, "x.json", settings);
}

TrainConfig Good(const std::vector<std::string>& settings) {
  return ParseTrainConfig(Set(kGood, settings), "x.json");
}

TEST(ConfigSettings, ValuesAreJsonOrElseText) {
  EXPECT_EQ(Set(R"({"a": {"b": 1}})", {"a.b=0.01"}), R"({"a":{"b":0.01}})");
  EXPECT_EQ(Set("{}", {"a=true", "b=[1, 2]", "c=word", "d=\"7\"", "e=x=y", "f="}),
            R"({"a":true,"b":[1,2],"c":"word","d":"7","e":"x=y","f":""})");
  EXPECT_EQ(Set("{}", {"a.b.c=1", "a.b.c=2"}), R"({"a":{"b":{"c":2}}})");
  EXPECT_EQ(Set("not read", {}), "not read");
}

TEST(ConfigSettings, ElementsHaveANumberOrAKey) {
  const std::string text = R"({"t": [{"name": "a", "n": 1}, {"name": "b", "n": 2}]})";
  EXPECT_EQ(Set(text, {"t[1].n=5"}), R"({"t":[{"name":"a","n":1},{"name":"b","n":5}]})");
  EXPECT_EQ(Set(text, {"t[name=a].n=5"}), R"({"t":[{"name":"a","n":5},{"name":"b","n":2}]})");
  EXPECT_EQ(Set(R"({"l": [[1, 2]]})", {"l[0][1]=3"}), R"({"l":[[1,3]]})");
}

TEST(ConfigSettings, ANameInQuotesMayHaveAnyLetter) {
  const std::string text = R"({"t":[{"name":"a]b","n":1},{"name":"c\"=d","n":2}]})";
  EXPECT_EQ(Set(text, {R"(t[name="a]b"].n=5)", R"(t[name="c\"=d"].n=[6])"}),
            R"({"t":[{"name":"a]b","n":5},{"name":"c\"=d","n":[6]}]})");
  EXPECT_EQ(Set(R"({"t":[{"name":"x","n":1}]})", {R"(t[name="x"].n=2)"}),
            R"({"t":[{"name":"x","n":2}]})");
  EXPECT_EQ(ErrorOf([&] { Set(text, {R"(t[name="e]"].n=5)"}); }),
            R"(--set t[name="e]"].n=5: t has no element whose name is 'e]')");
  EXPECT_EQ(ErrorOf([&] { Set(text, {R"(t[name="a]b].n=5)"}); }),
            R"(--set t[name="a]b].n=5: expected PATH=VALUE, as optimizer.sparse.lr=0.01)");
  const ConfigSetting split = SplitSetting(R"(t[name="a]=b"].n=x=y)");
  EXPECT_EQ(split.path, R"(t[name="a]=b"].n)");
  EXPECT_EQ(split.value, "x=y");
}

TEST(ConfigSettings, TablesThatHaveTheSharedOptimizerFollowIt) {
  const std::string saved = R"({"optimizer":{"sparse":{"lr":1}},"tables":[{"optimizer":{"lr":1}},)"
                            R"({"optimizer":{"lr":2}},{}]})";
  EXPECT_EQ(Set(saved, {"optimizer.sparse.lr=3"}),
            R"({"optimizer":{"sparse":{"lr":3}},"tables":[{"optimizer":{"lr":3}},)"
            R"({"optimizer":{"lr":2}},{}]})");
  const std::string own = R"({"optimizer":{"sparse":{"lr":1}},"tables":[{"optimizer":{"lr":2}}]})";
  EXPECT_EQ(
      ErrorOf([&] { Set(own, {"optimizer.sparse.lr=3"}); }),
      "--set optimizer.sparse.lr=3: each table has an optimizer of its own, so that none uses "
      "optimizer.sparse: set tables[0].optimizer, tables[1].optimizer, … in its place");
  const TrainConfig config = Good({"optimizer.sparse.lr=0.5"});
  const TrainConfig again =
      ParseTrainConfig(Set(ToJson(Good({})), {"optimizer.sparse.lr=0.5"}), "saved");
  EXPECT_EQ(ToJson(again), ToJson(config));
}

TEST(ConfigSettings, TablesThatHaveTheSharedRawIdsFollowThem) {
  const std::string shared =
      R"({"managed_collision":{"n":1},"tables":[{"managed_collision":{"n":1}},)"
      R"({"managed_collision":null},{"managed_collision":{"n":2}},{}]})";
  EXPECT_EQ(Set(shared, {"managed_collision.n=3"}),
            R"({"managed_collision":{"n":3},"tables":[{"managed_collision":{"n":3}},)"
            R"({"managed_collision":null},{"managed_collision":{"n":2}},{}]})");
  // A checkpoint has them at its tables alone.
  const std::string saved =
      R"({"tables":[{"managed_collision":{"n":1}},{},{"managed_collision":{"n":1}}]})";
  EXPECT_EQ(Set(saved, {"managed_collision.n=3", "managed_collision.m=4"}),
            R"({"tables":[{"managed_collision":{"n":3,"m":4}},{},)"
            R"({"managed_collision":{"n":3,"m":4}}]})");
  EXPECT_EQ(Set(saved, {R"(managed_collision={"k":5})"}),
            R"({"tables":[{"managed_collision":{"k":5}},{},{"managed_collision":{"k":5}}]})");
}

TEST(ConfigSettings, RawIdsThatNoTableWouldHaveAreRefused) {
  const std::string differ =
      R"({"tables":[{"managed_collision":{"n":1}},{"managed_collision":{"n":2}}]})";
  EXPECT_EQ(ErrorOf([&] { Set(differ, {"managed_collision.n=3"}); }),
            "--set managed_collision.n=3: tables differ in their managed_collision, of which there "
            "is none for all: set tables[0].managed_collision, tables[1].managed_collision, … in "
            "its place");
  const std::string own =
      R"({"managed_collision":{"n":1},"tables":[{"managed_collision":{"n":2}}]})";
  const std::string none = R"({"tables":[{"managed_collision":null}]})";
  const std::string refusal =
      "--set managed_collision.n=3: each table has a managed_collision of its own, so that none "
      "uses managed_collision: set tables[0].managed_collision, tables[1].managed_collision, … in "
      "its place";
  EXPECT_EQ(ErrorOf([&] { Set(own, {"managed_collision.n=3"}); }), refusal);
  EXPECT_EQ(ErrorOf([&] { Set(none, {"managed_collision.n=3"}); }), refusal);
}

TEST(ConfigSettings, AnotherOptimizerKeepsTheRateAlone) {
  const std::string saved = ToJson(Good({"optimizer.sparse.lr=0.5", "optimizer.dense.lr=0.25"}));
  const TrainConfig config =
      ParseTrainConfig(Set(saved, {"optimizer.sparse.eps=0.125", "optimizer.sparse.name=adam",
                                   "optimizer.dense.name=sgd", "tables[name=a].optimizer.name=sgd",
                                   "tables[name=a].optimizer.lr=2"}),
                       "saved");
  const auto& adam = std::get<Adam>(config.sparse_optimizer);
  EXPECT_EQ(adam.lr, 0.5f);
  EXPECT_EQ(adam.eps, 0.125f);
  EXPECT_EQ(adam.beta1, Adam().beta1);
  EXPECT_EQ(std::get<Adam>(config.tables[1].optimizer).lr, 0.5f);
  EXPECT_EQ(std::get<Sgd>(config.tables[0].optimizer).lr, 2.0f);
  EXPECT_EQ(config.dense_optimizer.lr, 0.25f);
}

// An edit of the shared optimizer in a saved configuration holds for tables that have no other.
TEST(ConfigSettings, ASavedConfigurationSharesTheOptimizer) {
  const auto places = [](const std::string& text) {
    size_t count = 0;
    for (size_t at = 0; (at = text.find("\"optimizer\":", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(places(ToJson(Good({}))), 2u);
  const std::string own = ToJson(Good({"tables[1].optimizer={\"name\": \"sgd\", \"lr\": 2}"}));
  EXPECT_EQ(places(own), 3u);
  EXPECT_EQ(ToJson(ParseTrainConfig(own, "saved")), own);
}

TEST(ConfigSettings, ATrainingIsSetByPath) {
  const TrainConfig config =
      Good({"optimizer.sparse.lr=0.5", "tables[name=b].rows=33", "tables[0].pooling=SUM",
            "model.over_arch=[16, 1]", "data.shuffle.seed=9", "train.epochs=2"});
  EXPECT_EQ(std::get<RowwiseAdagrad>(config.sparse_optimizer).lr, 0.5f);
  EXPECT_EQ(config.tables[1].num_embeddings, 33);
  EXPECT_EQ(config.tables[0].pooling, PoolingType::kSum);
  EXPECT_EQ(config.model.over_arch, (std::vector<int64_t>{16, 1}));
  EXPECT_EQ(config.data.shuffle->seed, 9u);
  EXPECT_EQ(config.epochs, 2);
}

// They are set before anything is checked, so errors name the path.
TEST(ConfigSettings, WhatIsSetIsChecked) {
  EXPECT_EQ(ErrorOf([] {
              Good({"train.epochs=many", "train.epoch=2"});
            }),
            "x.json: 2 problems:\n  train.epochs: expected an integer, got \"many\"\n"
            "  train.epoch: unknown key (did you mean 'epochs'?); known here: batch_size, "
            "accumulate_steps, epochs, seed, dense_products");
}

TEST(ConfigSettings, PathsWithoutAPlaceAreErrors) {
  const auto error = [](const std::string& setting) {
    return ErrorOf([&] { Set(R"({"a": 1, "t": [{"name": "x"}]})", {setting}); });
  };
  EXPECT_EQ(error("a"), "--set a: expected PATH=VALUE, as optimizer.sparse.lr=0.01");
  EXPECT_EQ(error("=1"), "--set =1: expected a path of keys, as optimizer.sparse.lr");
  EXPECT_EQ(error("a.b=1"), "--set a.b=1: expected an object under a, got number");
  EXPECT_EQ(error("a[0]=1"), "--set a[0]=1: expected a list under a, got number");
  EXPECT_EQ(error("t[1].n=1"),
            "--set t[1].n=1: t has 1 elements, so expected a number below that, got 1");
  EXPECT_EQ(error("t[name=y].n=1"), "--set t[name=y].n=1: t has no element whose name is 'y'");
  EXPECT_EQ(error("t[one].n=1"),
            "--set t[one].n=1: expected [NUMBER] or [KEY=VALUE] after t, got [one]");
  EXPECT_EQ(error("t[0]n=1"), "--set t[0]n=1: expected '.' after t[0]");
  EXPECT_EQ(error("t..n=1"), "--set t..n=1: expected a path of keys, as optimizer.sparse.lr");
  EXPECT_NE(error("a={").find("--set a={: parse error"), std::string::npos) << error("a={");
  EXPECT_NE(ErrorOf([] { Set("{", {"a=1"}); }).find("x.json: parse error"), std::string::npos);
}

}  // namespace
}  // namespace tessera
