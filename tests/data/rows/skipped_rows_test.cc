// Bad lines that are left out, counted where reading stops and goes on: each once.
#include <gtest/gtest.h>

#include <set>

#include "data/rows/criteo_batches.h"
#include "data/rows/text_row_source.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

constexpr int64_t kLines = 300;

// Runs of bad lines, some of them at the ends of batches, windows, pieces and the file.
bool IsBad(int64_t n) {
  static const std::set<int64_t> runs = {0, 1, 16, 31, 32, 33, 64, 127, 128, 298, 299};
  return runs.contains(n) || n % 7 == 3;
}

int64_t BadLines() {
  int64_t bad = 0;
  for (int64_t n = 0; n < kLines; ++n) bad += IsBad(n) ? 1 : 0;
  return bad;
}

std::string Text(const std::function<std::string(int64_t)>& line) {
  std::string text;
  for (int64_t n = 0; n < kLines; ++n) text += IsBad(n) ? (n % 2 ? "x\n" : "y,1\n") : line(n);
  return text;
}

using Open = std::function<std::unique_ptr<DataSource>(int64_t first_place)>;

int64_t Sum(const BadLineCounts& counts) {
  int64_t sum = 0;
  for (const auto& [reason, count] : counts) sum += count;
  return sum;
}

// Reads up to `batches` batches, or to the end.
struct Part {
  int64_t end_row = 0, skipped = 0;
  BadLineCounts reasons;
  bool ended = false;
};
Part ReadPart(DataSource& source, int64_t batches) {
  Part part;
  for (int64_t i = 0; i < batches && !part.ended; ++i) {
    const auto batch = source.Next();
    part.ended = !batch;
    if (batch) part.end_row = batch->end_row;
  }
  part.skipped = source.skipped_rows();
  part.reasons = source.skipped_by_reason();
  return part;
}

void ExpectPartsAddUp(const Open& open, bool reasons) {
  const Part all = ReadPart(*open(0), kLines);
  EXPECT_EQ(all.skipped, BadLines());
  for (int64_t stop = 1;; ++stop) {
    const Part begin = ReadPart(*open(0), stop);
    if (begin.ended) break;
    Part rest = ReadPart(*open(begin.end_row), kLines);
    EXPECT_EQ(begin.skipped + rest.skipped, all.skipped) << "after batch " << stop;
    for (const auto& [reason, count] : begin.reasons) rest.reasons[reason] += count;
    EXPECT_EQ(rest.reasons, all.reasons);
    if (reasons) {
      EXPECT_EQ(Sum(begin.reasons), begin.skipped);
    }
  }
}

TEST(SkippedRows, PartsOfTextAddUp) {
  const std::string path =
      testing::WriteFile("bad.csv", Text([](int64_t n) { return Format("{},{}\n", n % 2, n); }));
  const auto rules = std::make_shared<const RowRules>(
      ParseDataSchema(R"({"format": "csv", "columns": ["y", "a"], "labels": ["y"]})"),
      std::vector<CategoricalFeature>{{"a", 1000, false}});
  for (const bool shuffled : {false, true})
    for (const int64_t piece_bytes : {1, 100, 1 << 18})
      for (const int threads : {1, 3})
        ExpectPartsAddUp(
            [&](int64_t first_place) {
              TextRowSourceOptions options{.batch_size = 16, .first_place = first_place};
              if (shuffled) options.shuffle = {.seed = 3, .window_rows = 32, .block_rows = 4};
              return std::make_unique<TextRowSource>(rules,
                                                     RowFiles{.paths = {path},
                                                              .skip_bad_lines = true,
                                                              .threads = threads,
                                                              .piece_bytes = piece_bytes},
                                                     options);
            },
            /*reasons=*/true);
}

TEST(SkippedRows, PartsOfCriteosTextAddUp) {
  const std::string path = testing::WriteFile(
      "bad.tsv", Text([](int64_t n) { return testing::NumberedLine(static_cast<int>(n)); }));
  const RowFilter filter({.by = SplitBy::kRandom, .fraction = 0.3, .seed = 2}, RowPart::kTrain);
  for (const bool shuffled : {false, true})
    for (const RowFilter* const rows : {static_cast<const RowFilter*>(nullptr), &filter})
      ExpectPartsAddUp(
          [&](int64_t first_place) {
            TextRowSourceOptions options{.batch_size = 16, .first_place = first_place};
            if (shuffled) options.shuffle = {.seed = 3, .window_rows = 32, .block_rows = 4};
            const CriteoRows criteo = {
                {.paths = {path}, .skip_bad_lines = true},
                rows == nullptr ? nullptr : std::make_shared<const RowFilter>(*rows),
                {{"cat_0", 100, false}},
                {}};
            return OpenCriteoBatches(criteo, options);
          },
          /*reasons=*/false);
}

}  // namespace
}  // namespace tessera
