#include "serve/model_inputs.h"

#include <gtest/gtest.h>

#include "tests/testing/error_of.h"

namespace tessera::serve {
namespace {

using tessera::testing::ErrorOf;

ModelSpec Reading(int64_t dense_in, const std::vector<std::string>& features) {
  ModelSpec spec;
  spec.net.dense_in = dense_in;
  for (const std::string& feature : features) spec.tables.push_back({.features = {feature}});
  return spec;
}

TEST(ModelInputs, WhatDiffersIsNamed) {
  const ModelSpec before = Reading(13, {"u", "v"});
  EXPECT_EQ(OtherInputs(before, before), "");
  EXPECT_EQ(OtherInputs(before, Reading(4, {"u", "v"})), "4 dense values instead of 13");
  EXPECT_EQ(OtherInputs(before, Reading(13, {"u"})), "not the feature v");
  EXPECT_EQ(OtherInputs(before, Reading(13, {"v", "w", "u", "x"})), "also the features w, x");
  EXPECT_EQ(OtherInputs(before, Reading(1, {"w", "v"})),
            "1 dense values instead of 13, not the feature u, also the feature w");
  EXPECT_EQ(OtherInputs(before, Reading(13, {"v", "u"})), "the same features in another order");
  std::vector<std::string> many;
  for (char c = 'a'; c < 'k'; ++c) many.push_back(std::string(1, c));
  EXPECT_EQ(OtherInputs(Reading(13, {}), Reading(13, many)),
            "also the features a, b, c, d, e, f, g, h and 2 more");
}

TEST(ModelInputs, ErrorsSayWhatAllowsIt) {
  ModelSpec before = Reading(13, {"u"}), next = Reading(13, {});
  next.version = 2;
  EXPECT_EQ(ErrorOf([&] { CheckSameInputs(before, next, "model", "--new-inputs"); }),
            "model: version 2 would read other inputs than version 1: not the feature u; requests "
            "of its clients would be refused (--new-inputs allows it)");
  EXPECT_EQ(ErrorOf([&] { CheckSameInputs(before, before, "model", "--new-inputs"); }), "");
}

}  // namespace
}  // namespace tessera::serve
