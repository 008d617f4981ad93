// Schemas: what is read, what is refused, and that what is written reads the same.
#include "data/schema/data_schema.h"

#include <gtest/gtest.h>

#include "data/schema/data_schema_json.h"
#include "data/schema/name_ranges.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::WriteFile;

std::string ErrorIn(const std::string& document) {
  return ErrorOf([&] { ParseDataSchema(document); });
}

// The error of a jsonl schema with these keys.
std::string ErrorWith(const std::string& keys) {
  return ErrorIn(R"({"format": "jsonl", )" + keys + "}");
}

TEST(NameRanges, StandForTheirNames) {
  EXPECT_EQ(ExpandNames("cat_{0..2}", ""), (std::vector<std::string>{"cat_0", "cat_1", "cat_2"}));
  EXPECT_EQ(ExpandNames("a{9..10}b", ""), (std::vector<std::string>{"a9b", "a10b"}));
  for (const char* name : {"cat", "cat_{0..}", "{a..b}", "{0.2}", "}0..2{", "{0..2", ""})
    EXPECT_EQ(ExpandNames(name, ""), std::vector<std::string>{name});
  EXPECT_EQ(ErrorOf([] { ExpandNames("c{2..1}", "data.columns"); }),
            "data.columns: expected a range that does not fall, got 'c{2..1}'");
  EXPECT_EQ(ErrorOf([] { ExpandNames("c{0..1000000}", "x"); }),
            "x: expected a range of at most 1000000 names, got 'c{0..1000000}'");
}

constexpr char kFull[] = R"({"format": "csv", "columns": ["y", "c_{0..2}", "w", "t"],
  "delimiter": ";", "null": "\\N",
  "dense": ["c_0", {"name": "d", "from": "c_1", "missing": "error", "transform": "log+3",
                    "normalize": [1.5, 2], "size": 2, "separator": "|"}],
  "features": [{"name": "f_{0..1}", "from": "c_{1..2}", "ids": "hex", "missing": "row0"},
               {"name": "g", "from": "c_0", "vocabulary": ["a", "b"], "separator": ",",
                "weight_after": ":", "drop_last": 1, "max_length": 5, "keep": "last",
                "missing": "a"},
               {"name": "h", "boundaries": [1, 2.5], "weights": "w", "missing": "error"}],
  "labels": ["y", {"name": "l", "from": "y", "at_least": 4, "missing": "skip"},
             {"name": "m", "missing": 0.5}],
  "weight": "w", "time": "t"})";

TEST(DataSchema, SeveralTextsMeanAMissingValue) {
  const DataSchema schema = ParseDataSchema(R"({"format": "csv", "null": ["NA", "NULL"]})");
  EXPECT_EQ(schema.null, (std::vector<std::string>{"NA", "NULL"}));
  EXPECT_THROW(ParseDataSchema(R"({"format": "csv", "null": ["NA", ""]})"), Error);
  EXPECT_THROW(ParseDataSchema(R"({"format": "csv", "null": [1]})"), Error);
}

TEST(DataSchema, ReadsEveryKey) {
  const DataSchema schema = ParseDataSchema(kFull);
  EXPECT_EQ(schema.columns, (std::vector<std::string>{"y", "c_0", "c_1", "c_2", "w", "t"}));
  EXPECT_EQ(schema.delimiter, ';');
  EXPECT_EQ(schema.null, std::vector<std::string>{"\\N"});
  EXPECT_EQ(schema.dense_size(), 3);
  EXPECT_FALSE(schema.dense[1].missing);
  EXPECT_EQ(schema.dense[1].transform.shift, 3);
  ASSERT_EQ(schema.features.size(), 4u);
  EXPECT_EQ(schema.features[1].name, "f_1");
  EXPECT_EQ(schema.features[1].from, "c_2");
  EXPECT_EQ(schema.features[2].RowsNeeded(), 3);
  EXPECT_EQ(schema.features[2].missing_item, "a");
  EXPECT_EQ(schema.features[3].RowsNeeded(), 3);
  EXPECT_EQ(schema.features[0].RowsNeeded(), std::nullopt);
  EXPECT_EQ(schema.labels[1].at_least, 4);
  EXPECT_EQ(schema.labels[2].missing_number, 0.5);
  EXPECT_EQ(schema.Feature("f_0").ids, IdKind::kHex);
  EXPECT_EQ(schema.Feature("else").from, "else");
}

TEST(DataSchema, IsWrittenAsItReads) {
  const std::string written = internal::DataSchemaToJson(ParseDataSchema(kFull)).dump();
  EXPECT_EQ(internal::DataSchemaToJson(ParseDataSchema(written)).dump(), written);
  EXPECT_EQ(internal::DataSchemaToJson(ParseDataSchema(R"({"format": "npz"})")).dump(),
            R"({"format":"npz"})");
}

TEST(DataSchema, AVocabularyMayBeAFile) {
  const std::string path = WriteFile("words.txt",
                                     "\xef\xbb\xbf"
                                     "a\r\nb b\n\nc");
  const DataSchema schema = ParseDataSchema(
      R"({"format": "jsonl", "features": [{"name": "x", "vocabulary": ")" + path + R"("}]})");
  EXPECT_EQ(schema.features[0].vocabulary, (std::vector<std::string>{"a", "b b", "", "c"}));
}

TEST(DataSchema, UnknownKeysAreNamedWithThoseKnown) {
  EXPECT_EQ(ErrorWith(R"("features": [{"name": "x", "hash": "md5"}])"),
            "data.features[0].hash: unknown key; known here: name, from, missing, ids, vocabulary, "
            "boundaries, separator, weights, weight_after, drop_last, max_length, keep");
  EXPECT_EQ(ErrorWith(R"("dense": ["y", {"name": "x", "ids": "int"}])"),
            "data.dense[1].ids: unknown key; known here: name, from, missing, transform, "
            "normalize, size, separator");
  EXPECT_EQ(ErrorIn(R"({"format": "parquet"})"),
            "data.format: expected \"jsonl\" or \"csv\" or \"tsv\" or \"npz\", got \"parquet\"");
}

TEST(DataSchema, WrongValuesAreNamedByTheirPlace) {
  const auto feature = [](const std::string& keys) {
    return ErrorWith(R"("features": [{"name": "x", )" + keys + "}]");
  };
  EXPECT_EQ(feature(R"("keep": "middle")"),
            "data.features[0].keep: expected \"first\" or \"last\", got \"middle\"");
  EXPECT_EQ(feature(R"("keep": "lastt")"),
            "data.features[0].keep: expected \"first\" or \"last\", got \"lastt\" "
            "(did you mean 'last'?)");
  EXPECT_EQ(feature(R"("ids": "int", "boundaries": [1])"),
            "data.features[0]: give one of ids, vocabulary and boundaries");
  EXPECT_EQ(feature(R"("weights": "w", "weight_after": ":")"),
            "data.features[0]: give weights or weight_after, not both");
  EXPECT_EQ(feature(R"("boundaries": [1, 1])"),
            "data.features[0].boundaries: expected numbers that rise, got [1,1]");
  EXPECT_EQ(feature(R"("vocabulary": ["a", "a"])"),
            "data.features[0].vocabulary: 'a' is there twice");
  const std::string words = WriteFile("latin.txt", "a\nB\xe9r\n");
  EXPECT_EQ(feature(R"("vocabulary": ")" + words + "\""),
            "data.features[0].vocabulary: word 2: expected UTF-8, as the schema is saved as JSON, "
            "got other bytes");
  EXPECT_EQ(feature(R"("separator": "")"),
            "data.features[0].separator: expected a string that is not empty, got \"\"");
  EXPECT_EQ(feature(R"("from": "c_{0..1}")"), "data.features[0].from: expected 1 columns, got 2");
  EXPECT_EQ(ErrorWith(R"("labels": ["y", "y"])"), "data.labels: two are called 'y'");
  EXPECT_EQ(ErrorWith(R"("labels": [{"from": "y"}])"), "data.labels[0].name: the key is missing");
  for (const std::string key : {"transform", "normalize"})
    EXPECT_EQ(ErrorWith(R"("labels": [{"name": "y", ")" + key + R"(": "log1p"}])"),
              "data.labels[0]." + key +
                  ": a label is learned as it is written; known here: name, from, missing, "
                  "at_least. To learn another number, such as log(1 + price), write it into a "
                  "column of its own; scores are of that number then");
  EXPECT_EQ(ErrorWith(R"("columns": ["y"])"), "data.columns: jsonl has none");
  EXPECT_EQ(ErrorWith(R"("dense": [{"name": "d", "normalize": [0, 0]}])"),
            "data.dense[0].normalize: expected [mean, deviation above 0], got [0,0]");
  EXPECT_EQ(ErrorWith(R"("dense": [{"name": "d", "transform": "sqrt"}])"),
            "data.dense[0].transform: expected \"as_is\" or \"log1p\" or \"log+C\", got \"sqrt\"");
  EXPECT_EQ(ErrorIn(R"({"format": "csv", "columns": ["a_{0..1}", "a_1"]})"),
            "data.columns: two are called 'a_1'");
  EXPECT_EQ(ErrorIn(R"({"format": "csv", "delimiter": "::"})"),
            "data.delimiter: expected one character of one byte, got \"::\"");
  EXPECT_EQ(ErrorIn(R"({"format": "csv", "delimiter": "\""})"),
            "data.delimiter: expected neither a quote nor the end of a line, got \"\\\"\"");
  EXPECT_EQ(ErrorIn(R"({"format": "npz", "weight": "w"})"),
            "data.weight: npz has none: its arrays are taken as they are");
}

// Keys that would have no effect are refused.
TEST(DataSchema, NpzTakesNumbersAndLabelsAsTheyAre) {
  const auto dense = [](const std::string& keys) {
    return ErrorIn(R"({"format": "npz", "dense": [{"name": "d", "size": 3)" + keys + "}]}");
  };
  const auto label = [](const std::string& keys) {
    return ErrorIn(R"({"format": "npz", "labels": ["x", {"name": "y")" + keys + "}]}");
  };
  EXPECT_EQ(dense(""), "");
  EXPECT_EQ(label(""), "");
  for (const std::string key :
       {R"("transform": "log1p")", R"("normalize": [0, 2])", R"("missing": "error")",
        R"("missing": 1)", R"("from": "e")", R"("separator": "|")"})
    EXPECT_EQ(dense(", " + key),
              "data.dense: 'd': npz's numbers are taken as they are, so expected no key but name "
              "and size")
        << key;
  for (const std::string key : {R"("at_least": 4)", R"("missing": "skip")", R"("from": "z")"})
    EXPECT_EQ(label(", " + key),
              "data.labels: 'y': npz's labels are taken as they are, so expected no key but name")
        << key;
}

}  // namespace
}  // namespace tessera
