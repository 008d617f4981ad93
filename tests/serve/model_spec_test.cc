#include "serve/model_spec.h"

#include <gtest/gtest.h>

#include "tests/train/testing/files.h"

namespace tessera::serve {
namespace {

using tessera::testing::ErrorOf;

ModelSpec Small() {
  ModelSpec spec;
  spec.version = 7;
  spec.weights = "weights-7.safetensors";
  spec.net = {.dense_in = 13, .dense_arch = {8, 4}, .over_arch = {16, 1}};
  spec.dense_type = DType::kF16;
  spec.missing = MissingIds::kEmptyBag;
  spec.tables = {{.name = "a", .rows = 60, .dim = 4, .features = {"cat_0"}},
                 {.name = "b",
                  .rows = 50,
                  .dim = 4,
                  .features = {"cat_1", "cat_2"},
                  .pooling = PoolingType::kMean,
                  .codec = {RowType::kInt4},
                  .default_row = true,
                  .ids = 80,
                  .remap = RemapKind::kHash}};
  return spec;
}

// The small model's document with `from` replaced.
std::string With(const std::string& from, const std::string& to) {
  std::string text = ToJson(Small());
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ModelSpec, ComesBackFromItsDocument) {
  const std::string text = ToJson(Small());
  const ModelSpec spec = ParseModelSpec(text, "x");
  EXPECT_EQ(ToJson(spec), text);
  EXPECT_EQ(spec.version, 7);
  EXPECT_EQ(spec.missing, MissingIds::kEmptyBag);
  EXPECT_EQ(spec.Features(), (std::vector<std::string>{"cat_0", "cat_1", "cat_2"}));
  EXPECT_EQ(spec.tables[1].codec, RowCodec{RowType::kInt4});
  EXPECT_EQ(spec.tables[1].stored_rows(), 51);
  EXPECT_EQ(spec.tables[1].nbytes(), 51 * 16);
  EXPECT_EQ(spec.tables[1].num_ids(), 80);
  EXPECT_EQ(spec.tables[1].remap, RemapKind::kHash);
  EXPECT_FALSE(spec.tables[0].pruned());
  EXPECT_EQ(spec.tables[0].num_ids(), 60);
  EXPECT_EQ(spec.dense_type, DType::kF16);
}

TEST(ModelSpec, SaysHowRowsAreRead) {
  EXPECT_FALSE(ParseModelSpec(ToJson(Small()), "x").data.has_value());
  const ModelSpec spec = ParseModelSpec(
      With("\"dense_type\"", R"("data": {"format": "csv", "features": ["cat_0"]}, "dense_type")"),
      "x");
  ASSERT_TRUE(spec.data && spec.data->schema);
  EXPECT_EQ(spec.data->schema->features.front().name, "cat_0");
  EXPECT_EQ(ToJson(ParseModelSpec(ToJson(spec), "x")), ToJson(spec));
  const std::string wrong = With("\"dense_type\"", R"("data": {"format": "x"}, "dense_type")");
  EXPECT_NE(ErrorOf([&] { ParseModelSpec(wrong, "m"); }).find("data.format"), std::string::npos);
}

TEST(ModelSpec, AFeatureOfSeveralTablesIsOneInput) {
  const ModelSpec spec = ParseModelSpec(With("cat_2", "cat_0"), "x");
  EXPECT_EQ(spec.Features(), (std::vector<std::string>{"cat_0", "cat_1"}));
  EXPECT_EQ(spec.Reads(), (std::vector<std::string>{"cat_0", "cat_1", "cat_0"}));
}

TEST(ModelSpec, ADocumentThatMakesNoSenseIsRefused) {
  const std::pair<std::string, std::string> cases[] = {
      {"{", "dir: "},
      {With("\"tessera_model\": 2", "\"tessera_model\": 1"), "expected version 2, got 1"},
      {With("\"version\": 7", "\"version\": 9223372036854775807"),
       "version: expected 0 to 4611686018427387904, got 9223372036854775807"},
      {With("\"dlrm\"", "\"dcn\""), "model.type: expected \"dlrm\" or "},
      {With("\"f16\"", "\"i8\""), "dense_type: expected "},
      {With("\"ids\": 80", "\"ids\": 40"), "tables[1].rows: expected at most the 40 ids"},
      {With("\"ids\": 80,", ""), "tables[1].remap: expected ids and remap, or neither"},
      {With("\"hash\"", "\"tree\""), "remap 'tree': expected array or hash"},
      {With("weights-7", "../weights-7"), "weights: expected the name of a file beside it"},
      {With("\"dense_in\": 13", "\"dense_in\": 0"), "dense_in: expected an integer above 0, got 0"},
      {With("\"rows\": 60", "\"rows\": 9000000000000000000"),
       "tables[0] ('a'): rows: expected at most"},
      {With("\"dim\": 4", "\"dim\": 8"), "tables: a: expected dim 4"},
      {With("int4", "int5"), "tables[1].codec: "},
      {With("\"b\"", "\"a\""), "tables: a is there twice"},
      {With("cat_2", "cat_1"), "tables: b: feature cat_1 is there twice"},
      {With("\"missing\"", "\"mising\""), "mising"},
      {With("   1\n", "   2\n"), "model.over_arch: expected a last layer of 1"},
  };
  for (const auto& [text, what] : cases)
    EXPECT_NE(ErrorOf([&] { ParseModelSpec(text, "dir"); }).find(what), std::string::npos)
        << what << ": " << ErrorOf([&] { ParseModelSpec(text, "dir"); });
}

// The small model's document with these keys in the "raw_ids" of table a.
std::string WithRawIds(const std::string& keys) {
  return With("\"default_row\": false", "\"default_row\": false, \"raw_ids\": {" + keys + "}");
}

TEST(ModelSpec, RawIdsHaveARule) {
  ModelSpec spec = Small();
  spec.tables[0].raw_ids = {.max_rows = 90, .unknown = UnknownIds::kRows, .first_row = 59};
  const ModelSpec back = ParseModelSpec(ToJson(spec), "x");
  EXPECT_EQ(ToJson(back), ToJson(spec));
  EXPECT_EQ(back.tables[0].most_stored_rows(), 90);
  const std::pair<std::string, std::string> cases[] = {
      {R"("max_rows": 59)", "raw_ids.max_rows: expected at least the 60 rows"},
      {R"("unknown": "any")", "'any': expected default, rows or slots"},
      {R"("first_row": 60)", "raw_ids.first_row: rows 60 to 60: the table has 60"},
      {R"("num_parts": 7)", "raw_ids.num_parts: expected a divisor of the 60 rows"},
      {R"("num_parts": 2, "max_rows": 90)", "parts that are not interleaved does not grow"},
      {R"("num_parts": 2, "hash_below": 5000000000000000000)", "raw_ids.hash_below: 5000000000000"},
      {R"("num_parts": 6, "first_row": 10)", "raw_ids.first_row: rows 10 to 10: the table has 10"},
      {R"("buckets": 7)", "raw_ids.buckets: expected a divisor of the 60 rows"},
      {R"("buckets": 2, "reserved": 30)", "raw_ids.reserved: expected less than the 30 rows"},
      {R"("unknown": "slots", "max_rows": 61)", "whose ids name slots does not grow"},
      {R"("hash": 1)", "hash"}};
  for (const auto& [keys, what] : cases)
    EXPECT_NE(ErrorOf([&] { ParseModelSpec(WithRawIds(keys), "dir"); }).find(what),
              std::string::npos)
        << what << ": " << ErrorOf([&] { ParseModelSpec(WithRawIds(keys), "dir"); });
}

}  // namespace
}  // namespace tessera::serve
