// Tables out of each kind of file, and what is said of those that are none.
#include "bench/inputs/table_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/check.h"
#include "runtime/files/files.h"

namespace tessera::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::string FileOf(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "/" + name;
  ReplaceTextFile(path, text);
  return path;
}

// Both files of the test say this.
void ExpectTheTwoTables(const std::vector<FileTable>& tables) {
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].rows, 1'000'000);
  EXPECT_EQ(tables[0].dim, 64);
  ASSERT_TRUE(tables[0].lengths && tables[0].skew);
  EXPECT_EQ(tables[0].lengths->kind, BagLengths::Kind::kPoisson);
  EXPECT_EQ(tables[0].skew->exponent, 1.05);
  EXPECT_EQ(tables[1].rows, 40);
  ASSERT_TRUE(tables[1].lengths.has_value());
  EXPECT_EQ(tables[1].lengths->mean, 5);
  EXPECT_FALSE(tables[1].skew.has_value());
}

TEST(TableFile, ReadsJsonAndCsv) {
  ExpectTheTwoTables(ReadTableFile(
      FileOf("t.json", R"([{"rows": "1M", "dim": 64, "pooling": "poisson:20", "skew": "zipf:1.05"},
                           {"rows": 40, "dim": 16, "pooling": 5}])")));
  ExpectTheTwoTables(ReadTableFile(
      FileOf("t.csv", "dim,rows,skew,pooling\n64, 1M, zipf:1.05, poisson:20\n\n16,40,,5\n\n")));
}

TEST(TableFile, ReadsTheTablesOfATrainingConfiguration) {
  const auto tables = ReadTableFile("config:examples/criteo.json");
  ASSERT_EQ(tables.size(), 26u);
  EXPECT_EQ(tables[0].rows, 100'000);
  EXPECT_EQ(tables[0].dim, 16);
  EXPECT_FALSE(tables[0].lengths.has_value());
}

TEST(TableFile, SaysWhereAFileIsNone) {
  const auto refused = [](const std::string& file, const std::string& saying) {
    EXPECT_THAT([&] { ReadTableFile(file); }, ThrowsMessage<Error>(HasSubstr(saying)));
  };
  refused(FileOf("a.json", R"([{"rows": 5, "dim": 4}, {"rows": 0, "dim": 4}])"),
          "a.json: [1]: rows: expected a whole number from 1 to");
  refused(FileOf("b.json", R"([{"rows": 5}])"), "b.json: [0]: expected its dim, got none");
  refused(FileOf("c.json", R"([{"rows": 5, "dim": 4, "poling": 3}])"), "poling");
  refused(FileOf("d.json", R"({"rows": 5})"), "d.json: expected a list of tables, got");
  refused(FileOf("e.json", "[{]"), "e.json: ");
  refused(FileOf("f.json", "[]"), "f.json: expected tables, got none");
  refused(FileOf("g.json", R"([{"rows": 5, "dim": 4, "skew": "odd"}])"),
          "g.json: [0]: skew: expected");
  refused(FileOf("a.csv", "rows,dims\n5,4\n"),
          "a.csv:1: expected a heading of rows, dim, pooling and skew, got 'dims'");
  refused(FileOf("b.csv", "rows,dim\n5\n"), "b.csv:2: expected 2 cells, got 1");
  refused(FileOf("c.csv", "rows,dim\n5,4\n6,wide\n"), "c.csv:3: dim: expected a number");
  refused(FileOf("twice.csv", "rows,dim,dim\n1,2,3\n"),
          "twice.csv:1: expected each column once, got 'dim' twice");
  refused(FileOf("d.csv", ""), "d.csv: expected a heading, got an empty file");
  refused("config:missing.json", "missing.json");
}

}  // namespace
}  // namespace tessera::bench
