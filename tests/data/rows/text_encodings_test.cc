// Text files in other encodings than UTF-8, or with other ends of lines, are refused by name.
#include <gtest/gtest.h>

#include "data/rows/text_row_source.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::WriteFile;

// Reads the columns x and y of a file; returns the error behind its name, or "".
std::string ErrorFor(const std::string& text) {
  const auto rules =
      std::make_shared<const RowRules>(ParseDataSchema(R"({"format": "csv", "labels": ["y"]})"),
                                       std::vector<CategoricalFeature>{{"x", 10, false}});
  Context ctx({.threads = 1});
  const std::string path = WriteFile("encoded.csv", text);
  const std::string what = ErrorOf([&] { ReadAllRows(ctx, rules, {.paths = {path}}); });
  return what.empty() ? what : what.substr(path.size());
}

TEST(TextEncodings, OthersAreNamed) {
  EXPECT_EQ(ErrorFor("x,\xfc\n"), ":1: there is no column 'y'; there are x, \xef\xbf\xbd");
  const std::string utf16 =
      ":1: expected UTF-8, got UTF-16 or bytes that are no text (iconv -f UTF-16 -t UTF-8 writes "
      "UTF-8)";
  EXPECT_EQ(ErrorFor(std::string("\xff\xfex\0,\0y\0\n\0", 10)), utf16);
  EXPECT_EQ(ErrorFor(std::string("\xfe\xff\0x\0,\0y\0\n", 10)), utf16);
  EXPECT_EQ(ErrorFor(std::string("x\0,\0y\0\n\0", 8)), utf16);
  EXPECT_EQ(ErrorFor("x,y\r1,2\r1,2\r"),
            ":1: expected lines that end with \\n or \\r\\n, got \\r alone (tr '\\r' '\\n' "
            "writes the former)");
}

}  // namespace
}  // namespace tessera
