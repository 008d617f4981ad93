// Lines of a Criteo file: a row that is read is written and read again, and a schema of the columns
// reads the same numbers and ids.
#include "data/batch_builder.h"
#include "data/files/criteo_line.h"
#include "data/rows/text_row_source.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/same_batches.h"
#include "tests/fuzz/temp_file.h"

namespace tessera::fuzz {
namespace {

constexpr char kSchema[] = R"({"format": "tsv", "columns": ["label", "int_{0..12}", "cat_{0..25}"],
  "dense": [{"name": "int_{0..12}", "transform": "log1p"}],
  "features": [{"name": "cat_{0..25}", "ids": "hex", "missing": "row0"}], "labels": ["label"]})";

// Tables of sizes that need 32 and 64 bits, and one of raw ids.
const std::vector<CategoricalFeature>& Features() {
  static const std::vector<CategoricalFeature> features = [] {
    std::vector<CategoricalFeature> all;
    for (int i = 0; i < ClickRow::kCategories; ++i)
      all.push_back({CategoryName(i), i == 1 ? int64_t{1} << 40 : 1000 + i, i == 2});
    return all;
  }();
  return features;
}

// Whether the line is read.
bool ReadLine(std::string_view line, ClickRow& row) {
  if (const auto error = ParseCriteoLine(line, row)) {
    if (Describe(*error, line).empty()) __builtin_trap();
    return false;
  }
  std::string text;
  AppendCriteoLine(row, text);
  ClickRow again;
  if (ParseCriteoLine(std::string_view(text).substr(0, text.size() - 1), again) || !(again == row))
    __builtin_trap();
  return true;
}

// `text`: the lines of the rows.
void CompareWithSchema(const std::string& text, const std::vector<ClickRow>& rows) {
  static const auto rules = std::make_shared<const RowRules>(ParseDataSchema(kSchema), Features());
  static const BatchBuilder builder(Features(), MissingIds::kRow0);
  Context ctx({.threads = 1});
  const AllRows by_schema = ReadAllRows(ctx, rules, {.paths = {WriteTempFile("lines", text)}});
  if (!SameBatches(ctx, builder.Build(ctx, rows), by_schema.batch)) __builtin_trap();
}

}  // namespace

std::vector<std::string> Seeds() {
  ClickRow row;
  row.label = 1;
  row.integers_present = 0x1ff7;
  row.categories_present = 0x3ffeff;
  for (int i = 0; i < ClickRow::kIntegers; ++i)
    if (row.has_integer(i)) row.integers[i] = i * i * 1000 - 5;
  for (int i = 0; i < ClickRow::kCategories; ++i)
    if (row.has_category(i)) row.categories[i] = 0x9e3779b97f4a7c15ull >> (2 * i);
  std::string full, empty;
  AppendCriteoLine(row, full);
  AppendCriteoLine(ClickRow{}, empty);
  return {full, empty, full + full};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  std::string good;
  std::vector<ClickRow> rows;
  for (std::string_view text = fuzz::AsText(data, size); !text.empty();) {
    const size_t end = std::min(text.find('\n'), text.size());
    ClickRow row;
    if (fuzz::ReadLine(text.substr(0, end), row)) {
      good += std::string(text.substr(0, end)) + '\n';
      rows.push_back(row);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!rows.empty()) fuzz::CompareWithSchema(good, rows);
  return 0;
}
