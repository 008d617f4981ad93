// Lines that are parsed together, with bad ones among them, give what each gives alone.
#include <gtest/gtest.h>

#include <random>

#include "data/rows/text_row_source.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::WriteFile;

constexpr int64_t kRows = 700;

// Each kind of column has cells that are good, missing, rare or, in the end, bad.
const std::vector<std::vector<std::string>> kCells = {
    {"1", "2.5", "7000", "", "123456789", "x"},          // dense, by its logarithm
    {"12", "-3", "99999999999", "", "007", "1.5"},       // int
    {"ab12", "FF", "0123456789abcdef", "", "00", "g"},   // hex
    {"u", "ein langer Text von vielen Bytes", "v", ""},  // text
    {"F", "M", "", "ein Wort, das es nicht gibt", "N"},  // vocabulary
    {"17", "18", "65", "", "1e3", "alt"},                // boundaries
    {"a|b", "", "|", "a", "c|a|F", "b|b|b|b|b|b|b"},     // a bag
    {"1", "0", "1", "0.25", "0", "1", "0", "1", "ja"},   // label
};

// `bad`: the share of lines that may have the last cells of the lists.
std::string Lines(double bad, const std::string& delimiter, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string text;
  for (int64_t n = 0; n < kRows; ++n) {
    const bool may = std::uniform_real_distribution<>()(random) < bad;
    for (size_t c = 0; c < kCells.size(); ++c) {
      std::string cell = kCells[c][random() % (kCells[c].size() - (may ? 0 : 1))];
      if (delimiter == "," && (cell.find(',') != cell.npos || random() % 40 == 0))
        cell = "\"" + cell + "\"";
      text += (c == 0 ? "" : delimiter) + cell;
    }
    if (may && random() % 8 == 0) text += delimiter;  // a column too many
    text += may && random() % 8 == 0 ? "\n\n" : "\n";
  }
  return text;
}

std::shared_ptr<const RowRules> Rules(const std::string& format, const std::string& missing) {
  const std::string rest = R"(, "missing": )" + missing + "}";
  return std::make_shared<const RowRules>(
      ParseDataSchema(R"({"format": ")" + format + R"(", "columns": ["d", "i", "h", "t", "v", "b",
        "g", "y"], "dense": [{"name": "d", "transform": "log1p"}],
        "features": [{"name": "i")" +
                      rest + R"(, {"name": "h", "ids": "hex")" + rest +
                      R"(, {"name": "t", "ids": "text")" + rest +
                      R"(, {"name": "v", "vocabulary": ["F", "M"])" + rest +
                      R"(, {"name": "b", "boundaries": [18, 25, 65])" + rest +
                      R"(, {"name": "g", "vocabulary": ["a", "b"], "separator": "|")" + rest +
                      R"(], "labels": ["y"]})"),
      std::vector<CategoricalFeature>{{"i", 50, false},
                                      {"h", 999, false},
                                      {"t", 0, true},
                                      {"v", 4, false},
                                      {"b", 5, false},
                                      {"g", 4, false}});
}

// All batches, counts and the error of the file.
std::string ReadAll(const std::shared_ptr<const RowRules>& rules, const RowFiles& files) {
  Context ctx({.threads = 1});
  std::string text;
  TextRowSource source(rules, files, {.batch_size = 64});
  text += testing::ErrorOf([&] {
    while (const auto batch = source.Next()) {
      text += Format("{} {}:", batch->first_row, batch->end_row);
      for (const float x : batch->dense.ToVector<float>()) text += Format(" {}", x);
      for (const float x : batch->labels.ToVector<float>()) text += Format(" {}", x);
      for (const int64_t x : batch->features.values().To(ctx, DType::kI64).ToVector<int64_t>())
        text += Format(" {}", x);
      for (const int32_t x : batch->features.lengths(ctx).ToVector<int32_t>())
        text += Format(" {}", x);
    }
  });
  for (const auto& [reason, count] : source.skipped_by_reason())
    text += Format("\n{}: {}", reason, count);
  for (const FeatureItems& items : files.unknown_items->All())
    text += Format("\n{} of {}", items.count.unknown, items.count.items);
  return text;
}

TEST(RowsAtOnce, AreThoseOfEachLineAlone) {
  for (const std::string format : {"csv", "tsv"})
    for (const std::string missing : {R"("empty_bag")", R"("row0")", R"("error")"})
      for (const double bad : {0.0, 0.01, 0.3})
        for (const bool skips : {false, true}) {
          const std::string name = Format("rows.{}", format);
          const std::string path =
              WriteFile(name, Lines(bad, format == "csv" ? "," : "\t", skips ? 3 : 4));
          const auto rules = Rules(format, missing);
          const auto read = [&](int64_t piece) {
            return ReadAll(rules, {.paths = {path},
                                   .skip_bad_lines = skips,
                                   .piece_bytes = piece,
                                   .unknown_items = std::make_shared<UnknownItems>()});
          };
          EXPECT_EQ(read(1 << 18), read(1)) << format << missing << bad << skips;
          EXPECT_EQ(read(5000), read(1)) << format << missing << bad << skips;
        }
}

}  // namespace
}  // namespace tessera
