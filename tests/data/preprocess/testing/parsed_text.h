#ifndef TESSERA_TESTS_DATA_PREPROCESS_TESTING_PARSED_TEXT_H_
#define TESSERA_TESTS_DATA_PREPROCESS_TESTING_PARSED_TEXT_H_
// Text of a schema with all that one can have, and the folder that it is parsed into.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "data/files/bag_folder.h"
#include "data/preprocess/parse_rows.h"
#include "data/rows/text_row_source.h"
#include "runtime/files/files.h"
#include "tests/train/testing/files.h"

namespace tessera::testing {

inline constexpr char kSchema[] = R"({"format": "jsonl",
  "dense": [{"name": "x", "size": 2, "transform": "log1p"}, "age"],
  "features": [{"name": "seen", "weights": "how", "max_length": 3, "keep": "last"},
               {"name": "word", "ids": "text"}, {"name": "raw", "ids": "hex", "missing": "row0"},
               {"name": "city", "vocabulary": ["Ber", "Osl"]}],
  "labels": ["click", {"name": "stars", "missing": "skip"}], "weight": "w", "time": "t"})";

// Every row has one id of "plain", which is in no list of the schema.
inline const std::vector<CategoricalFeature> kFeatures = {
    {"plain", 1000}, {"seen", 60}, {"word", int64_t{1} << 40}, {"raw", 0, true}, {"city", 5}};

inline std::string Line(int64_t n) {
  std::string seen, how;
  for (int64_t i = 0; i < n * 7 % 6; ++i) {
    seen += Format("{}{}", i == 0 ? "" : ",", n * 31 + i - 40);
    how += Format("{}{}.25", i == 0 ? "" : ",", i);
  }
  std::string line = Format(
      R"({{"x": [{}, 3], "age": {}, "plain": {}, "seen": [{}], "how": [{}], "word": "w{}", )"
      R"("city": "{}", "click": {}, "w": {}.5, "t": {})",
      n, n % 90, n * 3, seen, how, n % 11, n % 3 == 0 ? "Osl" : "Rom", n % 2, n % 4, n * 1000);
  if (n % 5 > 0)
    line += Format(R"(, "raw": "{:x}")", 0xfedcba9876543210u + static_cast<uint64_t>(n));
  if (n % 3 > 0) line += Format(R"(, "stars": {})", n % 5);
  return line + "}\n";
}

inline std::string Lines(int64_t begin, int64_t end) {
  std::string text;
  for (int64_t n = begin; n < end; ++n) text += Line(n);
  return text;
}

inline DataSchema Schema(const std::string& from = "", const std::string& to = "") {
  std::string text = kSchema;
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return ParseDataSchema(text);
}

// Rows 0 to 100 in two files.
inline std::vector<std::string> Text() {
  return {WriteFile("a.jsonl", Lines(0, 60)), WriteGzFile("b.jsonl.gz", Lines(60, 100))};
}

inline ParseRowsOptions Options(const std::string& name) {
  return {.inputs = Text(),
          .output = TempPath(name),
          .schema = Schema(),
          .features = kFeatures,
          .threads = 1,
          .shard_rows = 30};
}

inline std::string Folder(const std::string& name) {
  const ParseRowsOptions options = Options(name);
  ParseRows(options);
  return options.output;
}

inline Batch TextRows(Context& ctx, const DataSchema& schema,
                      const std::vector<CategoricalFeature>& features) {
  return ReadAllRows(ctx, std::make_shared<const RowRules>(schema, features), {.paths = Text()})
      .batch;
}

inline Batch All(Context& ctx, const StoredBags& rows) {
  std::vector<int64_t> all(static_cast<size_t>(rows.rows()));
  std::iota(all.begin(), all.end(), 0);
  return rows.Gather(ctx, all);
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_DATA_PREPROCESS_TESTING_PARSED_TEXT_H_
