// Sequences in the configuration of a training: what is read, written again, and refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/error_of.h"
#include "train/config/config_settings.h"
#include "train/config/train_config.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;

constexpr char kDocument[] = R"({
  "tables": [{"name": "items", "rows": 20, "dim": 4, "features": ["item", "seen"]},
             {"name": "users", "rows": 20, "dim": 4, "features": ["user"]}],
  "model": {"type": "dlrm", "dense_in": 0, "over_arch": [8, 1],
            "attention": [{"sequence": "seen", "target": "item", "max_length": 5,
                           "layers": [8, 4]}]},
  "optimizer": {"sparse": {"name": "sgd", "lr": 0.1}, "dense": {"name": "sgd", "lr": 0.1}},
  "data": {"format": "jsonl", "features": [{"name": "seen", "max_length": 5, "keep": "last"}],
           "labels": ["click"]}})";

TrainConfig Parse(const std::vector<std::string>& settings = {}) {
  return ParseTrainConfig(WithSettings(kDocument, "x.json", settings), "x.json");
}

TEST(AttentionConfig, IsReadAndComesBack) {
  const TrainConfig config = Parse();
  EXPECT_EQ(config.model.attention,
            (std::vector<SequenceAttention>{
                {.sequence = "seen", .target = "item", .max_length = 5, .layers = {8, 4}}}));
  EXPECT_EQ(ToJson(ParseTrainConfig(ToJson(config), "x.json")), ToJson(config));
}

TEST(AttentionConfig, WhatDoesNotFitIsRefused) {
  for (const auto& [setting, error] : std::vector<std::pair<std::string, std::string>>{
           {R"(model.attention={})", "model.attention: expected a list of objects, got {}"},
           {R"(model.attention[0].target="shop")",
            "model.attention: expected one table that reads the feature 'shop', got 0"},
           {R"(model.attention[0].target="seen")", "its target 'seen' is a sequence itself"},
           {R"(model.attention[0].max_length=5000)",
            "model.attention[0].max_length: expected at most 4096, got 5000"},
           {R"(model.attention[0].layers=[])",
            "model.attention[0].layers: expected at least one layer"},
           {R"(model.attention[0].heads=2)",
            "model.attention[0].heads: unknown key; known here: sequence, target, max_length, "
            "layers"},
           {R"(model.position_weights={"seen": 5})",
            "attention of 'seen': beside position_weights of it"},
           {R"(tables[0].features=["seen"])", "the feature 'item', got 0"},
           {R"(data.features[0].max_length=6)",
            "data.features: feature 'seen': expected a max_length of at most 5, that of its "
            "attention in model, got 6"},
           {R"(data.features[0].missing="row0")", "expected it of both or none"},
           {R"(data.features=[])", "that of its attention in model, got none"}})
    EXPECT_THAT(ErrorOf([&, setting = setting] { Parse({setting}); }), HasSubstr(error)) << setting;
}

TEST(AttentionConfig, TwoTowersHaveNone) {
  EXPECT_THAT(ErrorOf([] {
                Parse({R"(model={"type": "two_tower", "query": ["seen", "user"],
                                 "candidate": ["item"], "layers": [4], "attention": []})"});
              }),
              HasSubstr("model.attention: beside the type two_tower"));
}

TEST(AttentionConfig, TablesOfTwoDimsAreRefused) {
  EXPECT_THAT(ErrorOf([] {
                Parse({R"(model={"type": "mmoe", "dense_in": 0, "experts": 2, "expert_arch": [4],
                                 "tower_arch": [4, 1],
                                 "attention": [{"sequence": "seen", "target": "user",
                                                "max_length": 5, "layers": [4]}]})",
                       "tables[1].dim=8"});
              }),
              HasSubstr("model.attention: the rows of 'seen' are compared with those of 'user': "
                        "expected tables of one dim, got 4 and 8"));
}

}  // namespace
}  // namespace tessera
