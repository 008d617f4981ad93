// Lines of JSON as cells, and lines that are none, beside another parser.
#include "data/rows/json_cells.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "data/rows/bad_line.h"

namespace tessera {
namespace {

// The cells of a line for the keys a, b and c: "-" for missing, a text, or a list in brackets; or
// the line's error.
std::string CellsOf(JsonCells& reader, std::string line) {
  LineCells cells;
  cells.cells.resize(3);
  const size_t length = line.size();
  line.resize(length + JsonCells::kPadding, '"');
  std::string text;
  try {
    reader.Read({line.data(), length}, cells);
  } catch (const BadLine& bad) {
    return bad.what();
  }
  for (const LineCell& cell : cells.cells) {
    if (cell.kind == LineCell::Kind::kMissing) text += "- ";
    if (cell.kind == LineCell::Kind::kText) text += std::string(cell.text()) + " ";
    if (cell.kind != LineCell::Kind::kList) continue;
    text += "[";
    for (const std::string_view item : cells.ItemsOf(cell)) text += std::string(item) + ",";
    text += "] ";
  }
  return text;
}

std::string CellsOf(const std::string& line) {
  JsonCells reader({"a", "b", "c"}, {"none", "n/a"});
  return CellsOf(reader, line);
}

TEST(JsonCells, ScalarsAreTheirText) {
  EXPECT_EQ(CellsOf(R"({"a": 5.50, "b": "x y", "c": -1E+2})"), "5.50 x y -1E+2 ");
  EXPECT_EQ(CellsOf(R"( { "c" : true , "b":false,"a":12345678901234567890123 } )"),
            "12345678901234567890123 0 1 ");
  EXPECT_EQ(CellsOf(R"({"a": null, "b": "n/a", "c": "none"})"), "- - - ");
  EXPECT_EQ(CellsOf("{}"), "- - - ");
}

TEST(JsonCells, EscapesAreDecodedInTextsAndKeys) {
  EXPECT_EQ(CellsOf(R"({"\u0061": "\u00e9\n\"\\\/", "b": "\ud83d\ude00"})"),
            "\xc3\xa9\n\"\\/ \xf0\x9f\x98\x80 - ");
  EXPECT_EQ(CellsOf(R"({"a": ["\\ud800", "x"]})"), "[\\ud800,x,] - - ");
}

TEST(JsonCells, KeysThatNobodyReadsHoldAThousandLevelsAtMost) {
  const auto nested = [](size_t levels, const std::string& open, const std::string& close) {
    std::string line = R"({"x": )";
    for (size_t i = 0; i < levels; ++i) line += open;
    line += "0";
    for (size_t i = 0; i < levels; ++i) line += close;
    return line + R"(, "a": 1})";
  };
  for (const auto& [open, close] : {std::pair("[", "]"), {R"({"y":)", "}"}}) {
    EXPECT_EQ(CellsOf(nested(1000, open, close)), "1 - - ");
    EXPECT_EQ(CellsOf(nested(200'000, open, close)), "more than 1024 levels of nesting");
  }
}

TEST(JsonCells, ListsHaveTheirItems) {
  EXPECT_EQ(CellsOf(R"({"a": [], "b": [1, "two", true, ""], "c": [ 3 ]})"), "[] [1,two,1,,] [3,] ");
}

TEST(JsonCells, OtherKeysMayHoldAnything) {
  EXPECT_EQ(CellsOf(R"({"x": {"a": [1, {"b": null}]}, "x": [[]], "a": 1, "y": 1e999})"), "1 - - ");
}

TEST(JsonCells, WhatAKeyMayNotHoldIsNamed) {
  EXPECT_EQ(CellsOf(R"({"a": 1, "\u0061": 2})"), "the key \"a\" is given twice");
  EXPECT_EQ(CellsOf(R"({"a": { "b" : 1}})"),
            R"(a: expected a list, a number or a string, got {"b":1})");
  EXPECT_EQ(CellsOf(R"({"a": [1, null]})"), "a[1]: expected a number or a string, got null");
  EXPECT_EQ(CellsOf(R"({"b": [[1, 2]]})"), "b[0]: expected a number or a string, got [1,2]");
}

TEST(JsonCells, WhatIsNoObjectIsRefused) {
  for (const char* line : {"",
                           " ",
                           "[]",
                           "1",
                           "null",
                           "\"x\"",
                           "{",
                           "}",
                           "{\"a\": 1",
                           "{\"a\": 1}}",
                           "{\"a\": 1} x",
                           "{\"a\": 1}{}",
                           "{\"a\" 1}",
                           "{\"a\": 1,}",
                           "{,}",
                           "{\"a\": 01}",
                           "{\"a\": 1.}",
                           "{\"a\": -}",
                           "{\"a\": tru}",
                           "{\"a\": NaN}",
                           "{\"a\": \"\\x\"}",
                           "{\"a\": \"\\ud83d\"}",
                           "{\"a\": \"\\udc00\"}",
                           "{\"a\": \"\\ud83d\\ud83d\"}",
                           "{\"a\": \"x}",
                           "{\"a\": [1,]}",
                           "{\"a\": [1 2]}",
                           "{\"a\": \"b\": 1}",
                           "{a: 1}",
                           "{\"a\": \"\x80\"}",
                           "{\"a\": \"\t\"}",
                           "{\"x\": [1, tru]}",
                           "{\"x\": {\"y\" 1}}",
                           "{\"x\": \"\\ud800\"}",
                           "{\"\\udc00\": 1}"})
    EXPECT_TRUE(
        CellsOf(line).starts_with("expected a JSON object, got '" + std::string(line) + "'"))
        << CellsOf(line);
}

TEST(JsonCells, SaysWhereALineStopsBeingJson) {
  EXPECT_EQ(CellsOf("[1]"), "expected a JSON object, got '[1]'");
  EXPECT_EQ(CellsOf(R"({"a" 1})"),
            R"(expected a JSON object, got '{"a" 1}' (column 6: unexpected number literal; )"
            "expected ':')");
  EXPECT_EQ(CellsOf(R"({"a": "0123456789012345678901234567890123456789", "b": [1, , 2], "c": 3})"),
            R"(expected a JSON object, got '…234567890123456789", "b": [1, , 2], "c":…' )"
            "(column 60: unexpected ','; expected '[', '{', or a literal)");
}

TEST(JsonCells, TellsALineOfStrayKeysAlone) {
  JsonCells reader({"a", "b", "c"}, {});
  LineCells cells;
  cells.cells.resize(3);
  const auto stray = [&](const std::string& line) {
    const std::string padded = line + std::string(JsonCells::kPadding, ' ');
    reader.Read(std::string_view(padded).substr(0, line.size()), cells);
    return std::string(reader.StrayKey().value_or("none"));
  };
  EXPECT_EQ(stray(R"({"x": 1, "y": 2})"), "x");
  EXPECT_EQ(stray(R"({"\u0078": 1})"), "x");
  EXPECT_EQ(stray(R"({"x": 1, "b": null})"), "none");
  EXPECT_EQ(stray("{}"), "none");
}

bool IsObject(const std::string& line) {
  return nlohmann::json::parse(line, nullptr, false).is_object();
}

// One, two or three bytes are changed, left out or doubled.
std::string Mutated(std::string line, std::mt19937_64& random) {
  static constexpr std::string_view kBytes = "{}[]\",:\\u0dtrue nx1.-e+\t\x80";
  for (uint64_t n = random() % 3 + 1; n > 0; --n) {
    const size_t at = random() % line.size();
    const char byte = kBytes[random() % kBytes.size()];
    if (random() % 3 == 0)
      line.erase(at, 1);
    else if (random() % 2 == 0)
      line.insert(at, 1, byte);
    else
      line[at] = byte;
    if (line.empty()) line = " ";
  }
  return line;
}

TEST(JsonCells, TakesWhatAnotherParserTakes) {
  const std::string seeds[] = {
      R"({"x": {"p": [1, -2.53, {"q": null}], "r": "s\u00e9t"}, "y": [true, false, "\\\""]})",
      R"({"k": "\ud83d\ude00", "l": [[], {}, [0.5, ""]], "m": 10})"};
  JsonCells reader({"a", "b", "c"}, {});
  std::mt19937_64 random(3);
  int good = 0;
  for (int i = 0; i < 40000; ++i) {
    const std::string line = Mutated(seeds[i % 2], random);
    const bool taken = CellsOf(reader, line) == "- - - ";
    ASSERT_EQ(taken, IsObject(line)) << line;
    good += taken;
  }
  EXPECT_GT(good, 1000);
  EXPECT_LT(good, 39000);
}

}  // namespace
}  // namespace tessera
