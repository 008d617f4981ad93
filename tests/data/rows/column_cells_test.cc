// Lines of csv whose last column takes the rest of the line, or has its items in quotes.
#include "data/rows/column_cells.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "data/rows/text_row_source.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::WriteFile;

AllRows Read(const std::string& schema, const std::vector<CategoricalFeature>& features,
             const std::string& lines) {
  Context ctx({.threads = 1});
  return ReadAllRows(ctx, std::make_shared<const RowRules>(ParseDataSchema(schema), features),
                     {.paths = {WriteFile("cells.csv", lines)}});
}

// Each row's ids of the bag.
std::string Bags(const std::string& columns, const std::string& bag, const std::string& lines) {
  const AllRows rows = Read(Format(R"({{"format": "csv", "columns": [{}], "null": "NA",
                                       "features": [{{"name": "bag", "separator": ",", {}}}]}})",
                                   columns, bag),
                            {{"bag", 100, false}}, lines);
  Context ctx({.threads = 1});
  const auto ids = rows.batch.features.values().ToVector<int32_t>();
  std::string text;
  size_t at = 0;
  for (const int32_t length : rows.batch.features.lengths(ctx).ToVector<int32_t>()) {
    for (int32_t i = 0; i < length; ++i) text += std::to_string(ids[at++]) + ' ';
    text += '/';
  }
  return text;
}

constexpr char kLast[] = R"("n", "bag")", kMiddle[] = R"("bag", "n")",
               kWords[] = R"("vocabulary": ["a", "b", "c", "b,c", "NA"])";

// Python's csv module quotes a list whose items have commas between them.
TEST(ColumnCells, AQuotedBagHasTheSameItemsWhereverItsColumnStands) {
  EXPECT_EQ(Bags(kMiddle, kWords, "\"a,b\",0\nc,0\n\"c\",0\nNA,0\n\"NA\",0\n,0\n"),
            "1 2 /3 /3 ////");
  EXPECT_EQ(Bags(kLast, kWords, "0,\"a,b\"\n0,c\n0,\"c\"\n0,NA\n0,\"NA\"\n0,\n"), "1 2 /3 /3 ////");
}

TEST(ColumnCells, TheLastColumnTakesTheRestWhereAnItemMayHaveQuotes) {
  EXPECT_EQ(Bags(kLast, kWords, "0,a,b,c\n0\n0,a,\"b,c\"\n0,\"a\",\"b\"\n0,a,\n"),
            "1 2 3 //1 4 /1 2 /1 0 /");
  EXPECT_EQ(ErrorOf([] { Bags(kLast, R"("missing": "error")", "0,1,2\n0,\"1,x\"\n"); }),
            testing::TempPath("cells.csv") +
                ":2: column 2 (bag[1]): expected an integer of 64 bits, got 'x'");
}

TEST(ColumnCells, NumbersOfAVectorMayBeTheRest) {
  for (const char* line : {"7,0.5,1,2\n", "7,\"0.5,1,2\"\n"}) {
    const AllRows rows = Read(R"({"format": "csv", "columns": ["n", "v"],
                                 "dense": [{"name": "v", "size": 3, "separator": ","}]})",
                              {{"n", 100, false}}, line);
    EXPECT_EQ(rows.batch.dense.ToVector<float>(), (std::vector<float>{0.5, 1, 2})) << line;
  }
}

}  // namespace
}  // namespace tessera
