// From items to rows of a table, beside arithmetic of 128 bits; and what a schema lays out.
#include "data/rows/row_rules.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using Wide = __int128;

int64_t Expected(Wide id, bool row0, int64_t rows) {
  id += row0 ? 1 : 0;
  if (rows == 0) return static_cast<int64_t>(static_cast<uint64_t>(id));
  const Wide rest = id % rows;
  return static_cast<int64_t>(rest < 0 ? rest + rows : rest);
}

std::string Text(Wide id) {
  const bool minus = id < 0;
  std::string digits;
  for (auto rest = static_cast<unsigned __int128>(minus ? -id : id); rest > 0; rest /= 10)
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  return (minus ? "-" : "") + (digits.empty() ? "0" : digits);
}

bool ReadPadded(const IdRule& rule, std::string_view item, int64_t& row, ItemCount& count) {
  const std::string padded = std::string(item) + std::string(IdRule::kItemPadding, '7');
  return rule.Read(std::string_view(padded).substr(0, item.size()), row, count);
}

TEST(IdRule, IdsAreTakenModuloTheRowsExactly) {
  std::mt19937_64 random(5);
  std::vector<Wide> ids;
  for (const Wide edge : {Wide{0}, Wide{1} << 31, Wide{1} << 32, Wide{1} << 63, Wide{1} << 64})
    for (int64_t near = -3; near <= 3; ++near)
      for (const Wide id : {edge + near, -edge + near})
        if (id >= -(Wide{1} << 63) && id < Wide{1} << 64) ids.push_back(id);
  for (int i = 0; i < 2000; ++i) ids.push_back(static_cast<Wide>(random() >> (random() % 64)));
  for (const bool row0 : {false, true})
    for (const int64_t rows : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{7}, int64_t{1000},
                               int64_t{0x7fffffff}, int64_t{1} << 32, (int64_t{1} << 40) + 15}) {
      const IdRule rule({.missing = row0 ? MissingFeature::kRow0 : MissingFeature::kError}, rows);
      for (const Wide id : ids) {
        int64_t row = -1;
        ItemCount count;
        ASSERT_TRUE(ReadPadded(rule, Text(id), row, count)) << Text(id);
        ASSERT_EQ(count.unknown, rows > 0 && (id < 0 || id + (row0 ? 1 : 0) >= rows) ? 1 : 0);
        ASSERT_EQ(row, Expected(id, row0, rows)) << Text(id) << " of " << rows << " " << row0;
      }
    }
}

int64_t Read(const FeatureEntry& entry, std::string_view item) {
  int64_t row = -1;
  ItemCount count;
  EXPECT_TRUE(ReadPadded(IdRule(entry, 0), item, row, count)) << item;
  EXPECT_EQ(count.items, 1);
  const int64_t unknown = entry.missing == MissingFeature::kRow0 ? 1 : 0;
  EXPECT_EQ(count.unknown, entry.ids == IdKind::kVocabulary && row == unknown ? 1 : 0);
  return row;
}

TEST(IdRule, TextsHaveTheirXxh64) {
  const FeatureEntry text{.ids = IdKind::kText};
  EXPECT_EQ(static_cast<uint64_t>(Read(text, "a")), 0xd24ec4f1a98c6e5bu);
  EXPECT_EQ(static_cast<uint64_t>(Read(text, "Drama")), 0x56c91f073fbb33bbu);
  int64_t row = 0;
  ItemCount count;
  EXPECT_FALSE(ReadPadded(IdRule(text, 0), "", row, count));
}

TEST(IdRule, WordsAndBoundariesAreCounted) {
  const FeatureEntry words{.ids = IdKind::kVocabulary, .vocabulary = {"F", "M", "ü"}};
  EXPECT_EQ(Read(words, "F"), 1);
  EXPECT_EQ(Read(words, "ü"), 3);
  EXPECT_EQ(Read(words, "f"), 0);
  EXPECT_EQ(Read(words, ""), 0);
  const FeatureEntry ages{.ids = IdKind::kBoundaries, .boundaries = {18, 25.5}};
  EXPECT_EQ(Read(ages, "17.9"), 0);
  EXPECT_EQ(Read(ages, "18"), 1);
  EXPECT_EQ(Read(ages, "1e3"), 2);
  EXPECT_EQ(Read(ages, "25"), 1);
  EXPECT_EQ(Read(ages, "26"), 2);
  EXPECT_EQ(Read(ages, "-1"), 0);
  EXPECT_EQ(Read(ages, "300"), 2);
}

TEST(IdRule, WordsAreFoundByAllOfTheirBytes) {
  std::vector<std::string> vocabulary;
  for (size_t size = 1; size <= 20; ++size) {
    vocabulary.push_back(std::string(size, 'a'));
    vocabulary.push_back(std::string(size, '\0'));
    vocabulary.push_back(std::string(size - 1, 'a') + 'b');
  }
  const FeatureEntry words{.ids = IdKind::kVocabulary, .vocabulary = vocabulary};
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    EXPECT_EQ(Read(words, vocabulary[i]), static_cast<int64_t>(i + 1)) << vocabulary[i];
    EXPECT_EQ(Read(words, vocabulary[i] + "c"), 0) << vocabulary[i];
  }
}

TEST(IdRule, RowsOfAVocabularyHaveItsWords) {
  for (const MissingFeature missing : {MissingFeature::kError, MissingFeature::kRow0}) {
    const FeatureEntry words{
        .missing = missing, .ids = IdKind::kVocabulary, .vocabulary = {"F", "M"}};
    for (const std::string word : {"F", "M"}) EXPECT_EQ(WordOfRow(words, Read(words, word)), word);
    for (const int64_t row : {Read(words, "f"), int64_t{-1}, int64_t{0}, int64_t{4}})
      EXPECT_EQ(WordOfRow(words, row), "");
  }
  EXPECT_EQ(WordOfRow({.ids = IdKind::kInt}, 1), "");
}

TEST(RowRules, CellsAreAskedForOnce) {
  const RowRules rules(
      ParseDataSchema(R"({"format": "jsonl", "dense": ["x", {"name": "v", "size": 3}],
        "features": [{"name": "f", "from": "x", "weights": "w"}],
        "labels": [{"name": "l", "from": "x"}], "weight": "w", "time": "t"})"),
      {{"g", int64_t{1} << 40, false}, {"f", 10, false}});
  EXPECT_EQ(rules.columns(), (std::vector<std::string>{"x", "v", "g", "w", "t"}));
  EXPECT_EQ(rules.layout().keys, (std::vector<std::string>{"g", "f"}));
  EXPECT_EQ(rules.layout().dense, 4);
  EXPECT_EQ(rules.layout().labels, 1);
  EXPECT_TRUE(rules.layout().weighted);
  EXPECT_EQ(rules.layout().id_type, DType::kI64);
}

TEST(RowRules, StandInsAndReadersAreChecked) {
  const auto error = [](const std::string& feature) {
    return ErrorOf([&] {
      RowRules(ParseDataSchema(R"({"format": "jsonl", "features": [)" + feature + "]}"),
               {{"x", 10, false}});
    });
  };
  EXPECT_EQ(error(R"({"name": "x", "missing": 5.5})"),
            "data.features: feature 'x': missing: expected an integer of 64 bits, got '5.5'");
  EXPECT_EQ(error(R"("x", "z")"), "data.features: feature 'z' is read by no table");
}

}  // namespace
}  // namespace tessera
