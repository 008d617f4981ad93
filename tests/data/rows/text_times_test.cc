// The times of all rows, whatever else their lines have.
#include "data/rows/text_times.h"

#include <gtest/gtest.h>

#include <string>

#include "data/schema/data_schema.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

// The time at which the last half of the rows begins.
int64_t Middle(const std::string& name, const std::string& schema, const std::string& lines,
               bool skip_bad_lines) {
  const std::string path = testing::WriteFile(name, lines);
  return TimesOf(ParseDataSchema(schema), {.paths = {path}, .skip_bad_lines = skip_bad_lines})
      .Begin(0.5);
}

TEST(TextTimes, RowsWhoseLastColumnTakesTheRestOfTheLineCount) {
  for (const bool skip_bad_lines : {false, true})
    for (const std::string heading : {"", "t x items\n"})
      EXPECT_EQ(Middle("rest.txt",
                       Format(R"({{"format": "csv", "delimiter": " ", {} "time": "t",
                                  "features": ["x",
                                               {{"name": "bag", "from": "items", "separator": " ",
                                                 "missing": "error"}}]}})",
                              heading.empty() ? R"("columns": ["t", "x", "items"],)" : ""),
                       heading + "10 1 7\n20 1 7 8 9\n30 1 a b c\n40 1\n", skip_bad_lines),
                30);
}

TEST(TextTimes, ALastColumnOfNumbersTakesTheRestOfTheLine) {
  EXPECT_EQ(Middle("vector.csv",
                   R"({"format": "csv", "columns": ["t", "v"], "time": "t", "features": ["v"],
                       "dense": [{"name": "v", "size": 2, "separator": ","}]})",
                   "10,1,2\n20,\"3,4\"\n30,5,x\n40,6,7\n", false),
            30);
}

TEST(TextTimes, OtherColumnsMayHaveAnything) {
  EXPECT_EQ(Middle("other.jsonl",
                   R"({"format": "jsonl", "time": "t", "dense": ["x"], "features": ["f"]})",
                   "{\"t\": 1, \"x\": \"no\"}\n{\"t\": 2, \"f\": {}}\n", false),
            2);
}

}  // namespace
}  // namespace tessera
