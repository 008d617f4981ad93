#include "data/rows/json_rows.h"

#include <gtest/gtest.h>

#include "data/click_row.h"
#include "data/rows/request_schema.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using testing::ErrorOf;

std::shared_ptr<const RowRules> Rules() {
  return std::make_shared<const RowRules>(
      ParseDataSchema(R"({"format": "jsonl", "features": ["u",
        {"name": "v", "missing": "row0"}, {"name": "w", "separator": "|", "weight_after": ":"},
        {"name": "x", "vocabulary": ["a"]}]})"),
      std::vector<CategoricalFeature>{
          {"u", 10, false}, {"v", 10, false}, {"w", 10, false}, {"x", 10, false}});
}

// The error of strict rows, "" if there is none.
std::string ErrorOfStrict(const std::string& text, UnknownItems* unknown = nullptr) {
  const auto rules = Rules();
  Context ctx({.threads = 1});
  const auto read = [&](bool strict) {
    ReadJsonRows(ctx, rules, text, "body", 100, strict ? unknown : nullptr, strict);
  };
  read(false);  // what strict rows refuse is no error else
  try {
    read(true);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(JsonRows, StrictOnesNameFeatureRowAndItem) {
  EXPECT_EQ(ErrorOfStrict(R"({"u": 9, "v": 8, "w": "9:1|0:2", "x": "a"})"), "");
  EXPECT_EQ(ErrorOfStrict("{\"u\": 9}\n{\"u\": 10}\n"),
            "body:2: feature u, u: expected an id from 0 to 9, got '10'");
  EXPECT_EQ(ErrorOfStrict(R"({"v": 9})"),
            "body:1: feature v, v: expected an id from 0 to 8, got '9'");
  EXPECT_EQ(ErrorOfStrict(R"({"u": [1, -1, 77]})"),
            "body:1: feature u, u[1]: expected an id from 0 to 9, got '-1'");
  EXPECT_EQ(ErrorOfStrict(R"({"w": "9:1|11:0.5"})"),
            "body:1: feature w, w[1]: expected an id from 0 to 9, got '11'");
  EXPECT_EQ(ErrorOfStrict("{\"x\": \"a\"}\n{\"x\": [\"a\", \"no word\"]}\n"),
            "body:2: feature x, x[1]: expected a word of the vocabulary, which has 1 word, got 'no "
            "word'");
}

TEST(JsonRows, ABagHasAsManyIdsAsTheModelHasPositions) {
  const auto rules = std::make_shared<const RowRules>(
      ParseDataSchema(R"({"format": "jsonl", "features": ["u", {"name": "v", "max_length": 2}]})"),
      std::vector<CategoricalFeature>{{.name = "u", .rows = 10, .max_ids = 2},
                                      {.name = "v", .rows = 10, .max_ids = 2}});
  Context ctx({.threads = 1});
  const auto error = [&](const std::string& text) {
    return ErrorOf([&] { ReadJsonRows(ctx, rules, text, "body", 100, nullptr, false); });
  };
  EXPECT_EQ(error(R"({"u": [1, 2], "v": [1, 2, 3, 4]})"), "");
  EXPECT_EQ(error("{\"u\": 1}\n{\"u\": [1, 2, 3]}\n"),
            "body:2: u: expected at most 2 ids, as many as the model has positions "
            "(\"max_length\" of its data's feature keeps as many), got 3");
}

TEST(JsonRows, AByteOrderMarkIsLeftOutAsOfFiles) {
  Context ctx({.threads = 1});
  const auto rows = [&](const std::string& text) {
    return ReadJsonRows(ctx, Rules(), text, "body", 100).size();
  };
  EXPECT_EQ(rows("\xef\xbb\xbf{\"u\": 1}\n{\"u\": 2}\n"), 2);
  EXPECT_NE(ErrorOf([&] { rows("{\"u\": 1}\n\xef\xbb\xbf{\"u\": 2}\n"); }), "");
}

TEST(JsonRows, AnErrorGoesOnBehindAByteOfZero) {
  EXPECT_EQ(ErrorOf([] {
              Context ctx({.threads = 1});
              ReadJsonRows(ctx, Rules(), R"({"u": "1\u00002"})", "body", 100);
            }),
            "body:1: u: expected an integer of 64 bits, got '1\\02'");
}

// Files of these formats have one value a cell, too.
TEST(JsonRows, OfCriteoHaveOneValueACellAndIntegers) {
  const auto rules = std::make_shared<const RowRules>(
      RequestSchema(CriteoSchema(MissingIds::kRow0, {"cat_3"}), ClickRow::kIntegers),
      std::vector<CategoricalFeature>{{"cat_3", 10, false}});
  const OneValueCells cells = CriteoCells();
  Context ctx({.threads = 1});
  const auto error = [&](const std::string& text) {
    return ErrorOf(
        [&] { ReadJsonRows(ctx, rules, text, "body", 100, nullptr, /*strict=*/false, &cells); });
  };
  EXPECT_EQ(error(R"({"int_0": 3, "int_1": "-7", "int_2": null, "int_3": "", "cat_3": "1f"})"), "");
  EXPECT_EQ(error(R"({"int_0": 999999999999999999, "cat_3": 12})"), "");
  EXPECT_EQ(error(R"({"int_0": 1.5})"), "body:1: int_0: expected an integer, got '1.5'");
  EXPECT_EQ(error(R"({"int_12": 1e3})"), "body:1: int_12: expected an integer, got '1e3'");
  EXPECT_EQ(error(R"({"int_0": [1]})"), "body:1: int_0: expected one value, got a list of 1 item");
  EXPECT_EQ(error(R"({"cat_3": ["1", "2"]})"),
            "body:1: cat_3: expected one value, got a list of 2 items");
  EXPECT_EQ(error(R"({"cat_3": []})"), "body:1: cat_3: expected one value, got a list of 0 items");
}

TEST(JsonRows, StrictOnesAreCountedWhole) {
  UnknownItems unknown;
  EXPECT_NE(ErrorOfStrict("{\"u\": 10}\n{\"u\": 11}\n{\"u\": 1}\n", &unknown), "");
  EXPECT_EQ(unknown.All()[0].count.items, 3);
  EXPECT_EQ(unknown.All()[0].count.unknown, 2);
}

TEST(JsonRows, ItemsThatAreCutAreNotCounted) {
  UnknownItems unknown;
  const auto rules =
      std::make_shared<const RowRules>(ParseDataSchema(R"({"format": "jsonl", "features": [
        {"name": "u", "max_length": 2, "drop_last": 1, "keep": "last"}]})"),
                                       std::vector<CategoricalFeature>{{"u", 10, false}});
  Context ctx({.threads = 1});
  const Batch batch =
      ReadJsonRows(ctx, rules, "{\"u\": [77, 1, 2, 99]}\n", "body", 100, &unknown, true);
  EXPECT_EQ(batch.features.values().To(ctx, DType::kI64).ToVector<int64_t>(),
            (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(unknown.All()[0].count.items, 2);
  EXPECT_EQ(unknown.All()[0].count.unknown, 0);
}

TEST(JsonRows, ABadLineComesBeforeAStrayItem) {
  Context ctx({.threads = 1});
  EXPECT_EQ(ErrorOf([&] {
              ReadJsonRows(ctx, Rules(), "{\"u\": 10}\n{\"u\": \"x\"}\n", "body", 100, nullptr,
                           true);
            }),
            "body:2: u: expected an integer of 64 bits, got 'x'");
}

}  // namespace
}  // namespace tessera
